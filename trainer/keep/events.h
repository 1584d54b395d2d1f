/* TensorBoard's event file: the lines of metrics.jsonl as scalars. A file of TFRecords (base/tfrecord.h), each a
 * message Event (tensorflow/core/util/event.proto, framework/summary.proto) written in one call:
 *
 *     Event     {1: wall time, double; 2: step; 3: "brain.Event:2" in the first one, else 5: Summary}
 *     Summary   {1: Value {1: name, 2: float}, 1: Value …}           names of an evaluation begin with "valid/",
 *                                                        those of a mixture's datasets with "valid/dataset1/",
 *                                                        those of tensors with "norms/gradient/", "norms/weight/"
 *                                                        and "norms/update/" */
#pragma once

#include "base/file.h"
#include "trainer/model/params.h"

/* TensorBoard looks for "tfevents" in names; it does not read the host and time that others append. */
#define EVENTS_NAME "events.out.tfevents.dstrain"

struct metrics_line;

struct events {
    struct file file;
};
#define EVENTS_CLOSED ((struct events){FILE_CLOSED})

/* Opens DIR/EVENTS_NAME for events after `step`, creating it if absent. Truncates it at the first event of a later
 * step, at the evaluation of `step` itself unless `evaluated`, or at anything that is not one of our events. */
int events_open(struct events *events, const char *directory, uint64_t step, bool evaluated, struct error *err);
/* Writes one event with all finite numbers of the line. */
int events_write(struct events *events, const struct metrics_line *line, struct error *err);
/* Writes one event with the norms [count, 3] of tensors: gradient, weights, update. */
int events_write_norms(struct events *events, uint64_t step, const struct params *params, const double *norms,
                       struct error *err);
void events_close(struct events *events); /* safe on EVENTS_CLOSED */

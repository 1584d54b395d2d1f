/* The metrics of a step or a split, and their names. Each task has a table of its metrics (task.h); wherever they are
 * written or shown, names and order come from that table. */
#ifndef TRAINER_METRIC_H
#define TRAINER_METRIC_H

#include "trainer/heads.h"

#include <stddef.h>
#include <stdint.h>

enum metric_kind {
    METRIC_LOSS,     /* a head's mean loss; the sum of these is the step's loss */
    METRIC_ACCURACY, /* share of a head's labels that have the largest logit, 0 to 1 */
};

struct metric {
    const char *key;    /* in metrics.jsonl and --json; in TensorBoard's events, with "valid/" before it or without */
    const char *column; /* on the screen, after "loss" or "accuracy" */
    enum metric_kind kind;
    enum head_kind head;
};

#define METRICS_MAX 8
struct metric_table {
    const struct metric *rows; /* the order in which they are written */
    size_t count;              /* at most METRICS_MAX */
};

struct evaluation {
    uint64_t samples, tokens;
    double loss;                /* sum of the losses below */
    double values[METRICS_MAX]; /* by row of the table; NAN: the model has no such head */
};

#endif

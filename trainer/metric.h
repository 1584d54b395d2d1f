/* What a step or a split came to, and what its numbers are called. Each task has a table of its metrics (task.h); where
 * they are written or shown, names and order come from that table alone. */
#ifndef TRAINER_METRIC_H
#define TRAINER_METRIC_H

#include "trainer/heads.h"

#include <stddef.h>
#include <stdint.h>

enum metric_kind {
    METRIC_LOSS,     /* a head's mean loss; the step's loss is the sum of these */
    METRIC_ACCURACY, /* share of a head's labels that have the largest logit, 0 to 1 */
};

struct metric {
    const char *key;    /* in metrics.jsonl, after "valid/" or alone in TensorBoard's events, under --json */
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

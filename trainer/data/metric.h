/* The metrics of a step or a split, and their names. Each task has a table of its metrics (task.h); wherever they are
 * written or shown, names and order come from that table. */
#ifndef TRAINER_DATA_METRIC_H
#define TRAINER_DATA_METRIC_H

#include "trainer/data/heads.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum metric_kind {
    METRIC_LOSS,     /* a head's mean loss; the sum of these is the step's loss */
    METRIC_ACCURACY, /* share of a head's labels that have the largest logit, 0 to 1 */
};

struct metric {
    const char *key;    /* in metrics.jsonl and --json; in TensorBoard's events, with "valid/" before it or without */
    const char *column; /* on the console, after "loss" or "accuracy" */
    enum metric_kind kind;
    enum head_kind head;
    /* Of an accuracy: what always guessing the commonest label is called, "commonest"; its key is "mlm_accuracy" and
     * this, "mlm_accuracy_commonest". NULL: the guess would mean nothing. */
    const char *baseline;
};
#define METRIC_KEY_BYTES 64
/* The ends of the keys of all baselines, for readers of metrics.jsonl, which have no table. */
#define BASELINE_COMMONEST "commonest" /* of many labels */
#define BASELINE_MAJORITY  "majority"  /* of a few classes */

/* "mlm_accuracy_commonest" */
static inline const char *metric_baseline_key(const struct metric *metric, char out[METRIC_KEY_BYTES])
{
    snprintf(out, METRIC_KEY_BYTES, "%s_%s", metric->key, metric->baseline);
    return out;
}

#define METRICS_MAX 8
struct metric_table {
    const struct metric *rows; /* the order in which they are written */
    size_t count;              /* at most METRICS_MAX */
};

struct evaluation {
    uint64_t samples, tokens;
    double loss;                   /* sum of the losses below */
    double values[METRICS_MAX];    /* by row of the table; NAN: the model has no such head */
    double baselines[METRICS_MAX]; /* of an accuracy: share of the commonest label; 0: not known */
};

#endif

/* The metrics of a step or a split, and their names. Each task has a table of its metrics (task.h); wherever they are
 * written or shown, names and order come from that table. */
#pragma once

#include "trainer/data/heads.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LOSS_FORMAT "%.7g" /* in metrics.jsonl */
/* ROW(kind, sum of the head that it is the mean of, form in metrics.jsonl, factor and form on the console). */
#define METRIC_KINDS(ROW)                                                                                              \
    ROW(METRIC_LOSS, 0, LOSS_FORMAT, 1, "%s %.3f")     /* a head's mean loss; their sum is the step's loss */          \
    ROW(METRIC_ACCURACY, 1, "%.6g", 100, "%s %.1f %%") /* share of labels that have the largest logit, 0 to 1 */

#define METRIC_NUMBER(kind, sum, written, factor, shown) kind,
enum metric_kind { METRIC_KINDS(METRIC_NUMBER) };
#undef METRIC_NUMBER

struct metric_form {
    int sum; /* below HEAD_SUMS */
    const char *written;
    double factor;
    const char *shown; /* of a name and the value times factor */
};
#define METRIC_FORM(kind, sum, written, factor, shown) [kind] = {sum, written, factor, shown},
static const struct metric_form metric_forms[] = {METRIC_KINDS(METRIC_FORM)};
#undef METRIC_FORM

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

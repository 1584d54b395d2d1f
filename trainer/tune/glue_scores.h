/* What a model's answers to a task of GLUE are worth, and how they are written. */
#ifndef TRAINER_TUNE_GLUE_SCORES_H
#define TRAINER_TUNE_GLUE_SCORES_H

#include "base/error.h"
#include "trainer/tune/glue_tasks.h"

#include <jansson.h>

#define SCORES_NAME       "scores.json"
#define SCORES_BYTES_MAX  (16u << 20)
#define EVAL_RESULTS_NAME "eval_results.txt"

/* The keys of a metric, in the order in which people read them; NULL ends them. */
const char *const *glue_keys(enum glue_metric metric);

/* Scores of logits [count, labels] against the labels of the samples into `values` (key + suffix: number); the keys of
 * those that have no value go into `undefined`. */
void glue_score(const struct glue_task *task, const struct samples *samples, const float *logits, const char *suffix,
                json_t *values, json_t *undefined);

/* "index\tprediction\n" and a row for each sample, as the GLUE server takes them: classes by name, numbers. */
int glue_write_predictions(const struct glue_task *task, const char *path, const float *logits, size_t count,
                           struct error *err);
/* "key = value\n", sorted by key; numbers as Python prints them. */
int glue_write_results(const char *path, const json_t *values, struct error *err);

/* Of the same key of several runs [count > 0]: {"mean", "deviation" (of a sample), "median", "best"}. */
json_t *glue_spread(const double *values, size_t count);

#endif

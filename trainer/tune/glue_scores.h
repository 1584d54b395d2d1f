/* Scores a model's answers to a task of GLUE, and writes them. */
#pragma once

#include "trainer/run/console.h"
#include "trainer/tune/glue_tasks.h"

#define EVAL_RESULTS_NAME "eval_results.txt"

/* The keys of a metric, in the order in which they are shown, closed by NULL. */
const char *const *glue_keys(enum glue_metric metric);

/* Writes scores of logits [count, labels] against the labels of the samples to `values` (key + suffix: number), and the
 * keys of undefined scores to `undefined`. */
void glue_score(const struct glue_task *task, const struct samples *samples, const float *logits, const char *suffix,
                json_t *values, json_t *undefined);

/* The same scores of always giving the commonest label of the samples, the first one of equals; for numbers, always the
 * same number. A score that is undefined is 0. */
void glue_score_commonest(const struct glue_task *task, const struct samples *samples, const char *suffix,
                          json_t *values);

/* Prints what a scores.json of one run says: "mrpc: acc 0.8420 (0.6838)" with the scores of the commonest label in
 * brackets, then notes about scores without a value and rows that were left out. */
void glue_say_scores(console_line line, const struct glue_task *task, const json_t *scores);

/* Writes "index\tprediction\n" and a row for each sample, as the GLUE server takes them: class names, or numbers. */
int glue_write_predictions(const struct glue_task *task, const char *path, const float *logits, size_t count,
                           struct error *err);
/* Writes "key = value\n", sorted by key; numbers as Python prints them. */
int glue_write_results(const char *path, const json_t *values, struct error *err);

/* The spread of one key over several runs [count > 0]: {"mean", "deviation" (of a sample), "median", "best"}. */
json_t *glue_spread(const double *values, size_t count);

/* How well predicted labels agree with the true ones, by the definitions of scikit-learn
 * (precision_recall_fscore_support with zero_division 0):
 *
 *     precision = tp / predicted, recall = tp / true, F1 = 2 tp / (predicted + true), each 0 where it is undefined
 *     macro: the mean over the labels that occur in truth or prediction; weighted: by the true ones
 *     micro: of all labels together, which for one label per row is the accuracy
 *
 * and of numbers: Pearson's and Spearman's correlations (scores.h) and the root of the mean squared error. */
#pragma once

#include "trainer/tune/labels.h"
#include "trainer/tune/tune_kinds.h"

/* Rows, or spans, of one class. */
struct class_counts {
    double right, found, truth;
};
/* {"precision", "recall", "f1", "support"} */
json_t *class_counts_json(const struct class_counts *counts);

/* {"accuracy", "f1_macro", "f1_micro", "f1_weighted", "per_class": {name: {"precision", "recall", "f1", "support"}},
 * "labels", "confusion" (rows: truth; of at most 1,024 labels)} of predictions [count]. */
json_t *class_scores(const struct label_set *set, const uint32_t *found, const uint32_t *truth, size_t count);
/* Of several labels for each row, as bits: {"accuracy" and "subset_accuracy" (all labels of a row are right),
 * "f1_samples" (the mean over the rows of 2 |both| / (|found| + |truth|), 0 where both are empty), "f1_micro",
 * "f1_macro" (of all labels), "f1_weighted", "per_class", "labels"}. */
json_t *class_several_scores(const struct label_set *set, const uint32_t *found, const uint32_t *truth, size_t count);
/* {"pearson", "spearman", "rmse"} */
json_t *class_number_scores(const double *found, const double *truth, size_t count);
/* The keys of single numbers that scores of this kind have, closed by NULL. */
const char *const *class_score_keys(const json_t *scores);
/* For the rows of TUNE_KINDS: these keys; and lines "scores     accuracy 0.9120 (0.4300), …" and, of at most 20 classes
 * or types of spans, one each. */
size_t class_keys(const char *task, const json_t *scores, char out[TUNE_KEYS_MAX][TUNE_KEY_SIZE]);
void class_say_scores(console_line line, const char *task, const json_t *scores);

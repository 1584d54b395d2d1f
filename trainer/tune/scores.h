/* How the field scores: correct classes, correlations, spans of text. Sources: scikit-learn's matthews_corrcoef and
 * f1_score (binary), SciPy's pearsonr and spearmanr, as GLUE's scripts call them; SQuAD's evaluate-v1.1.py and
 * evaluate-v2.0.py. Pure. */
#ifndef TRAINER_TUNE_SCORES_H
#define TRAINER_TUNE_SCORES_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A score, and whether it has a value at all: where it has none it is 0, as scikit-learn has it. */
struct score {
    double value;
    bool undefined;
};

/* Of [count] classes: the share that is equal, 0 to 1; count > 0. */
double score_accuracy(const uint32_t *found, const uint32_t *truth, size_t count);
/* Class 1 against all others. Undefined where neither side has it. */
struct score score_f1(const uint32_t *found, const uint32_t *truth, size_t count);
/* Matthews' coefficient of classes below `classes` (Gorodkin 2004). Undefined where one side is of one class. */
struct score score_matthews(const uint32_t *found, const uint32_t *truth, size_t count, uint32_t classes);
/* Undefined where one side is constant. Spearman's gives equal values the mean of their ranks. */
struct score score_pearson(const double *found, const double *truth, size_t count);
struct score score_spearman(const double *found, const double *truth, size_t count);

#endif

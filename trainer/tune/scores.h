/* The usual scores: of classes and of correlations. Sources: scikit-learn's matthews_corrcoef and f1_score (binary),
 * SciPy's pearsonr and spearmanr, as GLUE's scripts call them. Pure. */
#pragma once

#include "base/str.h"

/* A score, and whether it is undefined: then it is 0, as in scikit-learn. */
struct score {
    double value;
    bool undefined;
};

/* part / all; 0 where that is undefined. */
double score_ratio(double part, double all);
/* The share of [count] classes that are equal, 0 to 1; count > 0. */
double score_accuracy(const uint32_t *found, const uint32_t *truth, size_t count);
/* F1 of class 1 against all others. Undefined where neither side has class 1. */
struct score score_f1(const uint32_t *found, const uint32_t *truth, size_t count);
/* Matthews' coefficient of classes below `classes` (Gorodkin 2004). Undefined where one side has only one class. */
struct score score_matthews(const uint32_t *found, const uint32_t *truth, size_t count, uint32_t classes);
/* Undefined where one side is constant. Spearman's gives equal values the mean of their ranks. */
struct score score_pearson(const double *found, const double *truth, size_t count);
struct score score_spearman(const double *found, const double *truth, size_t count);

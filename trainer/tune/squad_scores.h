/* How answers to questions are scored: SQuAD's evaluate-v1.1.py and evaluate-v2.0.py. Texts are compared without case,
 * ASCII punctuation, articles and the width of blanks; case, blanks and word borders are Python's. Pure. */
#ifndef TRAINER_TUNE_SQUAD_SCORES_H
#define TRAINER_TUNE_SQUAD_SCORES_H

#include "trainer/tune/squad_read.h"

#include <jansson.h>

/* What is compared of a text; appended to out. */
void squad_normalize(struct str text, struct buf *out);

/* 0 or 1: equal; and the harmonic mean of the shares of words that they have in common. version_2: where one of them
 * has no words, 1 if neither has. */
double squad_exact(struct str found, struct str truth);
double squad_f1(struct str found, struct str truth, bool version_2);

/* The answers (id: text) to a file's questions, in per cent, the best over the references of each: {"exact_match",
 * "f1", "total"}, and of version 2 HasAns_*, NoAns_* and what the best thresholds of `null_odds` (id: number) would
 * give. An id without an answer counts 0; their number is "unanswered". */
json_t *squad_score(const struct squad_file *file, const json_t *answers, const json_t *null_odds);

#endif

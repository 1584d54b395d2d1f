/* How answers to questions are scored: SQuAD's evaluate-v1.1.py and evaluate-v2.0.py. Texts are compared without case,
 * ASCII punctuation, articles and the width of blanks; case, blanks and word borders are Python's. Pure. */
#pragma once

#include "trainer/tune/squad_read.h"

/* Appends to out the normalized text, which is what is compared. */
void squad_normalize(struct str text, struct buf *out);

/* 1 if they are equal, else 0; and the F1 of the words that they share. version_2: if one of them has no words, 1 if
 * neither has, else 0. */
double squad_exact(struct str found, struct str truth);
double squad_f1(struct str found, struct str truth, bool version_2);

/* Scores the answers (id: text) to a file's questions, in per cent, each against the best of its references:
 * {"exact_match", "f1", "total"}, and for version 2 HasAns_*, NoAns_*, "no_answer" (what never giving an answer would
 * score) and the results of the best thresholds of `null_odds` (id: number). A question without an answer counts 0;
 * "unanswered" is their number. */
json_t *squad_score(const struct squad_file *file, const json_t *answers, const json_t *null_odds);

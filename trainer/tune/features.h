/* Turns pieces of text into the samples that a model reads. Pure. */
#ifndef TRAINER_TUNE_FEATURES_H
#define TRAINER_TUNE_FEATURES_H

#include "tokenizer/ids.h"

#include <stdint.h>

/* Removes pieces from the end of the longer of two texts (of b if they are equally long) until together they have at
 * most `most` (Google's _truncate_seq_pair). */
void features_truncate(struct ids *a, struct ids *b, size_t most);

/* Writes [CLS] A [SEP], and if b is not NULL B [SEP] after it, in at most `length` tokens: truncates a and b. Returns
 * the tokens of the first segment; `out` is emptied first. */
uint32_t features_pair(struct ids *a, struct ids *b, uint32_t cls, uint32_t sep, uint32_t length, struct ids *out);

#endif

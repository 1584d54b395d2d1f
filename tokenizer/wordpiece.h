/* WordPiece: cuts one normalised word into the longest pieces that the vocabulary has, from left to right. */
#ifndef TOKENIZER_WORDPIECE_H
#define TOKENIZER_WORDPIECE_H

#include "base/str.h"
#include "tokenizer/ids.h"
#include "tokenizer/vocab.h"

struct wordpiece; /* immutable, shared by threads */

/* A word of more than `letters_max` code points is [UNK]. Needs the vocabulary no longer. */
struct wordpiece *wordpiece_open(const struct vocab *vocab, size_t letters_max);
void wordpiece_close(struct wordpiece *wordpiece);

/* Appends the ids of `word`, well-formed UTF-8, not empty. A word too long, or with a place where no piece fits, is one
 * [UNK]. */
void wordpiece_word(const struct wordpiece *wordpiece, struct str word, struct ids *out);

#endif

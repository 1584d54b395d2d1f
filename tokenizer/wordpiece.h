/* WordPiece: cuts one normalised word into the longest pieces of the vocabulary, from left to right. */
#pragma once

#include "base/str.h"
#include "tokenizer/ids.h"
#include "tokenizer/vocab.h"

struct wordpiece; /* immutable, shared by threads */

/* A word of more than `letters_max` code points is [UNK]. The vocabulary is not needed after the call. */
struct wordpiece *wordpiece_open(const struct vocab *vocab, size_t letters_max);
void wordpiece_close(struct wordpiece *wordpiece);

/* Appends the ids of `word`, which is well-formed UTF-8 and not empty. A word that is too long, or has a place where no
 * piece fits, is one [UNK]. */
void wordpiece_word(const struct wordpiece *wordpiece, struct str word, struct ids *out);
/* The same for the rest of a word, all of whose pieces continue one. */
void wordpiece_rest(const struct wordpiece *wordpiece, struct str rest, struct ids *out);

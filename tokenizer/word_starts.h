/* Which pieces of a row of ids begin a word, for masks of whole words. Of WordPiece: all but those with "##". Of a
 * byte-level BPE: the bytes that the pieces stand for are cut into words as its tokenizer cuts text. There a byte that
 * is no part of a character, because a sample begins or ends inside one, counts as a letter; and a piece that stands
 * for no bytes of text (an added token, the unknown piece) is a word. Immutable; any thread. */
#pragma once

#include "tokenizer/vocab.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `vocab` is not needed after the call. */
struct word_starts *word_starts_open(const struct vocab *vocab);
/* Sets starts[i] for ids[0 … count), each below vocab->count. The first id of a row begins a word, except of
 * WordPiece. */
void word_starts_mark(const struct word_starts *words, const uint32_t *ids, size_t count, bool *starts);
void word_starts_close(struct word_starts *words); /* NULL is fine */

/* Which pieces of a row of ids begin a word, for masks of whole words. In WordPiece, all but those with "##" do. In a
 * byte-level BPE, the bytes of the pieces are split into words as the tokenizer splits text. A byte of an incomplete
 * character, where a sample begins or ends inside one, then counts as a letter. A piece that stands for no bytes of
 * text (an added token, the unknown piece) is a word. Immutable; any thread. */
#pragma once

#include "tokenizer/vocab.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `vocab` is not needed after the call. */
struct word_starts *word_starts_open(const struct vocab *vocab);
/* Sets starts[i] for ids[0 … count), each below vocab->count. The first id of a row begins a word, except in
 * WordPiece. */
void word_starts_mark(const struct word_starts *words, const uint32_t *ids, size_t count, bool *starts);
void word_starts_close(struct word_starts *words); /* NULL is fine */

/* The text side of a trained model: its vocabulary, and a tokenizer that cuts text as it was cut in training. What
 * says so are the tokenizer files of a Hugging Face directory or a checkpoint. */
#ifndef TRAINER_TUNE_TEXT_H
#define TRAINER_TUNE_TEXT_H

#include "base/error.h"
#include "tokenizer/tokenizer.h"
#include "trainer/keep/tokenizer_write.h"

#include <stdbool.h>
#include <stdint.h>

struct text {
    struct vocab *vocab; /* specials are its fields: vocab->cls, vocab->sep, vocab->mask */
    struct tokenizer_options words;
    struct tokenizer *tokenizer;   /* for all threads */
    struct tokenizer_state *state; /* of the thread that opened it; others open their own */
};

/* Opens the tokenizer files in `directory` (checkpoint_locate gives it). `pieces` is how many word embeddings the model
 * has; ERR_MISMATCH: the vocabulary has another number. Other errors: tokenizer/tokenizer_files.h. text_close is safe
 * on errors too, and on a zeroed struct. */
int text_open(struct text *text, const char *directory, int32_t pieces, struct error *err);
void text_close(struct text *text);

/* Whether the tokenizer files in `directory` give the pieces (one a line) and cut the words that a dataset was made
 * with: else ERR_MISMATCH, since the same number means the same piece. Where no files are, the screen says that nothing
 * was compared. Other errors: tokenizer/tokenizer_files.h. */
int text_check(const char *directory, struct str pieces, const struct tokenizer_words *words, struct error *err);

#endif

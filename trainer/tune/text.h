/* The text side of a trained model: its vocabulary, and a tokenizer that cuts text as in training. Both come from the
 * tokenizer files of a Hugging Face directory or a checkpoint. */
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

/* Opens the tokenizer files in `directory` (from checkpoint_locate). `pieces` is the number of word embeddings of the
 * model; ERR_MISMATCH: the vocabulary has another number. Other errors: tokenizer/tokenizer_files.h. text_close is safe
 * after errors too, and on a zeroed struct. */
int text_open(struct text *text, const char *directory, int32_t pieces, struct error *err);
void text_close(struct text *text);

/* Checks that the tokenizer files in `directory` have the pieces (one per line) and the word rules that a dataset was
 * made with: otherwise ERR_MISMATCH, because a number would mean another piece. Where there are no files, a message
 * says that nothing was compared. Other errors: tokenizer/tokenizer_files.h. */
int text_check(const char *directory, struct str pieces, const struct tokenizer_words *words, struct error *err);

#endif

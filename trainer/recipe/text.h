/* The text side of a trained model: its vocabulary, and a tokenizer that cuts text as in training. Both come from the
 * tokenizer files of a Hugging Face directory or a checkpoint. */
#pragma once

#include "shards/dataset.h"
#include "tokenizer/tokenizer.h"
#include "trainer/keep/tokenizer_write.h"
#include "trainer/model/params.h"
#include "trainer/recipe/origin.h"

struct text {
    char *directory;     /* of the files */
    struct vocab *vocab; /* what surrounds a text: vocab->before, vocab->after; vocab->mask */
    struct tokenizer_options words;
    struct tokenizer *tokenizer;   /* for all threads */
    struct tokenizer_state *state; /* of the thread that opened it; others open their own */
};

/* Opens the tokenizer files in `directory` (from checkpoint_locate), of any kind. Rows of the model's word table for
 * which the vocabulary has no piece become config->spare. A text gets one piece before it and one after it.
 * ERR_MISMATCH: it has more pieces than rows; ERR_UNSAFE: a byte-level BPE without padding, class and separator, or
 * that puts other pieces around a text. Other errors: tokenizer/tokenizer_files.h. text_close is safe after errors too,
 * and on a zeroed struct. */
int text_open(struct text *text, const char *directory, struct model_config *config, struct error *err);
/* ERR_UNSAFE: the tokenizer has no mask. */
int text_need_mask(const struct text *text, struct error *err);
/* From now on the mask's spelling in a text is the mask. Of a vocab.txt alone it stays text. */
void text_take_masks(struct text *text);
/* With --special-in-text, or if the origin was trained with it, the spelling of every special token is that token from
 * now on. Returns whether it is. */
bool text_take_specials(struct text *text, const struct settings *settings, const struct origin *origin);
/* ERR_UNSAFE: the tokenizer's files do not say how two texts become one, or in a form that is not known. */
int text_need_pairs(const struct text *text, struct error *err);
/* Appends the ids of a word of a sentence that was cut into words: of a byte-level BPE with a blank before it. */
void text_word(const struct text *text, struct str word, struct ids *out);
/* Appends what a piece stands for: of a byte-level BPE its bytes, which need not be UTF-8. text_join puts a blank
 * before it where it begins a word, and drops the mark of one that does not. */
void text_piece(const struct text *text, uint32_t id, struct buf *out);
void text_join(const struct text *text, uint32_t id, struct buf *out);
/* Says on the console that the model has spare rows, if it has. */
void text_say_spare(const struct model_config *config);
void text_close(struct text *text);

/* Checks that the tokenizer files in `directory` have the pieces (one per line) and the word rules that a dataset was
 * made with: otherwise ERR_MISMATCH, because a number would mean another piece. Where there are no files, a message
 * says that nothing was compared; with `needed` that is ERR_MISMATCH too. Other errors: tokenizer/tokenizer_files.h. */
int text_check(const char *directory, struct str pieces, const struct tokenizer_words *words, bool needed,
               struct error *err);

/* The tokenizer's files of a training whose texts `text` cuts; `positions` are the trained model's. `length`: as of
 * text_keep. */
int text_files(const struct text *text, uint32_t positions, uint32_t length, struct tokenizer_files *files,
               struct error *err);
/* The files of a training that starts from the model in `directory` and keeps its pieces (text_check): where there is a
 * tokenizer.json, that file and the tokenizer_config.json beside it replace those of *files, with the added tokens and
 * settings that only other programs read; else text_warn_lost. A model_max_length below `length`, which the trained
 * model knows, is raised to it. Errors are those of reading. */
int text_keep(const char *directory, uint32_t length, struct tokenizer_files *files, struct error *err);
/* The same of a dataset with a byte-level BPE, which the model in `model` must have too (else ERR_MISMATCH); NULL: the
 * training has no model to start from. `needed`: as of text_check. */
int text_bpe_files(const struct dataset *dataset, const char *model, bool needed, uint32_t positions, uint32_t length,
                   struct tokenizer_files *files, struct error *err);
/* For other trainings: a warning that names the added tokens of the directory, which its files do not have. */
void text_warn_lost(const char *directory);

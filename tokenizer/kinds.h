/* The kinds of tokenizer. A kind is a row here and a file kind_NAME.c that defines its struct tokenizer_kind; the rest
 * of the program asks the row, which vocab->kind chooses. */
#pragma once

#include "base/str.h"
#include "tokenizer/ids.h"
#include "tokenizer/tokenizer.h"

#define KIND_ENTRY(name, row) extern const struct tokenizer_kind row;

struct tokenizer_kind {
    /* What all threads share, immutable. `vocab` may be NULL where only `words` will be called, and is not needed after
     * the call. */
    void *(*open)(const struct vocab *vocab, const struct tokenizer_options *options);
    void (*close)(void *model); /* not NULL */
    /* What belongs to a thread. */
    void *(*state_open)(const void *model);
    void (*state_close)(void *state); /* not NULL */
    /* tokenizer_ids, tokenizer_places (or NULL), tokenizer_sentences and tokenizer_words. */
    void (*ids)(void *state, struct str text, struct ids *out);
    void (*places)(void *state, struct str text, struct ids *out, struct ids *places);
    void (*sentences)(void *state, struct str text, const struct str *sentences, size_t count, struct ids *out,
                      size_t *ends);
    void (*words)(void *state, struct str text, void (*word)(void *context, struct str word), void *context);
};
VOCAB_KIND_LIST(KIND_ENTRY)

#undef KIND_ENTRY

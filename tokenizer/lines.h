/* Lines of text to lines of ids or pieces: what `dsdata tokenize` prints. */
#pragma once

#include "tokenizer/tokenizer.h"

enum lines_format {
    LINES_IDS,    /* decimal, separated by one blank */
    LINES_PIECES, /* the pieces' text, separated by one blank */
    LINES_JSON,   /* {"ids":[7592],"pieces":["hello"]} */
};

struct lines_options {
    enum lines_format format;
    bool special; /* vocab->before before each line, vocab->after after it */
};

/* A format for a vocabulary, which must outlive it. Immutable, shared by threads. */
struct lines *lines_open(const struct vocab *vocab, const struct lines_options *options);
void lines_close(struct lines *lines);

/* Appends one line to `out` for each line of `text`. Lines end at LF only. A last line without LF counts too; an
 * empty text has no line. The state's tokenizer must be of the same vocabulary. `ids` is scratch. */
void lines_tokenize(const struct lines *lines, struct tokenizer_state *state, struct str text, struct ids *ids,
                    struct buf *out);

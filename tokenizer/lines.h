/* Lines of text to lines of ids or pieces: what `dsdata tokenize` prints. */
#ifndef TOKENIZER_LINES_H
#define TOKENIZER_LINES_H

#include "tokenizer/tokenizer.h"

enum lines_format {
    LINES_IDS,    /* decimal, a blank between, none behind */
    LINES_PIECES, /* the same with the pieces' text */
    LINES_JSON,   /* {"ids":[7592],"pieces":["hello"]} */
};

struct lines_options {
    enum lines_format format;
    bool special; /* [CLS] before, [SEP] behind each line */
};

/* Appends one line to `out` for each line of `text`. Lines end at LF only; a last one without LF counts too, so the
 * empty text has no line. `vocab` is the tokenizer's, `ids` is scratch. */
void lines_tokenize(struct tokenizer_state *state, const struct vocab *vocab, const struct lines_options *options,
                    struct str text, struct ids *ids, struct buf *out);

#endif

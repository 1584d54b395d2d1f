/* Guesses the encoding of text from its bytes. Pure. */
#ifndef PIPELINE_DUMP_GUESS_ENCODING_H
#define PIPELINE_DUMP_GUESS_ENCODING_H

#include "base/str.h"

struct encoding_guess {
    const char *encoding; /* a name for encoding_find; NULL: nothing is likely */
    const char *language; /* "Russian", what its bytes seem to say; NULL: not known */
};

/* "utf-8" if all is well-formed, "utf-8-lossy" if nearly all is. The sample may begin and end inside a character. */
struct encoding_guess encoding_guess(struct str sample);

#endif

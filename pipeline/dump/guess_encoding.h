/* Guesses the encoding of text from its bytes, and says so. Pure. */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "pipeline/dump/encodings.h"

struct encoding_guess {
    const char *encoding; /* a name for encoding_find; NULL: nothing is likely */
    const char *group;    /* "Cyrillic": of the languages that its bytes seem to be; NULL: not known */
};

/* "utf-8" if all is well-formed, "utf-8-lossy" if nearly all is. The sample may begin and end inside a character. */
struct encoding_guess encoding_guess(struct str sample);

/* ERR_UNSAFE: no character of the encoding begins at byte `at` of the file, or, where `packed`, of its decompressed
 * text. */
int encoding_refuse(const char *name, const char *encoding, bool packed, uint64_t at, struct error *err);
/* Adds what to type, by a guess from the text where the error is; `anew`: --fresh is needed too. */
int encoding_hint(struct str sample, bool anew, struct error *err);
/* ERR_UNSAFE: the beginning of a file is clearly not in the encoding that was named, but in UTF-8, UTF-16 or UTF-32. */
#define ENCODING_SAMPLE_BYTES ((size_t)64 << 10)
int encoding_check(const char *name, const struct encoding *named, struct str start, struct error *err);

/* The encodings that --encoding names, and decoders from them to UTF-8. UTF-16, UTF-32 and the single-byte encodings
 * are decoded by tables in this tree, so the text does not depend on a C library. The encodings of several bytes
 * (Shift_JIS, GB18030 …) go through iconv(3), and encoding_library says which one. Pure, except that iconv reads its
 * own files. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum encoding_method { ENCODING_UTF8, ENCODING_SINGLE, ENCODING_UTF16, ENCODING_UTF32, ENCODING_ICONV };
enum byte_order { ORDER_BY_MARK, ORDER_LITTLE, ORDER_BIG }; /* by mark: little without one */

/* Plain data, for copying. Zeroed, it is UTF-8. */
struct encoding {
    const char *name; /* as it stands in a manifest: "windows-1251"; NULL: it was not named */
    enum encoding_method method;
    enum byte_order order;      /* of UTF-16 and UTF-32 */
    bool lossy;                 /* of UTF-8: ill-formed bytes become U+FFFD later */
    const uint16_t *characters; /* ENCODING_SINGLE: of the bytes 80 to FF */
    const char *iconv;          /* ENCODING_ICONV: its name there */
};

/* Case, blanks, '-', '_', '.' and ':' in a name do not matter. False: no such encoding. */
bool encoding_find(const char *name, struct encoding *encoding);
const char *encoding_nearest(const char *name); /* the name that is spelled most like it */
/* False: bytes are not changed. */
static inline bool encoding_converts(const struct encoding *encoding)
{
    return encoding->method != ENCODING_UTF8;
}
/* "glibc 2.36" for an encoding that goes through iconv, else NULL. */
const char *encoding_library(const struct encoding *encoding);

struct decoder;

/* For an encoding that converts. ERR_UNSAFE: this system's iconv does not have it. */
int decoder_open(struct decoder **decoder, const struct encoding *encoding, struct error *err);
void decoder_close(struct decoder *decoder); /* NULL is fine */

struct decoder_step {
    const uint8_t *in; /* advanced past the input consumed */
    size_t in_bytes;
    char *out; /* advanced past the output written */
    size_t out_bytes;
    bool last; /* no input follows */
};
enum decoder_result {
    DECODER_MORE, /* all input is consumed, except an incomplete character at its end */
    DECODER_FULL, /* no room for the next character (DECODER_ROOM bytes are enough for it) */
    DECODER_BAD,  /* step->in is at an ill-formed character; with `last` also at an incomplete one */
};
#define DECODER_ROOM 16u
/* Decodes as much as fits. The text does not depend on how the input is divided. A mark (U+FEFF) at the beginning of
 * the input is left out. */
enum decoder_result decoder_step(struct decoder *decoder, struct decoder_step *step);

/* Converts a stream of bytes from another encoding to UTF-8, from its first byte on. It reads what unpack gives, so
 * compressed files can be in any encoding too. One thread at a time. */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "pipeline/dump/encodings.h"
#include "pipeline/dump/unpack.h"

struct recode_options {
    const char *name; /* of the input, for messages; the caller's */
    struct encoding encoding;
    bool packed; /* what it reads was decompressed, and bytes are counted in that */
};
struct recode;
/* What `read` gives comes after `start` (copied). */
int recode_open(struct recode **recode, const struct recode_options *options, struct str start, next_bytes_fn *read,
                void *context, struct error *err);
void recode_close(struct recode *recode); /* NULL is fine */

/* The next bytes of the text; fewer than requested only at its end. ERR_UNSAFE: bytes that are ill-formed in the
 * encoding, with their place but without a hint; and what the reader reports. */
int64_t recode_read(struct recode *recode, void *out, size_t bytes, struct error *err);

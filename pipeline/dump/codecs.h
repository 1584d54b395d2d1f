/* gzip, Zstandard and xz behind one interface: a decoder takes compressed bytes a few at a time and gives text. What it
 * decodes is one unit of its format (a member of gzip, a frame of Zstandard, a stream of xz); files are rows of
 * those. */
#ifndef PIPELINE_DUMP_CODECS_H
#define PIPELINE_DUMP_CODECS_H

#include "pipeline/page_parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAGIC_BYTES_MAX 6u

enum codec_result {
    CODEC_MORE,    /* goes on with more input, or more room */
    CODEC_END,     /* the unit has ended, and its checksum holds */
    CODEC_DAMAGED, /* these are not the bytes of such a unit */
    CODEC_LARGE,   /* it needs more memory than CODEC_BYTES_MAX */
};
/* A window of Zstandard, a dictionary of xz: what the tools themselves write without options for archives (zstd
 * --long=27, xz -9 needs 65 MiB). */
#define CODEC_BYTES_MAX ((size_t)128 << 20)

struct codec_step {
    const uint8_t *in; /* is moved on over what was taken */
    size_t in_bytes;
    uint8_t *out; /* the same, over what was made */
    size_t out_bytes;
};

struct codec {
    const char *name, *unit; /* for messages: "gzip", "member" */
    bool padded;             /* zero bytes may stand between units */
    size_t magic_bytes;      /* of a unit's beginning, that codec_begins needs */
    /* NULL, or the bytes of the whole unit that begins here; false: it has more than `size`, does not tell, or needs
     * more than 16 MiB of memory. */
    bool (*measure)(const uint8_t *in, size_t size, size_t *bytes);
    void *(*open)(void); /* ready for the first unit */
    enum codec_result (*step)(void *decoder, struct codec_step *step);
    void (*again)(void *decoder);          /* ready for another unit */
    size_t (*memory)(const void *decoder); /* bytes that it holds */
    void (*close)(void *decoder);          /* NULL is fine */
};

const struct codec *codec_of(enum container container); /* NULL: none of these */
/* Can a unit begin with these bytes? Of fewer than magic_bytes: as far as they go. */
bool codec_begins(const struct codec *codec, const uint8_t *bytes, size_t size);

#endif

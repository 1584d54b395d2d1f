/* One interface to bzip2, gzip, Zstandard and xz. A decoder decompresses one unit of its format (a gzip member, a
 * Zstandard frame, an xz stream) in steps; a file is a sequence of units. */
#pragma once

#include "pipeline/parts/page_parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAGIC_BYTES_MAX 6u

enum codec_result {
    CODEC_MORE,    /* needs more input, or more room for output */
    CODEC_END,     /* the unit has ended, and its checksum is right */
    CODEC_DAMAGED, /* the bytes are not a valid unit */
    CODEC_LARGE,   /* it needs more memory than CODEC_BYTES_MAX */
};
/* The limit for a Zstandard window or an xz dictionary: what the tools write without special options for archives (zstd
 * --long=27; xz -9 needs 65 MiB). */
#define CODEC_BYTES_MAX ((size_t)128 << 20)

struct codec_step {
    const uint8_t *in; /* advanced past the input consumed */
    size_t in_bytes;
    uint8_t *out; /* advanced past the output written */
    size_t out_bytes;
};

struct codec {
    const char *name, *unit;    /* for messages: "Zstandard", "frame" */
    const char *tool;           /* "zstd": zstd -dc FILE writes the text; also its name in lines about inputs */
    const char *extension;      /* of files, with the dot */
    unsigned expansion_percent; /* of English text */
    bool padded;                /* zero bytes are allowed between units */
    size_t magic_bytes;         /* bytes at the start of a unit that begins needs */
    /* True if a unit can begin with these bytes. If there are fewer than magic_bytes, only these are compared. */
    bool (*begins)(const uint8_t *bytes, size_t size);
    /* NULL, or finds the size of the whole unit that begins here; false: it is larger than `size`, does not tell its
     * size, or needs more than 16 MiB of memory. */
    bool (*measure)(const uint8_t *in, size_t size, size_t *bytes);
    void *(*open)(void); /* a new decoder, ready for the first unit */
    enum codec_result (*step)(void *decoder, struct codec_step *step);
    void (*again)(void *decoder);          /* ready for another unit */
    size_t (*memory)(const void *decoder); /* bytes that it holds */
    void (*close)(void *decoder);          /* NULL is fine */
};

const struct codec *codec_of(enum container container); /* NULL: CONTAINER_NONE */
/* Removes the extension of a container from the end of *name. False: it has none. */
bool codec_cut_extension(struct str *name);

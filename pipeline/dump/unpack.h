/* A compressed file as a stream of text, from the first byte on. The file is a sequence of units (codecs.h). Damage, or
 * other bytes between units, is an error with the byte of the file. One thread at a time. */
#pragma once

#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "pipeline/dump/codecs.h"

/* Text is missing at `at` of the stream, because `bytes` of the file were skipped (salvage). */
struct gap {
    uint64_t at, bytes;
};

struct unpack_options {
    const char *name; /* for messages; the caller's */
    enum container container;
    bool salvage; /* damage is skipped: decoding continues with the next good unit */
    /* As in struct dump_options, applied to every stretch of RATIO_STRETCH bytes of the file. */
    uint64_t ratio_max, ratio_text_min;
};
#define RATIO_STRETCH ((uint64_t)1 << 20)

/* Gives the next bytes of a stream; fewer than requested only at its end. */
typedef int64_t next_bytes_fn(void *context, void *out, size_t bytes, struct error *err);

struct unpack;

/* Reads the file from its beginning; or, where it is NULL, what `next` gives after `start` (copied). */
struct unpack *unpack_open(const struct unpack_options *options, struct file *file, next_bytes_fn *next, void *context,
                           struct str start);
void unpack_close(struct unpack *unpack); /* NULL is fine */

/* The next bytes of the stream; fewer than requested only at its end. ERR_INPUT: damaged, truncated; ERR_UNSAFE: a
 * bomb, or more memory than CODEC_BYTES_MAX. */
int64_t unpack_read(struct unpack *unpack, void *out, size_t bytes, struct error *err);

/* Refuses bombs, because a few bytes can be made to decompress to gigabytes. ERR_UNSAFE: the `bytes` of the file before
 * `at` gave so much text that both limits of the options are exceeded. */
int unpack_check_ratio(const struct unpack_options *options, uint64_t at, uint64_t bytes, uint64_t made,
                       struct error *err);

/* The gaps in what was read so far, ascending: [*count], valid until the next unpack_read. */
const struct gap *unpack_gaps(const struct unpack *unpack, size_t *count);
size_t unpack_memory(const struct unpack *unpack);   /* bytes held by the decoder */
uint64_t unpack_stored(const struct unpack *unpack); /* bytes of the file that were decoded */

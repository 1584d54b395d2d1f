/* A compressed file as the stream of its text, from the first byte on. The file is a row of units (codecs.h); what
 * stands between them, and what is damaged, is an error with the byte of the file. One thread at a time. */
#ifndef PIPELINE_DUMP_UNPACK_H
#define PIPELINE_DUMP_UNPACK_H

#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "pipeline/dump/codecs.h"

/* Text is missing at `at` of the stream, where `bytes` of the file were passed over (salvage). */
struct gap {
    uint64_t at, bytes;
};

struct unpack_options {
    const char *name; /* for messages; the caller's */
    enum container container;
    bool salvage; /* damage is passed over: it goes on with the next unit that can be decoded */
    /* As in struct dump_options, for every stretch of RATIO_STRETCH bytes of the file. */
    uint64_t ratio_max, ratio_text_min;
};
#define RATIO_STRETCH ((uint64_t)1 << 20)

struct unpack;

/* Reads the file from its beginning: at its offsets, or, of a pipe, whatever comes after `start` (copied). */
struct unpack *unpack_open(const struct unpack_options *options, struct file *file, bool pipe, struct str start);
void unpack_close(struct unpack *unpack); /* NULL is fine */

/* The next bytes of the stream; fewer than asked only at its end. ERR_INPUT: damaged, truncated; ERR_UNSAFE: a bomb, or
 * more memory than CODEC_BYTES_MAX. */
int64_t unpack_read(struct unpack *unpack, void *out, size_t bytes, struct error *err);

/* Of what was read so far. */
const struct gap *unpack_gaps(const struct unpack *unpack, size_t *count);
size_t unpack_memory(const struct unpack *unpack);   /* bytes of the decoder */
uint64_t unpack_stored(const struct unpack *unpack); /* bytes of the file that were decoded */

#endif

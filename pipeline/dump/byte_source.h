/* The bytes of an input: a file, read at any offset, or a pipe, of which what is still needed is kept; or the text of a
 * file or pipe that is compressed as a whole (codecs.h), which is read like a pipe, but again from its beginning where
 * a place before is asked for. */
#ifndef PIPELINE_DUMP_BYTE_SOURCE_H
#define PIPELINE_DUMP_BYTE_SOURCE_H

#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "pipeline/dump/unpack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct byte_source {
    struct file file;
    const char *name; /* for messages; the caller's */
    bool pipe;
    uint64_t stored; /* size of the file; 0 for a pipe */
    uint64_t bytes;  /* of what is read from it: the same, or of the text once it was measured, before that 0 */
    /* Of a pipe, and of text: */
    struct buf kept;    /* bytes that were read and not forgotten */
    uint64_t kept_from; /* their offset */
    bool ended;
    /* Of text: */
    struct unpack_options packed; /* CONTAINER_NONE: it is none */
    struct unpack *unpack;        /* NULL: at the beginning, or at the end */
    uint64_t text_bytes;          /* once it was read to its end */
    size_t memory;                /* the most that the decoder has held */
};

int byte_source_open(struct byte_source *source, const char *path, struct error *err);
void byte_source_close(struct byte_source *source);

/* From now on its bytes are the text of this container, read from its beginning. Before anything was forgotten. */
void byte_source_unpack(struct byte_source *source, const struct unpack_options *options);
static inline bool byte_source_is_packed(const struct byte_source *source)
{
    return source->packed.container != CONTAINER_NONE;
}
/* Where text is missing in [from, end) (salvage), of what was read last. */
size_t byte_source_gaps(const struct byte_source *source, uint64_t from, uint64_t end, const struct gap **gaps);
/* Of a file: lets go of the decoder and of what is kept; reading goes on from the beginning. */
void byte_source_rewind(struct byte_source *source);
/* At its end: lets go of the decoder. */
void byte_source_let_go(struct byte_source *source);
/* Makes source->bytes known, by decoding the file once where it is not. ERR_STOPPED: stopped on request. */
int byte_source_measure(struct byte_source *source, struct error *err);

/* Appends the bytes [offset, offset + bytes) to *out; fewer only at the end of the input. */
int byte_source_read(struct byte_source *source, uint64_t offset, size_t bytes, struct buf *out, struct error *err);
/* The same on a file, by any thread; of a pipe, or text, it reads nothing. */
int byte_source_read_file(const struct byte_source *source, uint64_t offset, size_t bytes, struct buf *out,
                          struct error *err);
/* Where the input ends: known of a file, and of a pipe that was read to its end. */
uint64_t byte_source_end(const struct byte_source *source);
/* Bytes before `offset` will not be asked for again. */
void byte_source_forget(struct byte_source *source, uint64_t offset);

#endif

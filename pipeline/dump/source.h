/* The bytes of an input: a file, read at any offset, or a pipe, of which what is still needed is kept; or the text of a
 * file or pipe that is compressed as a whole (codecs.h), which is read like a pipe, but again from its beginning where a
 * place before is asked for. */
#ifndef PIPELINE_DUMP_SOURCE_H
#define PIPELINE_DUMP_SOURCE_H

#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "pipeline/dump/unpack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source {
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

int source_open(struct source *source, const char *path, struct error *err);
void source_close(struct source *source);

/* From now on its bytes are the text of this container, read from its beginning. Before anything was forgotten. */
void source_unpack(struct source *source, const struct unpack_options *options);
static inline bool source_is_packed(const struct source *source)
{
    return source->packed.container != CONTAINER_NONE;
}
/* Where text is missing in [from, end) (salvage), of what was read last. */
size_t source_gaps(const struct source *source, uint64_t from, uint64_t end, const struct gap **gaps);
/* Of a file: lets go of the decoder and of what is kept; reading goes on from the beginning. */
void source_rewind(struct source *source);
/* At its end: lets go of the decoder. */
void source_let_go(struct source *source);
/* Makes source->bytes known, by decoding the file once where it is not. ERR_STOPPED: stopped on request. */
int source_measure(struct source *source, struct error *err);

/* Appends the bytes [offset, offset + bytes) to *out; fewer only at the end of the input. */
int source_read(struct source *source, uint64_t offset, size_t bytes, struct buf *out, struct error *err);
/* The same on a file, by any thread; of a pipe, or text, it reads nothing. */
int source_read_file(const struct source *source, uint64_t offset, size_t bytes, struct buf *out, struct error *err);
/* Where the input ends: known of a file, and of a pipe that was read to its end. */
uint64_t source_end(const struct source *source);
/* Bytes before `offset` will not be asked for again. */
void source_forget(struct source *source, uint64_t offset);

#endif

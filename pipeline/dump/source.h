/* The bytes of an input: a file, read at any offset, or a pipe, of which what is still needed is kept. */
#ifndef PIPELINE_DUMP_SOURCE_H
#define PIPELINE_DUMP_SOURCE_H

#include "base/error.h"
#include "base/file.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source {
    struct file file;
    const char *name; /* for messages; the caller's */
    bool pipe;
    uint64_t bytes; /* size of the file; 0 for a pipe */
    /* Of a pipe: */
    struct buf kept;    /* bytes that were read and not forgotten */
    uint64_t kept_from; /* their offset */
    bool ended;
};

int source_open(struct source *source, const char *path, struct error *err);
void source_close(struct source *source);

/* Appends the bytes [offset, offset + bytes) to *out; fewer only at the end of the input. */
int source_read(struct source *source, uint64_t offset, size_t bytes, struct buf *out, struct error *err);
/* The same on a file, by any thread; of a pipe it reads nothing. */
int source_read_file(const struct source *source, uint64_t offset, size_t bytes, struct buf *out, struct error *err);
/* Where the input ends: known of a file, and of a pipe that was read to its end. */
uint64_t source_end(const struct source *source);
/* Bytes before `offset` will not be asked for again. */
void source_forget(struct source *source, uint64_t offset);

#endif

/* The bytes of an input. It is a file, read at any offset; a pipe, whose bytes are kept while they are needed; or what
 * is read like a pipe, but from its beginning again if an earlier offset is needed: a member of an archive (members.h),
 * and the text of a file or pipe that is compressed as a whole (codecs.h) or in another encoding (encodings.h). */
#pragma once

#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "pipeline/dump/converters.h"
#include "pipeline/dump/recode.h"
#include "pipeline/dump/unpack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct members;

struct byte_source {
    struct file file;
    const char *name; /* for messages; the caller's */
    const char *path; /* the caller's */
    bool pipe;
    bool parked;             /* the file is closed, and opened whenever it is read */
    uint64_t opened;         /* file_identity of the file */
    uint64_t stored;         /* size of the file, of a member that of its content; 0 for a pipe */
    struct members *members; /* of an archive; the caller's. NULL: not a member */
    uint64_t member;         /* its number */
    uint64_t bytes;          /* size of what is read: of the file; of text 0 until it was measured */
    /* Of a pipe or text: */
    struct buf kept;    /* bytes read and not yet forgotten */
    uint64_t kept_from; /* their offset */
    bool ended;
    /* Of text: */
    struct unpack_options packed; /* CONTAINER_NONE: not compressed */
    struct unpack *unpack;        /* NULL: not compressed, at the beginning, or at the end */
    struct encoding encoding;     /* UTF-8: the text is not converted */
    struct recode *recode;        /* NULL: as for unpack */
    struct conversion conversion; /* to JSON lines, or none */
    struct convert *convert;      /* NULL: as for unpack */
    uint64_t read;                /* bytes of a file or member that were given to unpack, recode or convert */
    uint64_t text_bytes;          /* set once it was read to its end */
    size_t memory;                /* the most that the decoder has held */
};

/* `path` must outlive the source; "-" is standard input. Errors: those of file_open_input. Close it even after one. */
int byte_source_open(struct byte_source *source, const char *path, struct error *err);
/* A member of an archive, which must outlive the source, of `bytes` bytes (UINT64_MAX: unknown). `name` is for
 * messages, and the caller's. */
void byte_source_open_member(struct byte_source *source, const char *name, struct members *members, uint64_t number,
                             uint64_t bytes);
void byte_source_close(struct byte_source *source);
/* Of a file: closes it until it is read, because a process may have few files open. ERR_INPUT when it is read: the
 * file under this name is another one. */
void byte_source_park(struct byte_source *source);

/* From now on the source gives the text of this container, from its beginning. Call it before anything is forgotten. */
void byte_source_unpack(struct byte_source *source, const struct unpack_options *options);
static inline bool byte_source_is_packed(const struct byte_source *source)
{
    return source->packed.container != CONTAINER_NONE;
}
/* The size of the text, from how much of the file gave how much text so far; of a file that is not packed its size. */
uint64_t byte_source_text_guess(const struct byte_source *source);
/* From now on the source gives its text converted from this encoding, from its beginning; after byte_source_unpack.
 * Call it before anything is forgotten. ERR_UNSAFE: the system does not have this encoding. */
int byte_source_recode(struct byte_source *source, const struct encoding *encoding, struct error *err);
/* From now on the source gives its text as JSON lines (converters.h), from its beginning; after byte_source_recode. */
void byte_source_convert(struct byte_source *source, const struct conversion *conversion);
/* True if it is read from its beginning only, because it is made from the bytes of the file. */
static inline bool byte_source_is_made(const struct byte_source *source)
{
    return source->members || byte_source_is_packed(source) || encoding_converts(&source->encoding) ||
           source->conversion.converter;
}
/* The number of gaps (salvage) in [from, end) of what was read last; *gaps points to them until the next read. */
size_t byte_source_gaps(const struct byte_source *source, uint64_t from, uint64_t end, const struct gap **gaps);
/* Of a file: frees the decoder and the bytes kept; reading continues at the beginning. */
void byte_source_rewind(struct byte_source *source);
/* At the end of the source: frees the decoder. */
void byte_source_let_go(struct byte_source *source);
/* Sets source->bytes, by decoding the whole file if necessary. ERR_STOPPED: stopped on request. */
int byte_source_measure(struct byte_source *source, struct error *err);

/* Appends the bytes [offset, offset + bytes) to *out; fewer only at the end of the input. ERR_INPUT: the file became
 * shorter; of text also what unpack_read and recode_read report, and ERR_STOPPED. */
int byte_source_read(struct byte_source *source, uint64_t offset, size_t bytes, struct buf *out, struct error *err);
/* The same for a file, from any thread; of a pipe or text it reads nothing. */
int byte_source_read_file(const struct byte_source *source, uint64_t offset, size_t bytes, struct buf *out,
                          struct error *err);
/* The end of the input: known for a file, and for a pipe that was read to its end. */
uint64_t byte_source_end(const struct byte_source *source);
/* Declares that bytes before `offset` are no longer needed. */
void byte_source_forget(struct byte_source *source, uint64_t offset);

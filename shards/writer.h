/* Writes one shard. Errors are those of base/file.h: a file that cannot be created or written.
 *
 *     writer_open → { writer_add | writer_skip } … → writer_commit, or writer_close to drop it
 *
 * A cursor moves over the records from front to back. A thread that has a whole block may write it before the cursor
 * gets there, with writer_put_block; the cursor then skips it. The file appears under its final name only when it is
 * complete and synced (base/file.h). */
#pragma once

#include "base/file.h"
#include "shards/format.h"

struct shard_writer {
    struct file file;
    struct shard_header header;
    uint8_t *block;  /* [SHARD_BLOCK_BYTES] the records so far of the block at the cursor */
    uint64_t *table; /* [shard_block_count] hashes of the blocks */
    uint64_t at;     /* the cursor: bytes of records before it */
};

#define WRITER_CLOSED ((struct shard_writer){.file = FILE_CLOSED})

/* `header` says what the shard is, including its record_count (manifest_shard_header makes one); derived fields are
 * filled here. The directory must exist. */
int writer_open(struct shard_writer *writer, const char *path, const struct shard_header *header, struct error *err);
/* Adds the next bytes of the records, as made by record_encode; they may end inside a record. */
int writer_add(struct shard_writer *writer, const uint8_t *data, size_t bytes, struct error *err);
/* Writes a whole block (the last may be short: shard_block_bytes). Call it at most once for each block. */
int writer_put_block(const struct shard_writer *writer, uint64_t block, const uint8_t *data, struct error *err);
/* Moves the cursor, which must be at the start of a block, over blocks that are placed. */
void writer_skip(struct shard_writer *writer, uint64_t blocks);
/* True if the cursor is at the end of the records. */
bool writer_full(const struct shard_writer *writer);
/* Completes the shard, which must be full (asserted). Gives its hash and the file's size; both may be NULL. Closes
 * it. */
int writer_commit(struct shard_writer *writer, uint64_t *hash, uint64_t *bytes, struct error *err);
/* Frees everything; a file that was not committed is removed. Safe on WRITER_CLOSED and after writer_commit. */
void writer_close(struct shard_writer *writer);

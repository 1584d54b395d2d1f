/* Writes one shard:
 *
 *     writer_open → { writer_add | writer_pass } … → writer_commit, or writer_close to drop it
 *
 * A cursor goes over the records from front to back. Whoever knows a whole block may write it before the cursor comes,
 * with writer_place, from any thread; the cursor then passes over it. The bytes appear under their final name only when
 * they are complete and synced (base/file.h). */
#ifndef SHARDS_WRITER_H
#define SHARDS_WRITER_H

#include "base/file.h"
#include "shards/format.h"

struct shard_writer {
    struct file file;
    struct shard_header header;
    uint8_t *block;  /* [SHARD_BLOCK_BYTES] what the block at the cursor has got so far */
    uint64_t *table; /* [shard_block_count] hashes of the blocks */
    uint64_t at;     /* the cursor: bytes of records after it */
};

#define WRITER_CLOSED ((struct shard_writer){.file = FILE_CLOSED})

/* `header` says what the shard is, its record_count included (manifest_shard_header makes one); derived fields are
 * filled here. The directory must exist. */
int writer_open(struct shard_writer *writer, const char *path, const struct shard_header *header, struct error *err);
/* The next bytes of the records, as record_encode makes them. */
int writer_add(struct shard_writer *writer, const uint8_t *data, size_t bytes, struct error *err);
/* A whole block (the last one may be short: shard_block_bytes). Not two calls for one block. */
int writer_place(const struct shard_writer *writer, uint64_t block, const uint8_t *data, struct error *err);
/* The cursor, at the beginning of a block, passes over blocks that are placed. */
void writer_pass(struct shard_writer *writer, uint64_t blocks);
/* Is the cursor after the last record? */
bool writer_full(const struct shard_writer *writer);
/* It must be (asserted). Gives the shard's hash and the file's size; both may be NULL. Closes. */
int writer_commit(struct shard_writer *writer, uint64_t *hash, uint64_t *bytes, struct error *err);
/* Frees everything; what was not committed is removed. Safe on WRITER_CLOSED and after writer_commit. */
void writer_close(struct shard_writer *writer);

#endif

/* Writes one shard from front to back: writer_open → writer_add … → writer_commit, or writer_close to drop it. The
 * bytes appear under their final name only when they are complete and synced (base/file.h). One thread per writer. */
#ifndef SHARDS_WRITER_H
#define SHARDS_WRITER_H

#include "base/file.h"
#include "shards/format.h"

struct shard_writer {
    struct file file;
    struct shard_header header;
    uint8_t *block; /* [SHARD_BLOCK_BYTES] the block that is being filled */
    size_t block_used;
    uint64_t *table; /* hashes of the blocks so far */
    uint64_t blocks;
    uint64_t records; /* added so far */
};

#define WRITER_CLOSED ((struct shard_writer){.file = FILE_CLOSED})

/* `header` says what the shard is, its record_count included (manifest_shard_header makes one); derived fields are
 * filled here. The directory must exist. */
int writer_open(struct shard_writer *writer, const char *path, const struct shard_header *header, struct error *err);
/* One record of header.record_bytes, as record_encode makes it. */
int writer_add(struct shard_writer *writer, const uint8_t *record, struct error *err);
/* All records must have been added (asserted). Gives the shard's hash and the file's size; both may be NULL. Closes. */
int writer_commit(struct shard_writer *writer, uint64_t *hash, uint64_t *bytes, struct error *err);
/* Frees everything; what was not committed is removed. Safe on WRITER_CLOSED and after writer_commit. */
void writer_close(struct shard_writer *writer);

#endif

/* One mapped shard. Opening checks the header, the sizes against the real file, the table of hashes and the footer. No
 * number is used before it is checked, so a hostile file can only cause an error. Records are checked when they are
 * used: a block's hash on first access, a record's ranges every time. */
#pragma once

#include "base/file.h"
#include "shards/format.h"
#include "shards/sample.h"

#include <assert.h>
#include <stdatomic.h>

struct shard {
    char *path; /* owned */
    struct mapping mapping;
    struct shard_header header;
    struct shard_layout layout;
    uint64_t hash;          /* of the shard, as stored in the manifest */
    const uint8_t *records; /* [record_count][record_bytes], into the mapping */
    const uint8_t *table;   /* [blocks] hashes, into the mapping */
    atomic_uchar *checked;  /* [blocks] the block's hash was verified; any thread may set it */
};

/* ERR_MISMATCH: a newer format_version. ERR_VERIFY, with the byte offset: not a complete shard. */
int shard_open(struct shard *shard, const char *path, struct error *err);
void shard_close(struct shard *shard); /* safe on a zeroed one */

/* The bytes of record i, unchecked. O(1), any thread. */
static inline const uint8_t *shard_record(const struct shard *shard, uint64_t i)
{
    assert(i < shard->header.record_count);
    return shard->records + i * shard->header.record_bytes;
}

/* Decodes record i into *sample, made by sample_make(&shard->layout). ERR_VERIFY with the byte offset: its block's hash
 * or one of its fields is wrong. Any thread, each with its own sample. */
int shard_sample(const struct shard *shard, uint64_t i, struct sample *sample, struct error *err);

/* Tells the kernel that this whole shard is read next, in any order. */
void shard_prefetch(const struct shard *shard);

/* In: a header and records. Out: one shard under its final name. Records gather in a block of 1 MiB, which is hashed
 * and written as a whole, so the bytes pass the processor once and the disk sees large writes. */
#include "shards/writer.h"

#include "base/hash.h"
#include "base/mem.h"

#include <assert.h>

int writer_open(struct shard_writer *writer, const char *path, const struct shard_header *header, struct error *err)
{
    *writer = WRITER_CLOSED;
    struct shard_header finished = *header;
    shard_header_finish(&finished);
    TRY(file_create(&writer->file, path, err));
    if (file_write(&writer->file, &finished, sizeof(finished), err) < 0) {
        file_close(&writer->file);
        return -1;
    }
    writer->header = finished;
    writer->block = mem_alloc(SHARD_BLOCK_BYTES);
    writer->table = mem_array(shard_block_count(&finished), sizeof(*writer->table));
    return 0;
}

static int write_block(struct shard_writer *writer, struct error *err)
{
    assert(writer->blocks < shard_block_count(&writer->header));
    writer->table[writer->blocks++] = hash64(writer->block, writer->block_used);
    const size_t bytes = writer->block_used;
    writer->block_used = 0;
    return file_write(&writer->file, writer->block, bytes, err);
}

int writer_add(struct shard_writer *writer, const uint8_t *record, struct error *err)
{
    assert(writer->records < writer->header.record_count);
    writer->records++;
    for (size_t left = writer->header.record_bytes; left > 0;) {
        const size_t room = SHARD_BLOCK_BYTES - writer->block_used, part = left < room ? left : room;
        memcpy(writer->block + writer->block_used, record, part);
        writer->block_used += part;
        record += part;
        left -= part;
        if (writer->block_used == SHARD_BLOCK_BYTES)
            TRY(write_block(writer, err));
    }
    return 0;
}

int writer_commit(struct shard_writer *writer, uint64_t *hash, uint64_t *bytes, struct error *err)
{
    assert(writer->records == writer->header.record_count);
    struct shard_footer footer;
    int result = 0;
    if (writer->block_used > 0)
        result = write_block(writer, err);
    assert(result < 0 || writer->blocks == shard_block_count(&writer->header));
    if (result == 0)
        result = file_write(&writer->file, writer->table, writer->blocks * sizeof(*writer->table), err);
    if (result == 0) {
        shard_footer_make(&writer->header, writer->table, &footer);
        result = file_write(&writer->file, &footer, sizeof(footer), err);
    }
    if (result == 0) {
        assert(writer->file.written == shard_file_bytes(&writer->header));
        result = file_commit(&writer->file, err);
    }
    if (result == 0 && hash)
        *hash = shard_hash(&writer->header, &footer);
    if (result == 0 && bytes)
        *bytes = shard_file_bytes(&writer->header);
    writer_close(writer);
    return result;
}

void writer_close(struct shard_writer *writer)
{
    file_close(&writer->file);
    mem_free(writer->block);
    mem_free(writer->table);
    *writer = WRITER_CLOSED;
}

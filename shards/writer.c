/* Writes records as one shard under its final name. Records are collected in a block of 1 MiB, which is hashed and
 * written as a whole, so each byte is processed once and the disk gets large writes. */
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
    if (file_write_at(&writer->file, &finished, sizeof(finished), 0, err) < 0) {
        file_close(&writer->file);
        return -1;
    }
    writer->header = finished;
    writer->block = mem_alloc(SHARD_BLOCK_BYTES);
    writer->table = mem_array(shard_block_count(&finished), sizeof(*writer->table));
    return 0;
}

int writer_put_block(const struct shard_writer *writer, uint64_t block, const uint8_t *data, struct error *err)
{
    assert(block < shard_block_count(&writer->header));
    const size_t bytes = shard_block_bytes(&writer->header, block);
    writer->table[block] = hash64(data, bytes);
    return file_write_at(&writer->file, data, bytes, SHARD_HEADER_BYTES + block * SHARD_BLOCK_BYTES, err);
}

int writer_add(struct shard_writer *writer, const uint8_t *data, size_t bytes, struct error *err)
{
    while (bytes > 0) {
        const uint64_t block = writer->at / SHARD_BLOCK_BYTES;
        const size_t used = (size_t)(writer->at % SHARD_BLOCK_BYTES);
        assert(block < shard_block_count(&writer->header));
        const size_t room = shard_block_bytes(&writer->header, block) - used, part = bytes < room ? bytes : room;
        assert(room > 0);
        memcpy(writer->block + used, data, part);
        writer->at += part;
        data += part;
        bytes -= part;
        if (part == room)
            TRY(writer_put_block(writer, block, writer->block, err));
    }
    return 0;
}

void writer_skip(struct shard_writer *writer, uint64_t blocks)
{
    assert(blocks == 0 || writer->at % SHARD_BLOCK_BYTES == 0);
    assert(writer->at / SHARD_BLOCK_BYTES + blocks <= shard_block_count(&writer->header));
    const uint64_t area = shard_area_bytes(&writer->header), to = writer->at + blocks * SHARD_BLOCK_BYTES;
    writer->at = to < area ? to : area;
}

bool writer_full(const struct shard_writer *writer)
{
    return writer->at == shard_area_bytes(&writer->header);
}

int writer_commit(struct shard_writer *writer, uint64_t *hash, uint64_t *bytes, struct error *err)
{
    assert(writer_full(writer));
    const struct shard_header *header = &writer->header;
    const uint64_t table_at = SHARD_HEADER_BYTES + shard_area_bytes(header), blocks = shard_block_count(header);
    struct shard_footer footer;
    shard_footer_make(header, writer->table, &footer);
    int result = file_write_at(&writer->file, writer->table, blocks * sizeof(*writer->table), table_at, err);
    if (result == 0)
        result = file_write_at(&writer->file, &footer, sizeof(footer), table_at + blocks * sizeof(*writer->table), err);
    if (result == 0)
        result = file_commit(&writer->file, err);
    if (result == 0 && hash)
        *hash = shard_hash(header, &footer);
    if (result == 0 && bytes)
        *bytes = shard_file_bytes(header);
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

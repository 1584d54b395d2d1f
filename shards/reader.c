/* Reads records from a file that claims to be a shard, or fails with an error that names the byte. Each step of opening
 * uses only what earlier steps have checked. */
#include "shards/reader.h"

#include "base/hash.h"
#include "base/mem.h"

#include <inttypes.h>
#include <sys/mman.h>

static int check_header(struct shard *shard, struct error *err)
{
    struct shard_header *header = &shard->header;
    const struct mapping *map = &shard->mapping;
    uint64_t offset;
    /* Check the version first: only these two fields are known in a newer one. */
    if (map->size < offsetof(struct shard_header, text_version))
        return fail_at(err, ERR_VERIFY, shard->path, map->size, "not a shard, or one cut off: it has %zu bytes",
                       map->size);
    memcpy(header, map->data, offsetof(struct shard_header, text_version));
    if (memcmp(header->magic, SHARD_MAGIC, sizeof(header->magic)) != 0)
        return fail_at(err, ERR_VERIFY, shard->path, 0, "not a shard: its first bytes are wrong");
    if (header->format_version > SHARD_FORMAT_VERSION) {
        fail_at(err, ERR_MISMATCH, shard->path, ERROR_NO_OFFSET,
                "has format version %" PRIu32 "; this program reads up to version %d", header->format_version,
                SHARD_FORMAT_VERSION);
        return hint(err, "update this program, or build the dataset with this version");
    }
    if (map->size < sizeof(*header))
        return fail_at(err, ERR_VERIFY, shard->path, map->size, "the shard is cut off in its header");
    memcpy(header, map->data, sizeof(*header));
    if (hash64(header, offsetof(struct shard_header, hash)) != header->hash || header->format_version == 0)
        return fail_at(err, ERR_VERIFY, shard->path, 0, "the shard's header is damaged: its hash does not match");
    const char *fault = shard_header_fault(header, &offset);
    return fault ? fail_at(err, ERR_VERIFY, shard->path, offset, "%s", fault) : 0;
}

static int check_end(struct shard *shard, struct error *err)
{
    const struct mapping *map = &shard->mapping;
    const uint64_t bytes = shard_file_bytes(&shard->header), blocks = shard_block_count(&shard->header);
    struct shard_footer footer, expected;
    if (map->size < bytes)
        return fail_at(err, ERR_VERIFY, shard->path, map->size,
                       "the shard is cut off: it should have %" PRIu64 " bytes", bytes);
    if (map->size > bytes)
        return fail_at(err, ERR_VERIFY, shard->path, bytes, "%" PRIu64 " bytes too many after the shard's end",
                       map->size - bytes);
    shard->records = map->data + SHARD_HEADER_BYTES;
    shard->table = shard->records + shard_area_bytes(&shard->header); /* 8-aligned: header and records are */
    memcpy(&footer, map->data + bytes - sizeof(footer), sizeof(footer));
    shard_footer_make(&shard->header, (const uint64_t *)(const void *)shard->table, &expected);
    if (footer.hash != hash64(&footer, offsetof(struct shard_footer, hash)))
        return fail_at(err, ERR_VERIFY, shard->path, bytes - sizeof(footer), "the shard's footer is damaged");
    if (memcmp(&footer, &expected, sizeof(footer)) != 0)
        return fail_at(err, ERR_VERIFY, shard->path, bytes - sizeof(footer) - blocks * 8,
                       "the shard's table of hashes is damaged, or the footer is not its own");
    shard->hash = shard_hash(&shard->header, &footer);
    return 0;
}

int shard_open(struct shard *shard, const char *path, struct error *err)
{
    *shard = (struct shard){0};
    TRY(file_map(&shard->mapping, path, err));
    shard->path = mem_copy_text(path);
    if (check_header(shard, err) < 0 || check_end(shard, err) < 0) {
        shard_close(shard);
        return -1;
    }
    const struct shard_header *header = &shard->header;
    shard->layout = shard_layout_make(header->seq, header->predictions, header->vocab_size);
    shard->checked = mem_clear(shard_block_count(header), sizeof(*shard->checked));
    return 0;
}

void shard_close(struct shard *shard)
{
    file_unmap(&shard->mapping);
    mem_free(shard->checked);
    mem_free(shard->path);
    *shard = (struct shard){0};
}

/* Two threads may check the same block at once; both get the same result. */
static int check_block(const struct shard *shard, uint64_t block, struct error *err)
{
    if (atomic_load_explicit(&shard->checked[block], memory_order_relaxed))
        return 0;
    const uint64_t from = block * SHARD_BLOCK_BYTES, area = shard_area_bytes(&shard->header);
    const uint64_t to = area - from < SHARD_BLOCK_BYTES ? area : from + SHARD_BLOCK_BYTES;
    uint64_t expected;
    memcpy(&expected, shard->table + block * 8, 8);
    if (hash64(shard->records + from, to - from) != expected) {
        fail_at(err, ERR_VERIFY, shard->path, SHARD_HEADER_BYTES + from,
                "the shard is damaged between here and byte %" PRIu64, SHARD_HEADER_BYTES + to);
        return hint(err, "dsdata verify DIR names all damage of a dataset, and the command that rebuilds it");
    }
    atomic_store_explicit(&shard->checked[block], 1, memory_order_relaxed);
    return 0;
}

int shard_sample(const struct shard *shard, uint64_t i, struct sample *sample, struct error *err)
{
    const uint8_t *record = shard_record(shard, i);
    const uint64_t from = (uint64_t)(record - shard->records), last = from + shard->header.record_bytes - 1;
    TRY(check_block(shard, from / SHARD_BLOCK_BYTES, err));
    TRY(check_block(shard, last / SHARD_BLOCK_BYTES, err)); /* a record may extend into the next block */
    const char *fault = record_decode(&shard->layout, record, sample);
    return fault ? fail_at(err, ERR_VERIFY, shard->path, SHARD_HEADER_BYTES + from, "record %" PRIu64 ": %s", i, fault)
                 : 0;
}

void shard_prefetch(const struct shard *shard)
{
    /* Advice only: if the kernel ignores it, reading is slower. */
    posix_madvise((void *)(uintptr_t)shard->mapping.data, shard->mapping.size, POSIX_MADV_WILLNEED);
}

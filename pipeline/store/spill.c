#include "pipeline/store/spill.h"

#include "base/mem.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define BUFFER_BYTES (256u << 10) /* of a bucket, written in one call */

static uint32_t buckets_of(const struct spill *spill, size_t set)
{
    return 1u << spill->sets[set].bucket_bits;
}

size_t spill_bucket_count(const struct spill *spill)
{
    size_t count = 0;
    for (size_t set = 0; set < spill->set_count; set++)
        count += buckets_of(spill, set);
    return count;
}

char *spill_path(const struct spill *spill, size_t set, uint32_t bucket)
{
    char name[32];
    snprintf(name, sizeof name, "%03zu-%05u", set, bucket);
    return path_join(spill->directory, name);
}

static int open_bucket(struct spill *spill, size_t set, uint32_t number, uint64_t bytes, struct error *err)
{
    struct spill_bucket *bucket = &spill->buckets[set][number];
    char *path = spill_path(spill, set, number);
    int64_t size = -1;
    int result = file_append_open(&bucket->file, path, err);
    if (result == 0)
        size = file_size(&bucket->file, err);
    if (size < 0) {
        result = -1;
    } else if ((uint64_t)size < bytes) {
        fail_at(err, ERR_VERIFY, path, (uint64_t)size, "shorter than the journal says (%llu bytes)",
                (unsigned long long)bytes);
        result = hint(err, "start anew with --fresh");
    } else if ((uint64_t)size > bytes) {
        result = file_truncate(&bucket->file, bytes, err);
    }
    bucket->bytes = bytes;
    mem_free(path);
    return result;
}

int spill_open(struct spill *spill, const char *directory, const struct spill_set *sets, size_t set_count,
               const uint64_t *bytes, struct error *err)
{
    assert(set_count <= SPILL_SETS_MAX);
    *spill = (struct spill){.directory = path_join(directory, SPILL_NAME), .set_count = set_count};
    memcpy(spill->sets, sets, set_count * sizeof *sets);
    for (size_t set = 0; set < set_count; set++) {
        assert(buckets_of(spill, set) <= SPILL_BUCKETS_MAX);
        spill->buckets[set] = mem_clear(buckets_of(spill, set), sizeof *spill->buckets[set]);
        for (uint32_t number = 0; number < buckets_of(spill, set); number++)
            spill->buckets[set][number].file = FILE_CLOSED;
    }
    TRY(path_make_directory(spill->directory, err));
    size_t at = 0;
    for (size_t set = 0; set < set_count; set++)
        for (uint32_t number = 0; number < buckets_of(spill, set); number++, at++)
            TRY(open_bucket(spill, set, number, bytes ? bytes[at] : 0, err));
    return path_sync_directory(spill->directory, err);
}

static int flush(struct spill_bucket *bucket, struct error *err)
{
    if (bucket->buffer.size == 0)
        return 0;
    TRY(file_write(&bucket->file, bucket->buffer.data, bucket->buffer.size, err));
    buf_reset(&bucket->buffer);
    return 0;
}

int spill_add(struct spill *spill, size_t set, const char *entries, size_t bytes, struct error *err)
{
    const size_t entry_bytes = spill->sets[set].entry_bytes;
    const uint32_t bits = spill->sets[set].bucket_bits;
    assert(bytes % entry_bytes == 0);
    for (size_t at = 0; at < bytes; at += entry_bytes) {
        uint64_t key;
        memcpy(&key, entries + at, sizeof key);
        struct spill_bucket *bucket = &spill->buckets[set][bits == 0 ? 0 : key >> (64 - bits)];
        buf_add(&bucket->buffer, entries + at, entry_bytes);
        bucket->bytes += entry_bytes;
        if (bucket->buffer.size >= BUFFER_BYTES)
            TRY(flush(bucket, err));
    }
    return 0;
}

int spill_sync(struct spill *spill, uint64_t *bytes, struct error *err)
{
    size_t at = 0;
    for (size_t set = 0; set < spill->set_count; set++)
        for (uint32_t number = 0; number < buckets_of(spill, set); number++) {
            struct spill_bucket *bucket = &spill->buckets[set][number];
            TRY(flush(bucket, err));
            if (bucket->file.written > 0) {
                TRY(file_sync(&bucket->file, err));
                bucket->file.written = 0;
            }
            bytes[at++] = bucket->bytes;
        }
    return 0;
}

void spill_close(struct spill *spill)
{
    for (size_t set = 0; set < spill->set_count; set++) {
        for (uint32_t number = 0; spill->buckets[set] && number < buckets_of(spill, set); number++) {
            file_close(&spill->buckets[set][number].file);
            buf_release(&spill->buckets[set][number].buffer);
        }
        mem_free(spill->buckets[set]);
    }
    mem_free(spill->directory);
    *spill = (struct spill){0};
}

/* "000-00000": the only names that are ours there. */
static bool is_spill_name(const char *name)
{
    if (strlen(name) != 9 || name[3] != '-')
        return false;
    for (size_t i = 0; i < 9; i++)
        if (i != 3 && (name[i] < '0' || name[i] > '9'))
            return false;
    return true;
}

int spill_remove(const char *directory, struct error *err)
{
    char *folder = path_join(directory, SPILL_NAME);
    struct path_list list = {0};
    int result = 0;
    if (path_exists(folder))
        result = path_list(&list, folder, err);
    for (size_t i = 0; result == 0 && i < list.count; i++)
        if (is_spill_name(list.names[i])) {
            char *path = path_join(folder, list.names[i]);
            result = path_remove(path, err);
            mem_free(path);
        }
    path_list_release(&list);
    if (result == 0)
        result = path_remove(folder, err);
    mem_free(folder);
    return result;
}

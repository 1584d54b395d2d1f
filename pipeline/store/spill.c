#include "pipeline/store/spill.h"

#include "base/mem.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define BUFFER_BYTES (128u << 10) /* per bucket, written in one call */

#define JOURNAL_END ".journal"

static uint32_t buckets_of(const struct spill *spill, size_t set)
{
    return 1u << spill->sets[set].bucket_bits;
}

size_t spill_bucket_count(const struct spill_set *sets, size_t set_count)
{
    size_t count = 0;
    for (size_t set = 0; set < set_count; set++)
        count += (size_t)1 << sets[set].bucket_bits;
    return count;
}

char *spill_path(const char *directory, uint64_t extent, size_t set, uint32_t bucket)
{
    char name[64];
    snprintf(name, sizeof name, SPILL_NAME "/%0*" PRIu64 "-%03zu-%05u", SPILL_EXTENT_DIGITS, extent, set, bucket);
    return path_join(directory, name);
}

char *spill_journal_path(const char *directory, uint64_t extent)
{
    char name[64];
    snprintf(name, sizeof name, SPILL_NAME "/%0*" PRIu64 JOURNAL_END, SPILL_EXTENT_DIGITS, extent);
    return path_join(directory, name);
}

static int open_bucket(struct spill *spill, size_t set, uint32_t number, uint64_t bytes, struct error *err)
{
    struct spill_bucket *bucket = &spill->buckets[set][number];
    SCOPED(mem_free_at) char *path = spill_path(spill->directory, spill->extent, set, number);
    bucket->bytes = bytes;
    TRY(file_append_open(&bucket->file, path, err));
    const int64_t size = file_size(&bucket->file, err);
    TRY(size);
    if ((uint64_t)size >= bytes)
        return (uint64_t)size > bytes ? file_truncate(&bucket->file, bytes, err) : 0;
    fail_at(err, ERR_VERIFY, path, (uint64_t)size, "shorter than the journal says (%llu bytes)",
            (unsigned long long)bytes);
    return hint(err, "start anew with --fresh");
}

int spill_open(struct spill *spill, const char *directory, uint64_t extent, const struct spill_set *sets,
               size_t set_count, const uint64_t *bytes, struct error *err)
{
    assert(set_count <= SPILL_SETS_MAX);
    *spill = (struct spill){.directory = mem_copy_text(directory), .extent = extent, .set_count = set_count};
    memcpy(spill->sets, sets, set_count * sizeof *sets);
    for (size_t set = 0; set < set_count; set++) {
        assert(buckets_of(spill, set) <= SPILL_BUCKETS_MAX);
        assert(sets[set].entry_bytes == 1 || sets[set].entry_bytes >= sizeof(uint64_t)); /* text, or a key and more */
        spill->buckets[set] = mem_clear(buckets_of(spill, set), sizeof *spill->buckets[set]);
        for (uint32_t number = 0; number < buckets_of(spill, set); number++)
            spill->buckets[set][number].file = FILE_CLOSED;
    }
    SCOPED(mem_free_at) char *folder = path_join(directory, SPILL_NAME);
    TRY(path_make_directory(folder, err));
    size_t at = 0;
    for (size_t set = 0; set < set_count; set++)
        for (uint32_t number = 0; number < buckets_of(spill, set); number++, at++)
            TRY(open_bucket(spill, set, number, bytes ? bytes[at] : 0, err));
    assert(at == spill_bucket_count(sets, set_count));
    return path_sync_directory(folder, err);
}

/* A failed write may have written a part, and a later write would follow it. So nothing is written after a failure:
 * what a journal says about the file stays true, and spill_open removes the part. */
static int flush(struct spill *spill, struct spill_bucket *bucket, struct error *err)
{
    if (spill->failed)
        return fail_at(err, ERR_RESOURCE, bucket->file.path, ERROR_NO_OFFSET, "an earlier write to the spills failed");
    if (bucket->buffer.size == 0)
        return 0;
    assert(bucket->buffer.size <= bucket->bytes && bucket->file.fd >= 0);
    spill->failed = true;
    TRY(file_write(&bucket->file, bucket->buffer.data, bucket->buffer.size, err));
    spill->failed = false;
    buf_reset(&bucket->buffer);
    return 0;
}

int spill_add(struct spill *spill, size_t set, const char *entries, size_t bytes, struct error *err)
{
    assert(set < spill->set_count);
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
            TRY(flush(spill, bucket, err));
    }
    return 0;
}

int spill_add_text(struct spill *spill, size_t set, uint32_t number, struct str text, struct error *err)
{
    assert(set < spill->set_count && number < buckets_of(spill, set) && spill->sets[set].entry_bytes == 1);
    struct spill_bucket *bucket = &spill->buckets[set][number];
    buf_add_str(&bucket->buffer, text);
    bucket->bytes += text.size;
    return bucket->buffer.size >= BUFFER_BYTES ? flush(spill, bucket, err) : 0;
}

int spill_sync(struct spill *spill, uint64_t *bytes, struct error *err)
{
    size_t at = 0;
    for (size_t set = 0; set < spill->set_count; set++)
        for (uint32_t number = 0; number < buckets_of(spill, set); number++) {
            struct spill_bucket *bucket = &spill->buckets[set][number];
            TRY(flush(spill, bucket, err));
            assert(bucket->buffer.size == 0 && bucket->file.written <= bucket->bytes);
            if (bucket->file.written > 0) {
                spill->failed = true; /* a failed sync is not retried either: the kernel may have dropped pages */
                TRY(file_sync(&bucket->file, err));
                spill->failed = false;
                bucket->file.written = 0;
            }
            bytes[at++] = bucket->bytes;
        }
    assert(at == spill_bucket_count(spill->sets, spill->set_count));
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

/* Names in DIR/spill that are ours begin with the digits of an extent. Returns where these end; 0: not ours. */
static size_t extent_of(const char *name, uint64_t *extent)
{
    *extent = 0;
    for (size_t i = 0; i < SPILL_EXTENT_DIGITS; i++) {
        if (name[i] < '0' || name[i] > '9')
            return 0;
        *extent = *extent * 10 + (uint64_t)(name[i] - '0');
    }
    return name[SPILL_EXTENT_DIGITS] == '-' || name[SPILL_EXTENT_DIGITS] == '.' ? SPILL_EXTENT_DIGITS : 0;
}

bool spill_journal_name(const char *name, uint64_t *extent)
{
    const size_t digits = extent_of(name, extent);
    return digits > 0 && strcmp(name + digits, JOURNAL_END) == 0;
}

static int remove_files(const char *folder, const uint64_t *only, struct error *err)
{
    SCOPED(path_list_release) struct path_list list = {0};
    if (path_exists(folder))
        TRY(path_list(&list, folder, err));
    for (size_t i = 0; i < list.count; i++) {
        uint64_t extent;
        if (extent_of(list.names[i], &extent) == 0 || (only && extent != *only))
            continue;
        SCOPED(mem_free_at) char *path = path_join(folder, list.names[i]);
        TRY(path_remove(path, err));
    }
    return 0;
}

int spill_remove(const char *directory, uint64_t extent, struct error *err)
{
    SCOPED(mem_free_at) char *folder = path_join(directory, SPILL_NAME);
    SCOPED(mem_free_at) char *journal = spill_journal_path(directory, extent);
    TRY(path_remove(journal, err));
    TRY(path_sync_directory(folder, err));
    return remove_files(folder, &extent, err);
}

int spill_remove_all(const char *directory, struct error *err)
{
    SCOPED(mem_free_at) char *folder = path_join(directory, SPILL_NAME);
    TRY(remove_files(folder, NULL, err));
    return path_remove(folder, err);
}

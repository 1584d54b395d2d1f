/* Loads are sorted by key with a radix sort: keys are random numbers, and few are equal. */
#include "pipeline/store/load.h"

#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>

#define READ_BYTES (1u << 20)

static uint64_t bytes_of(const struct spills *spills, size_t extent, size_t set, uint32_t bucket)
{
    assert(extent < spills->extent_count && set < spills->set_count);
    assert(bucket < 1u << spills->sets[set].bucket_bits);
    return spills->extents[extent].bytes[spill_bucket_count(spills->sets, set) + bucket];
}

uint64_t spills_bytes(const struct spills *spills, size_t set, uint32_t bucket)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < spills->extent_count; i++)
        sum += bytes_of(spills, i, set, bucket);
    return sum;
}

static uint64_t key_of(const char *entry)
{
    uint64_t key;
    memcpy(&key, entry, sizeof key);
    return key;
}

/* Compares the names of two entries of equal key: file, window, part, copy, index (five uint32_t after the key). */
static int compare_names(const void *left, const void *right)
{
    const struct keyed *a = left, *b = right;
    uint32_t names[2][5];
    memcpy(names[0], a->entry + 8, sizeof names[0]);
    memcpy(names[1], b->entry + 8, sizeof names[1]);
    for (int i = 0; i < 5; i++)
        if (names[0][i] != names[1][i])
            return names[0][i] < names[1][i] ? -1 : 1;
    return 0;
}

/* Sorts by the byte of the keys at `shift`; stable. Returns the array with the result: `to`, or `from` if all have the
 * same byte. */
static struct keyed *sort_by_byte(struct keyed *from, struct keyed *to, size_t count, unsigned shift)
{
    size_t ends[256] = {0};
    for (size_t i = 0; i < count; i++)
        ends[from[i].key >> shift & 0xFF]++;
    if (ends[from[0].key >> shift & 0xFF] == count)
        return from;
    size_t end = count;
    for (unsigned byte = 256; byte-- > 0;)
        ends[byte] = end -= ends[byte]; /* where that byte's entries begin */
    for (size_t i = 0; i < count; i++)
        to[ends[from[i].key >> shift & 0xFF]++] = from[i];
    return to;
}

/* Sorts into the total order: by key, byte by byte from the lowest, then by name. */
static struct keyed *sort_keyed(struct keyed *keys, struct keyed *room, size_t count)
{
    struct keyed *sorted = keys;
    for (unsigned shift = 0; shift < 64 && count > 0; shift += 8)
        sorted = sort_by_byte(sorted, sorted == keys ? room : keys, count, shift);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && sorted[end].key == sorted[i].key;)
            end++;
        if (end - i > 1)
            qsort(sorted + i, end - i, sizeof *sorted, compare_names);
    }
    return sorted;
}

/* Of the entries from byte `from` on, keeps those whose keys belong to the load. */
static void keep_own(struct load *load, size_t from, size_t entry_bytes)
{
    char *data = load->entries.data;
    size_t to = from;
    for (size_t at = from; at < load->entries.size; at += entry_bytes) {
        if (key_of(data + at) < load->first || key_of(data + at) > load->last)
            continue;
        if (to < at)
            memcpy(data + to, data + at, entry_bytes);
        to += entry_bytes;
    }
    load->entries.size = to;
}

/* Adds the entries in `file` whose keys belong to the load. */
static int read_entries(struct load *load, size_t entry_bytes, const struct file *file, uint64_t bytes,
                        struct error *err)
{
    const size_t block_bytes = (READ_BYTES + entry_bytes - 1) / entry_bytes * entry_bytes;
    struct buf *entries = &load->entries;
    for (uint64_t at = 0; at < bytes;) {
        const size_t wanted = bytes - at < block_bytes ? (size_t)(bytes - at) : block_bytes, from = entries->size;
        buf_reserve(entries, wanted);
        const int64_t got = file_read_at(file, entries->data + from, wanted, at, err);
        TRY(got);
        if ((size_t)got != wanted)
            return fail_at(err, ERR_VERIFY, file->path, at, "a spill ends too early");
        entries->size += wanted;
        keep_own(load, from, entry_bytes);
        at += wanted;
    }
    return 0;
}

/* Adds the entries of all extents. */
static int read_extents(struct load *load, const struct spills *spills, uint64_t bytes_max, struct error *err)
{
    const uint64_t all = spills_bytes(spills, load->set, load->bucket);
    buf_reset(&load->entries);
    buf_reserve(&load->entries, all < bytes_max ? all : bytes_max);
    for (size_t i = 0; i < spills->extent_count; i++) {
        const uint64_t bytes = bytes_of(spills, i, load->set, load->bucket);
        SCOPED(mem_free_at)
        char *path = spill_path(spills->directory, spills->extents[i].extent, load->set, load->bucket);
        SCOPED(file_close) struct file file = FILE_CLOSED;
        if (bytes > 0)
            TRY(file_open_read(&file, path, err));
        TRY(read_entries(load, spills->sets[load->set].entry_bytes, &file, bytes, err));
    }
    return 0;
}

int load_read(struct load *load, const struct spills *spills, uint64_t bytes_max, struct error *err)
{
    const size_t entry_bytes = spills->sets[load->set].entry_bytes;
    const struct buf *entries = &load->entries;
    assert(load->first <= load->last);
    TRY(read_extents(load, spills, bytes_max, err));
    load->count = entries->size / entry_bytes;
    if (load->count > load->capacity) {
        load->capacity = load->count;
        mem_free(load->keys);
        load->keys = mem_array(2 * load->capacity, sizeof *load->keys);
    }
    for (size_t i = 0; i < load->count; i++)
        load->keys[i] = (struct keyed){key_of(entries->data + i * entry_bytes), entries->data + i * entry_bytes};
    load->sorted = sort_keyed(load->keys, load->keys + load->count, load->count);
    return 0;
}

void load_release(struct load *load)
{
    buf_release(&load->entries);
    mem_free(load->keys);
}

#include "pipeline/build/duplicates.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

#define LIST_NAME SPILL_NAME "/9999999999.duplicates" /* sorts after the names of all extents; see spill_remove_all */

int compare_places(const struct sample_key *a, const struct sample_key *b)
{
    const uint32_t left[] = {a->file, a->window, a->part, a->index};
    const uint32_t right[] = {b->file, b->window, b->part, b->index};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* Counts and lists the duplicates of a load. Entries of one key are adjacent, the first by place at the front. */
static int find_in_load(const struct load *load, struct file *list, uint64_t *later, struct error *err)
{
    for (size_t i = 0, end; i < load->count; i = end) {
        for (end = i + 1; end < load->count && load->sorted[end].key == load->sorted[i].key;)
            end++;
        *later += end - i - 1;
        if (end - i > 1 && list)
            TRY(file_write(list, load->sorted[i].entry, sizeof(struct sample_key), err));
    }
    return 0;
}

/* `list`: gets the rows; or NULL. */
static int find(const struct spills *spills, size_t set, uint64_t load_bytes_max, struct file *list, uint64_t *later,
                struct error *err)
{
    const uint32_t bits = spills->sets[set].bucket_bits;
    struct load load = {.set = set};
    int result = 0;
    assert(spills->sets[set].entry_bytes == sizeof(struct sample_key));
    *later = 0;
    for (load.bucket = 0; result == 0 && load.bucket < 1u << bits; load.bucket++) {
        uint32_t more = 0;
        while (more < 24 - bits && spills_bytes(spills, set, load.bucket) >> more > load_bytes_max / 2)
            more++;
        for (uint64_t slice = 0; result == 0 && slice < 1ull << more; slice++) {
            const uint64_t range = (uint64_t)load.bucket << more | slice;
            load.first = bits + more == 0 ? 0 : range << (64 - bits - more);
            load.last = bits + more == 0 ? UINT64_MAX : load.first + (UINT64_MAX >> (bits + more));
            result = load_read(&load, spills, load_bytes_max, err);
            if (result == 0)
                result = find_in_load(&load, list, later, err);
        }
    }
    load_release(&load);
    return result;
}

int duplicates_count(const struct extents *extents, const struct spill_set *sets, size_t set_count,
                     uint64_t load_bytes_max, uint64_t *later, struct error *err)
{
    struct seal_extent *items;
    const struct spills spills = extents_spills(extents, sets, set_count, &items);
    const int result = find(&spills, set_count - 1, load_bytes_max, NULL, later, err);
    mem_free(items);
    return result;
}

int duplicates_list(const struct spills *spills, uint64_t load_bytes_max, struct error *err)
{
    struct file list = FILE_CLOSED;
    char *path = path_join(spills->directory, LIST_NAME);
    uint64_t later;
    int result = file_create(&list, path, err);
    if (result == 0)
        result = find(spills, 0, load_bytes_max, &list, &later, err);
    if (result == 0)
        result = file_commit(&list, err);
    file_close(&list);
    mem_free(path);
    return result;
}

int duplicates_open(struct duplicates *duplicates, const char *directory, struct error *err)
{
    char *path = path_join(directory, LIST_NAME);
    int result = file_map(&duplicates->mapping, path, err);
    if (result == 0 && duplicates->mapping.size % sizeof *duplicates->rows != 0)
        result = fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "the list of duplicates is damaged");
    if (result == 0) {
        duplicates->rows = (const struct sample_key *)(const void *)duplicates->mapping.data;
        duplicates->count = duplicates->mapping.size / sizeof *duplicates->rows;
    }
    mem_free(path);
    return result;
}

void duplicates_close(struct duplicates *duplicates)
{
    if (duplicates->mapping.data)
        file_unmap(&duplicates->mapping);
    *duplicates = (struct duplicates){0};
}

bool duplicates_is_later(const struct duplicates *duplicates, const struct sample_key *document)
{
    size_t low = 0, high = duplicates->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (duplicates->rows[middle].key < document->key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < duplicates->count && duplicates->rows[low].key == document->key &&
           compare_places(&duplicates->rows[low], document) < 0;
}

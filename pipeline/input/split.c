#include "pipeline/input/split.h"

#include "base/hash.h"
#include "base/mem.h"
#include "pipeline/input/input_kind.h"

#include <assert.h>
#include <stdlib.h>

void split_ids_add(struct split_ids *ids, struct str id)
{
    assert(ids->count < SPLIT_IDS);
    if (!ids->ids)
        ids->ids = mem_array(SPLIT_IDS, sizeof *ids->ids);
    ids->ids[ids->count++] = hash64(id.data, id.size);
}

void split_ids_read(struct split_ids *ids, const struct dump *dump, const char *id_key)
{
    const struct input_kind *kind = input_kind_of(dump);
    const struct str head = dump_head(dump);
    *ids = (struct split_ids){0};
    if (kind->add_ids)
        kind->add_ids(ids, head, head.size < DUMP_HEAD_BYTES, id_key);
}

void split_ids_release(struct split_ids *ids)
{
    mem_free(ids->ids);
    *ids = (struct split_ids){0};
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

bool split_by_text(const struct split_ids *const *ids, size_t count)
{
    size_t all = 0, own = 0;
    for (size_t i = 0; i < count; i++)
        all += ids[i]->count;
    if (all == 0)
        return true;
    uint64_t *sorted = mem_array(all, sizeof *sorted), *to = sorted;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < ids[i]->count; k++)
            *to++ = ids[i]->ids[k];
    qsort(sorted, all, sizeof *sorted, compare);
    for (size_t i = 0; i < all; i++)
        own += i == 0 || sorted[i] != sorted[i - 1];
    mem_free(sorted);
    return 4 * own < 3 * all;
}

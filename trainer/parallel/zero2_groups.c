#include "trainer/parallel/zero2_groups.h"

#include <assert.h>

#include "base/mem.h"
#include "base/parallel.h"

static size_t hidden_of(const struct params *params)
{
    return (size_t)params_embedding(params, PARAM_WORD)->shape[1];
}

size_t word_table_end(const struct params *params)
{
    return params_embedding(params, PARAM_WORD)[1].offset;
}

size_t slice_overlap(const struct partition *partition, size_t bucket, uint32_t rank, size_t from, size_t to)
{
    const struct slice *slice = partition_slice(partition, bucket, rank);
    const size_t first = slice->from > from ? slice->from : from, end = smaller(slice->to, to);
    return end > first ? end - first : 0;
}

size_t range_elements(const struct gradient_range *range, uint32_t ranks)
{
    size_t elements = 0;
    for (uint32_t r = 0; r < ranks; r++)
        elements += range->counts[r];
    return elements;
}

size_t group_spans(const struct gradient_groups *groups, const struct gradient_group *group)
{
    return group->kind == GROUP_ROWS ? group->count / groups->hidden : 1;
}

struct gradient_span group_span(const struct gradient_groups *groups, const struct gradient_group *group, size_t i)
{
    if (group->kind != GROUP_ROWS)
        return (struct gradient_span){group->from, group->to};
    return (struct gradient_span){(size_t)group->rows[i] * groups->hidden,
                                  ((size_t)group->rows[i] + 1) * groups->hidden};
}

static size_t rounded_up(size_t elements)
{
    return (elements + SLICE_ALIGN - 1) / SLICE_ALIGN * SLICE_ALIGN;
}

/* In a pre-LN model norms are written after the tensors around them, so two groups are open at a time; so are the heads
 * and a block of the word table. With overlap the sums of one more are under way. */
static size_t slots_of(const struct params *params, bool overlap, bool by_rows)
{
    const size_t slots = 1 + (params->finals > 0) + overlap;
    return by_rows && slots < 2 ? 2 : slots;
}

static size_t embeddings_size(const struct params *params, bool by_rows)
{
    return rounded_up(params_layer(params, 0, 0)->offset - (by_rows ? word_table_end(params) : 0));
}

/* Elements of a slot that has room for the largest other group, and for the smallest block. */
static size_t slot_size(const struct params *params, const struct buckets *buckets, bool by_rows)
{
    size_t most = by_rows ? smaller(WEIGHT_BLOCK * hidden_of(params), word_table_end(params)) : 0, size = 0;
    const size_t embeddings = buckets->items[buckets->count - 1].group;
    for (size_t b = 0; b < buckets->count && buckets->items[b].group < embeddings; b++) {
        const bool begins = b == 0 || buckets->items[b - 1].group != buckets->items[b].group;
        size = (begins ? 0 : size) + buckets->items[b].to - buckets->items[b].from;
        most = size > most ? size : most;
    }
    return rounded_up(most);
}

size_t zero2_groups_window(const struct params *params, const struct partition *partition, bool overlap, bool by_rows)
{
    return embeddings_size(params, by_rows) +
           slots_of(params, overlap, by_rows) * slot_size(params, &partition->buckets, by_rows);
}

size_t zero2_groups_slot(const struct gradient_groups *groups, size_t slot)
{
    assert(slot < groups->slots);
    return groups->embeddings + slot * groups->slot_size;
}

static struct gradient_group *add_group(struct gradient_groups *groups, enum group_kind kind, size_t from, size_t to)
{
    const struct partition *partition = groups->partition;
    struct gradient_group *group = &groups->items[groups->count++];
    *group = (struct gradient_group){.kind = kind, .from = from, .to = to, .count = to - from};
    group->ranges = groups->ranges + groups->range_count;
    size_t all = 0;
    for (size_t b = 0; b < partition->buckets.count; b++) {
        const struct bucket *bucket = &partition->buckets.items[b];
        const size_t first = bucket->from > from ? bucket->from : from, end = smaller(bucket->to, to);
        if (end <= first)
            continue;
        struct gradient_range *range = &groups->ranges[groups->range_count];
        *range = (struct gradient_range){
            .from = first,
            .to = end,
            .bucket = b,
            .at = first - from,
            .counts = groups->counts + groups->range_count * partition->size,
        };
        for (uint32_t r = 0; r < partition->size; r++)
            range->counts[r] = slice_overlap(partition, b, r, first, end);
        assert(range_elements(range, partition->size) == end - first); /* each element has one holder */
        all += end - first;
        groups->range_count++;
    }
    assert(all == group->count);
    group->ranges_end = groups->ranges + groups->range_count;
    return group;
}

/* Divides the word table into blocks for each of which a slot has room. */
static void add_blocks(struct gradient_groups *groups, enum group_kind kind)
{
    const size_t end = word_table_end(groups->params), most = groups->slot_size / groups->hidden;
    const size_t block = most < WEIGHT_BLOCK ? end : most / WEIGHT_BLOCK * WEIGHT_BLOCK * groups->hidden;
    for (size_t from = 0; from < end; from += block) {
        struct gradient_group *group = add_group(groups, kind, from, smaller(from + block, end));
        if (kind == GROUP_ROWS)
            group->rows = groups->rows + from / groups->hidden;
    }
}

/* Adds the heads, the layers and the embeddings: consecutive buckets with the same group number. */
static void add_wholes(struct gradient_groups *groups)
{
    const struct params *params = groups->params;
    const struct buckets *buckets = &groups->partition->buckets;
    for (size_t first = 0, b = 0; b < buckets->count; b++) {
        if (b + 1 < buckets->count && buckets->items[b + 1].group == buckets->items[b].group)
            continue;
        const bool last = b + 1 == buckets->count;
        const size_t from = !last ? buckets->items[b].from : groups->by_rows ? word_table_end(params) : 0;
        struct gradient_group *group = add_group(groups, GROUP_WHOLE, from, buckets->items[first].to);
        group->chunks = (struct chunk_range){buckets->items[b].chunk_from, buckets->items[first].chunk_to};
        while (params->chunks[group->chunks.from].offset < group->from)
            group->chunks.from++;
        assert(!last || group->to == params_layer(params, 0, 0)->offset);
        first = b + 1;
    }
}

void zero2_groups_init(struct gradient_groups *groups, const struct params *params, const struct partition *partition,
                       bool overlap, bool by_rows)
{
    *groups = (struct gradient_groups){
        .params = params,
        .partition = partition,
        .hidden = hidden_of(params),
        .by_rows = by_rows,
        .embeddings = embeddings_size(params, by_rows),
        .slot_size = slot_size(params, &partition->buckets, by_rows),
        .slots = slots_of(params, overlap, by_rows),
    };
    const struct buckets *buckets = &partition->buckets;
    const size_t blocks = by_rows ? word_table_end(params) / (WEIGHT_BLOCK * groups->hidden) + 1 : 0;
    const size_t most = buckets->items[buckets->count - 1].group + 1 + 2 * blocks;
    groups->items = mem_clear(most, sizeof *groups->items);
    groups->ranges = mem_clear(2 * buckets->count + most, sizeof *groups->ranges);
    groups->counts = mem_array((2 * buckets->count + most) * partition->size, sizeof *groups->counts);
    if (by_rows) {
        groups->rows = mem_array(word_table_end(params) / groups->hidden, sizeof *groups->rows);
        add_blocks(groups, GROUP_BLOCK);
    }
    groups->blocks = groups->count;
    add_wholes(groups);
    if (by_rows)
        add_blocks(groups, GROUP_ROWS);
}

void zero2_groups_free(struct gradient_groups *groups)
{
    mem_free(groups->items);
    mem_free(groups->ranges);
    mem_free(groups->counts);
    mem_free(groups->rows);
}

/* In: the table of parameters and a number of processes. Out: borders in every bucket, and places in packed memory. */
#include "trainer/parallel/partition.h"

#include <assert.h>

#include "base/mem.h"

/* The chunk of a bucket that begins nearest to `element`; chunk_to if the bucket's end is nearest. */
static size_t nearest(const struct params *params, const struct bucket *bucket, size_t element)
{
    size_t chunk = bucket->chunk_from, before = bucket->from;
    while (chunk < bucket->chunk_to && params->chunks[chunk].offset < element)
        before = params->chunks[chunk++].offset;
    const size_t after = chunk < bucket->chunk_to ? params->chunks[chunk].offset : bucket->to;
    return chunk > bucket->chunk_from && element - before < after - element ? chunk - 1 : chunk;
}

static void cut_bucket(struct partition *partition, const struct params *params, size_t b)
{
    const struct bucket *bucket = &partition->buckets.items[b];
    const size_t all = bucket->to - bucket->from;
    struct chunk_range chunks = {bucket->chunk_from, bucket->chunk_from};
    size_t from = bucket->from;
    for (uint32_t r = 0; r < partition->size; r++) {
        const size_t end = bucket->from + all / partition->size * (r + 1);
        chunks.to = r + 1 < partition->size ? nearest(params, bucket, end) : bucket->chunk_to;
        assert(chunks.from <= chunks.to && chunks.to <= bucket->chunk_to);
        const size_t to = chunks.to < bucket->chunk_to ? params->chunks[chunks.to].offset : bucket->to;
        const size_t held_from = from / SLICE_ALIGN * SLICE_ALIGN, packed = to > from ? to - held_from : 0;
        partition->items[b * partition->size + r] = (struct slice){from, to, chunks, held_from, partition->held[r]};
        partition->counts[b * partition->size + r] = to - from;
        partition->held[r] += (packed + SLICE_ALIGN - 1) / SLICE_ALIGN * SLICE_ALIGN;
        assert(to >= from && partition->held[r] % SLICE_ALIGN == 0);
        chunks.from = chunks.to;
        from = to;
    }
    assert(from == bucket->to && chunks.from == bucket->chunk_to); /* the runs are the whole bucket */
}

void partition_init(struct partition *partition, const struct params *params, uint64_t most, bool parts, uint32_t size)
{
    *partition = (struct partition){.size = size, .held = mem_clear(size, sizeof *partition->held)};
    buckets_init(&partition->buckets, params, most, parts);
    partition->items = mem_array(partition->buckets.count * size, sizeof *partition->items);
    partition->counts = mem_array(partition->buckets.count * size, sizeof *partition->counts);
    for (size_t b = 0; b < partition->buckets.count; b++)
        cut_bucket(partition, params, b);
}

void partition_release(struct partition *partition)
{
    buckets_release(&partition->buckets);
    mem_free(partition->items);
    mem_free(partition->counts);
    mem_free(partition->held);
    *partition = (struct partition){0};
}

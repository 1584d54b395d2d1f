#include "trainer/parallel/partition.h"

#include <assert.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#define BUCKETS_MAX 256 /* approximate maximum of buckets that result from the maximum size */

/* Whether a layer has more elements than `limit`. */
static bool exceeds(const struct params *params, int32_t layer, size_t limit)
{
    const struct param *next =
        layer + 1 < params->layers ? params_layer(params, layer + 1, LAYER_QUERY_WEIGHT) : params_heads(params);
    return next->offset - params_layer(params, layer, LAYER_QUERY_WEIGHT)->offset > limit;
}

/* Whether a group begins with this tensor: whether it is the first one of the heads, of a layer, of a part of a layer
 * that exceeds `whole` elements, or of all. */
static bool begins_group(const struct params *params, const struct param *param, size_t whole)
{
    bool begins = param == params->items || param == params_heads(params);
    for (int32_t layer = 0; layer < params->layers; layer++) {
        begins |= param == params_layer(params, layer, LAYER_QUERY_WEIGHT);
        if (exceeds(params, layer, whole))
            begins |= param == params_layer(params, layer, LAYER_UP_WEIGHT) ||
                      param == params_layer(params, layer, LAYER_DOWN_WEIGHT);
    }
    return begins;
}

void buckets_init(struct buckets *buckets, const struct params *params, uint64_t most, bool parts)
{
    const size_t least = params->size / BUCKETS_MAX > PARAM_CHUNK ? params->size / BUCKETS_MAX : PARAM_CHUNK;
    const size_t asked = most > 0 ? (size_t)most : BUCKET_BYTES_MAX / sizeof(float),
                 limit = asked > least ? asked : least, whole = parts ? limit : SIZE_MAX;
    *buckets = (struct buckets){.items = mem_array(params->chunk_count, sizeof *buckets->items)};
    size_t to = params->size, chunk_to = params->chunk_count, group = 0;
    for (size_t i = params->chunk_count; i-- > 0;) {
        const struct param_chunk *chunk = &params->chunks[i];
        const bool first_of_tensor = i == 0 || params->chunks[i - 1].tensor != chunk->tensor;
        const bool full = i > 0 && to - params->chunks[i - 1].offset > limit;
        const bool begins = first_of_tensor && begins_group(params, &params->items[chunk->tensor], whole);
        if (!full && !begins)
            continue;
        assert(chunk->offset < to && i < chunk_to);
        buckets->items[buckets->count++] = (struct bucket){chunk->offset, to, i, chunk_to, group};
        group += begins;
        to = chunk->offset;
        chunk_to = i;
    }
    assert(to == 0 && chunk_to == 0); /* every element is in a bucket */
}

void buckets_release(struct buckets *buckets)
{
    mem_free(buckets->items);
    *buckets = (struct buckets){0};
}

void buckets_say_times(const struct bucket_times *buckets, size_t count)
{
    char bytes[32];
    log_say("sums       of gradients, by bucket; during the backward pass except for the time waited");
    for (size_t i = 0; i < count; i++)
        log_say("  bucket %-4zu %12s %10llu sums %10.3f s taken %10.3f s waited", i,
                format_bytes(buckets[i].bytes, bytes), (unsigned long long)buckets[i].sums, buckets[i].taken,
                buckets[i].waited);
}

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

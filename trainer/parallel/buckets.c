/* In: the table of parameters. Out: ranges of flat memory, from its end down. */
#include "trainer/parallel/buckets.h"

#include <assert.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"

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

/* In: the table of parameters. Out: ranges of flat memory, from its end down. */
#include "trainer/buckets.h"

#include "base/mem.h"

#define ELEMENTS_MAX (BUCKET_BYTES_MAX / sizeof(float))

/* Does a bucket begin with this tensor: is it the first of the heads, of a layer, or of all? */
static bool begins_group(const struct params *params, size_t tensor)
{
    const struct param *param = &params->items[tensor];
    for (int32_t layer = 0; layer < params->layers; layer++)
        if (param == params_layer(params, layer, LAYER_QUERY_WEIGHT))
            return true;
    return tensor == 0 || param == params_heads(params);
}

void buckets_init(struct buckets *buckets, const struct params *params)
{
    *buckets = (struct buckets){.items = mem_array(params->chunk_count, sizeof *buckets->items)};
    size_t to = params->size, chunk_to = params->chunk_count;
    for (size_t i = params->chunk_count; i-- > 0;) {
        const struct param_chunk *chunk = &params->chunks[i];
        const size_t tensor = (size_t)chunk->tensor;
        const bool first_of_tensor = i == 0 || params->chunks[i - 1].tensor != chunk->tensor;
        const bool full = i > 0 && to - params->chunks[i - 1].offset > ELEMENTS_MAX;
        if (!full && !(first_of_tensor && begins_group(params, tensor)))
            continue;
        buckets->items[buckets->count++] = (struct bucket){chunk->offset, to, i, chunk_to};
        to = chunk->offset;
        chunk_to = i;
    }
}

void buckets_release(struct buckets *buckets)
{
    mem_free(buckets->items);
    *buckets = (struct buckets){0};
}

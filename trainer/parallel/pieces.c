/* In: the table of parameters and a number of processes. Out: borders in every bucket, and places in packed memory. */
#include "trainer/parallel/pieces.h"

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

static void cut_bucket(struct pieces *pieces, const struct params *params, size_t b)
{
    const struct bucket *bucket = &pieces->buckets.items[b];
    const size_t all = bucket->to - bucket->from;
    struct chunk_range chunks = {bucket->chunk_from, bucket->chunk_from};
    size_t from = bucket->from;
    for (uint32_t r = 0; r < pieces->size; r++) {
        const size_t end = bucket->from + all / pieces->size * (r + 1);
        chunks.to = r + 1 < pieces->size ? nearest(params, bucket, end) : bucket->chunk_to;
        assert(chunks.from <= chunks.to && chunks.to <= bucket->chunk_to);
        const size_t to = chunks.to < bucket->chunk_to ? params->chunks[chunks.to].offset : bucket->to;
        const size_t held_from = from / PIECE_ALIGN * PIECE_ALIGN, packed = to > from ? to - held_from : 0;
        pieces->items[b * pieces->size + r] = (struct piece){from, to, chunks, held_from, pieces->held[r]};
        pieces->counts[b * pieces->size + r] = to - from;
        pieces->held[r] += (packed + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
        assert(to >= from && pieces->held[r] % PIECE_ALIGN == 0);
        chunks.from = chunks.to;
        from = to;
    }
    assert(from == bucket->to && chunks.from == bucket->chunk_to); /* the runs are the whole bucket */
}

void pieces_init(struct pieces *pieces, const struct params *params, uint64_t most, bool parts, uint32_t size)
{
    *pieces = (struct pieces){.size = size, .held = mem_clear(size, sizeof *pieces->held)};
    buckets_init(&pieces->buckets, params, most, parts);
    pieces->items = mem_array(pieces->buckets.count * size, sizeof *pieces->items);
    pieces->counts = mem_array(pieces->buckets.count * size, sizeof *pieces->counts);
    for (size_t b = 0; b < pieces->buckets.count; b++)
        cut_bucket(pieces, params, b);
}

void pieces_release(struct pieces *pieces)
{
    buckets_release(&pieces->buckets);
    mem_free(pieces->items);
    mem_free(pieces->counts);
    mem_free(pieces->held);
    *pieces = (struct pieces){0};
}

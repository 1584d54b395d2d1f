/* What the kernels of attention share: their operands, the sequence and head of a block, and the dropout of the
 * probabilities. */
#pragma once

#include "trainer/cuda/launch.cuh"
#include "trainer/cuda/tile.cuh"

#define HEAD_SIZE TILE_WIDTH
#define LOG2_E    1.4426950408889634f
#define SEES_ALL  (1 << 30)

struct attention_operands {
    void *context;   /* [R, hidden]: written forward, read backward */
    float *log_sums; /* [heads, R]: the same */
    const void *q, *kv;
    void *dq, *dkv;              /* backward */
    int32_t q_stride, kv_stride; /* numbers from row to row, in the gradients too */
    const void *dcontext;        /* backward */
    float *scratch;              /* backward (kernel_scratch_bytes) */
    const int32_t *starts, *by_length;
    const int32_t *query_starts, *positions; /* of the R rows of queries */
    const uint32_t *numbers;
    int32_t heads, query_rows; /* query_rows: R */
    int32_t longest;           /* tokens of the longest sequence */
    int32_t reach;             /* a query sees keys at most so far away; SEES_ALL without a window */
    int32_t pieces;            /* blocks per sequence and head */
    float scale;               /* of scores */
    float keep_scale;          /* of what dropout keeps; 1 without dropout */
    struct dropout dropout;
};

/* The work of a block. Blocks of the longest sequences come first. */
struct attention_work {
    int head, piece;
    int first, length;        /* rows of the sequence: keys and values */
    int first_query, queries; /* rows of its queries */
    uint32_t number, name;
};

static __device__ __forceinline__ attention_work work_of(const struct attention_operands &a)
{
    const int head = blockIdx.x % a.heads, rest = blockIdx.x / a.heads;
    const int sequence = a.by_length[rest / a.pieces], first = a.starts[sequence], query = a.query_starts[sequence];
    return {head,
            rest % a.pieces,
            first,
            a.starts[sequence + 1] - first,
            query,
            a.query_starts[sequence + 1] - query,
            a.numbers[sequence],
            a.dropout.name + (uint32_t)head};
}

/* The position of a query. One after the last counts as the last. */
static __device__ __forceinline__ int place_of(const struct attention_operands &a, const attention_work &work,
                                               int query)
{
    return a.positions[work.first_query + min(query, work.queries - 1)];
}

/* The keys that the queries [query, query + count) see: from `from`, rounded down to a multiple of `tile`, up to `end`.
 * Positions of a sequence's queries ascend, also where not all of its rows are queries. */
struct key_range {
    int from, end;
};
static __device__ __forceinline__ key_range keys_seen(const struct attention_operands &a, const attention_work &work,
                                                      int query, int count, int tile)
{
    if (a.reach == SEES_ALL)
        return {0, work.length};
    const int nearest = place_of(a, work, query) - a.reach, farthest = place_of(a, work, query + count - 1) + a.reach;
    return {max(nearest, 0) / tile * tile, min(farthest + 1, work.length)};
}

/* The first query from position `place` on: the queries that see the keys [key, end) begin with query_from(key - reach)
 * and end before query_from(end + reach). */
static __device__ __forceinline__ int query_from(const struct attention_operands &a, const attention_work &work,
                                                 int place)
{
    int low = 0, high = work.queries;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (a.positions[work.first_query + middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Bit i is set if column 8 * eight + i of a query's row is kept. A query after the last one counts as the last. */
static __device__ __forceinline__ uint32_t keep_bits(const struct attention_operands &a, const attention_work &work,
                                                     int query, int eight)
{
    uint32_t words[4], bits = 0;
    const int position = place_of(a, work, query);
    dropout_words(a.dropout, work.name, work.number, (uint32_t)position, (uint32_t)eight, words);
    const uint32_t threshold = a.dropout.threshold << 16;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        bits |= (uint32_t)(words[i] << 16 >= threshold) << (2 * i);
        bits |= (uint32_t)(words[i] >= threshold) << (2 * i + 1); /* the low half does not change the comparison */
    }
    return bits;
}

/* Parts of kernel_attention and kernel_attention_backward that are in other files. */
void attention_forward_fp32(cudaStream_t stream, struct attention_operands a, size_t sequences);
void attention_backward_fp32(cudaStream_t stream, struct attention_operands a, size_t sequences);
template <typename storage> void attention_backward(cudaStream_t stream, struct attention_operands a, size_t sequences);

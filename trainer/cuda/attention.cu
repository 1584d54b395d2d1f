/* Attention of 16-bit numbers with head size 64, forward. Q, K and V lie side by side, sequences end to end. It writes
 * the context and, for the backward pass, the logarithms of the softmax's denominators. One pass over keys with a
 * running maximum (Dao and others 2022); scores never leave registers.
 *
 *     block: 128 queries of a sequence and head       warp: 32 of them, whole rows, so a row lies in 4 lanes only
 *     keys and values: tiles of 64, one in use while the next is being loaded; with a window, only those in which
 *     one of the queries sees a key
 *
 * A warp has 32 rows rather than 16 because what it reads of K and V from shared memory then serves twice as many
 * products: with 16, shared memory (128 bytes per clock) would be the limit, not the tensor cores. Dropout: lanes 4g …
 * 4g + 3 hold rows g and g + 8, 8 columns per product, which is one call of Philox; each lane makes a quarter of the
 * calls and shares the bits.
 *
 * Limits per token and layer: 8 H bytes (H100: 3.35e12 bytes/s, so 2.4 ns for H = 1024), 4 S H FLOPs (S = 128: 0.53 ns
 * at 989e12); mma.sync reaches about 0.62 of that rate. */
#include "trainer/cuda/attention.cuh"

#define QUERIES 128
#define KEYS    64 /* of a tile */
#define THREADS 128

#define KEY_TILE      (KEYS * TILE_BYTES)
#define FORWARD_BYTES (QUERIES * TILE_BYTES + 4 * KEY_TILE)

/* The queries of a warp, in two blocks m of 16 rows; a lane has numbers of rows g (h = 0) and g + 8 (h = 1). */
struct forward_state {
    uint32_t q[2][4][4];
    float context[2][8][4];
    float most[2][2], sum[2][2]; /* of the row; of the lane's own columns */
};

static __device__ __forceinline__ float quad_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(FULL_WARP, x, 1));
    return fmaxf(x, __shfl_xor_sync(FULL_WARP, x, 2));
}

static __device__ __forceinline__ float quad_sum(float x)
{
    x += __shfl_xor_sync(FULL_WARP, x, 1);
    return x + __shfl_xor_sync(FULL_WARP, x, 2);
}

/* score = Q K^T for 32 queries and a tile of keys. */
template <typename storage>
static __device__ __forceinline__ void score_tile(float score[2][8][4], const forward_state &s, const char *keys)
{
    const int across = lane_across(threadIdx.x % WARP);
#pragma unroll
    for (int d = 0; d < 4; d++)
#pragma unroll
        for (int pair = 0; pair < 4; pair++) {
            uint32_t b[4];
            load_matrices(b, keys + tile_at(across, 16 * pair, 2 * d));
#pragma unroll
            for (int m = 0; m < 2; m++) {
                multiply_add<storage>(score[m][2 * pair], s.q[m][d], b[0], b[1]);
                multiply_add<storage>(score[m][2 * pair + 1], s.q[m][d], b[2], b[3]);
            }
        }
}

/* Makes the scores of keys that a query does not see -infinity: those from `end` on, and with a window those more than
 * `reach` from its place. */
template <bool windowed>
static __device__ __forceinline__ void hide_keys(float score[2][8][4], int key, int end, const int places[2][2],
                                                 int reach)
{
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int i = 0; i < 64; i++) {
        const int at = key + i / 4 % 8 * 8 + lane % 4 * 2 + i % 2;
        if (at >= end || (windowed && abs(at - places[i / 32][i % 4 / 2]) > reach))
            score[i / 32][i / 4 % 8][i % 4] = -INFINITY;
    }
}

/* Turns scores into exponentials relative to the new maximum, and rescales what was summed relative to the old one.
 * With a window a row may have seen no key yet: its maximum is -infinity, and its sums are zero. */
template <bool windowed>
static __device__ __forceinline__ void soften(float score[2][8][4], forward_state &s, float scale)
{
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float most = s.most[m][h];
#pragma unroll
            for (int n = 0; n < 8; n++)
                most = fmaxf(most, fmaxf(score[m][n][2 * h], score[m][n][2 * h + 1]));
            most = quad_max(most);
            const float top = windowed && most == -INFINITY ? 0 : most;
            const float shrink = power_of_two((s.most[m][h] - top) * scale), base = top * scale;
            float sum = 0;
#pragma unroll
            for (int n = 0; n < 8; n++)
#pragma unroll
                for (int i = 2 * h; i < 2 * h + 2; i++) {
                    score[m][n][i] = power_of_two(score[m][n][i] * scale - base);
                    sum += score[m][n][i];
                    s.context[m][n][i] *= shrink;
                }
            s.most[m][h] = most;
            s.sum[m][h] = s.sum[m][h] * shrink + sum;
        }
}

/* Drops probabilities. Byte 2 e + h of a lane's word: columns 8 (2c + e) … + 7 of row g + 8 h. */
static __device__ __forceinline__ void drop_tile(float p[2][8][4], const attention_operands &a,
                                                 const attention_work &work, int query, int key)
{
    const int lane = threadIdx.x % WARP, g = lane / 4, c = lane % 4;
#pragma unroll
    for (int m = 0; m < 2; m++) {
        uint32_t mine = 0;
#pragma unroll
        for (int i = 0; i < 4; i++)
            mine |= keep_bits(a, work, query + 16 * m + g + i % 2 * 8, key / 8 + 2 * c + i / 2) << (8 * i);
#pragma unroll
        for (int from = 0; from < 4; from++) {
            const uint32_t bits = __shfl_sync(FULL_WARP, mine, (lane & ~3) | from) >> (2 * c);
#pragma unroll
            for (int i = 0; i < 8; i++) { /* e = i / 4, h = i / 2 mod 2 */
                float *x = &p[m][2 * from + i / 4][i % 4];
                *x = bits >> (8 * (i / 2) + i % 2) & 1 ? *x : 0;
            }
        }
    }
}

/* context += P V. */
template <typename storage>
static __device__ __forceinline__ void add_values(forward_state &s, const float p[2][8][4], const char *values)
{
    const int down = lane_down(threadIdx.x % WARP);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        uint32_t rows[2][4];
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                rows[m][i] = pair_of<storage>(p[m][2 * k + i / 2][i % 2 * 2], p[m][2 * k + i / 2][i % 2 * 2 + 1]);
#pragma unroll
        for (int pair = 0; pair < 4; pair++) {
            uint32_t b[4];
            load_matrices_across(b, values + tile_at(down, 16 * k, 2 * pair));
#pragma unroll
            for (int m = 0; m < 2; m++) {
                multiply_add<storage>(s.context[m][2 * pair], rows[m], b[0], b[1]);
                multiply_add<storage>(s.context[m][2 * pair + 1], rows[m], b[2], b[3]);
            }
        }
    }
}

template <typename storage>
static __device__ __forceinline__ void finish(const attention_operands &a, const attention_work &work,
                                              const forward_state &s, int query)
{
    const int lane = threadIdx.x % WARP, g = lane / 4;
    const size_t hidden = (size_t)a.heads * HEAD_SIZE, first = (size_t)work.first_query + query;
    float *log_sums = a.log_sums + (size_t)work.head * a.query_rows + first;
#pragma unroll
    for (int m = 0; m < 2; m++) {
        const int live = work.queries - query - 16 * m;
        float scale[2];
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const float sum = quad_sum(s.sum[m][h]);
            scale[h] = a.keep_scale / sum;
            if (lane % 4 == 0 && g + 8 * h < live)
                log_sums[16 * m + g + 8 * h] = s.most[m][h] * a.scale + logf(sum);
        }
        store_sums((storage *)a.context + (first + 16 * m) * hidden + work.head * HEAD_SIZE, hidden, live, s.context[m],
                   scale);
    }
}

template <typename storage>
static __device__ __forceinline__ void load_keys(char *keys, const attention_operands &a, const attention_work &work,
                                                 int key)
{
    const size_t stride = a.kv_stride, hidden = (size_t)a.heads * HEAD_SIZE;
    const storage *k = (const storage *)a.kv + (size_t)(work.first + key) * stride + work.head * HEAD_SIZE;
    load_tile<KEYS, THREADS>(keys, k, stride, work.length - key);
    load_tile<KEYS, THREADS>(keys + 2 * KEY_TILE, k + hidden, stride, work.length - key);
}

template <typename storage, bool drops, bool windowed>
static __global__ void __launch_bounds__(THREADS, 2) attention_forward(const attention_operands a)
{
    const attention_work work = work_of(a);
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int block_query = work.piece * QUERIES, query = block_query + warp * 32;
    if (block_query >= work.queries)
        return;
    const size_t stride = a.q_stride;
    const storage *q = (const storage *)a.q + (size_t)(work.first_query + block_query) * stride + work.head * HEAD_SIZE;
    char *queries = shared_memory(), *keys = queries + QUERIES * TILE_BYTES, *values = keys + 2 * KEY_TILE;
    /* What the block reads, and what of it the warp needs. */
    key_range all = {0, work.length}, own = all;
    int places[2][2] = {};
    if (windowed) {
        all = keys_seen(a, work, block_query, QUERIES, KEYS);
        own = keys_seen(a, work, query, 32, KEYS);
#pragma unroll
        for (int i = 0; i < 4; i++)
            places[i / 2][i % 2] = place_of(a, work, query + lane / 4 + 8 * i);
    }
    forward_state s;
#pragma unroll
    for (int m = 0; m < 2; m++) {
        s.most[m][0] = s.most[m][1] = -INFINITY;
        s.sum[m][0] = s.sum[m][1] = 0;
#pragma unroll
        for (int n = 0; n < 8; n++)
            s.context[m][n][0] = s.context[m][n][1] = s.context[m][n][2] = s.context[m][n][3] = 0;
    }

    load_tile<QUERIES, THREADS>(queries, q, stride, work.queries - block_query);
    load_keys<storage>(keys, a, work, all.from);
    for (int key = all.from, stage = 0; key < all.end; key += KEYS, stage ^= 1) {
        copies_landed();
        __syncthreads(); /* this tile is complete, and no warp reads the other one any more */
        if (key + KEYS < all.end)
            load_keys<storage>(keys + (stage ^ 1) * KEY_TILE, a, work, key + KEYS);
        if (query >= work.queries)
            continue;
        if (key == all.from)
#pragma unroll
            for (int m = 0; m < 2; m++)
#pragma unroll
                for (int d = 0; d < 4; d++)
                    load_matrices(s.q[m][d], queries + tile_at(lane_down(lane), warp * 32 + 16 * m, 2 * d));
        if (windowed && (key < own.from || key >= own.end))
            continue;
        float score[2][8][4] = {};
        score_tile<storage>(score, s, keys + stage * KEY_TILE);
        if (windowed || key + KEYS > all.end)
            hide_keys<windowed>(score, key, work.length, places, a.reach);
        soften<windowed>(score, s, a.scale * LOG2_E);
        if (drops)
            drop_tile(score, a, work, query, key);
        add_values<storage>(s, score, values + stage * KEY_TILE);
    }
    if (query < work.queries)
        finish<storage>(a, work, s, query);
}

template <typename storage> static void forward(cudaStream_t stream, attention_operands a, size_t sequences)
{
    a.pieces = (a.longest + QUERIES - 1) / QUERIES;
    const auto all =
        a.dropout.threshold ? attention_forward<storage, true, false> : attention_forward<storage, false, false>;
    const auto windowed =
        a.dropout.threshold ? attention_forward<storage, true, true> : attention_forward<storage, false, true>;
    launch(a.reach == SEES_ALL ? all : windowed, sequences * a.heads * a.pieces, THREADS, FORWARD_BYTES, stream, a);
}

static attention_operands operands_of(const batch *batch, const struct batch *queries, const attention_shape *shape)
{
    attention_operands a = {};
    a.starts = batch->starts;
    a.by_length = cuda_batch_of(batch)->by_length;
    a.query_starts = queries->starts;
    a.positions = queries->positions;
    a.numbers = batch->numbers;
    a.heads = shape->heads;
    a.query_rows = queries->token_rows;
    a.longest = cuda_batch_of(batch)->longest;
    a.reach = shape->window > 0 && shape->window / 2 < a.longest ? shape->window / 2 : SEES_ALL;
    a.scale = 1 / sqrtf((float)HEAD_SIZE);
    a.dropout = shape->dropout;
    a.keep_scale = shape->dropout.threshold ? dropout_scale(shape->dropout) : 1;
    return a;
}

static size_t storage_bytes(enum precision precision)
{
    return precision == PRECISION_FP32 ? sizeof(float) : sizeof(__half);
}

/* Zeroes the dead rows of a matrix; sizes in bytes. */
static void clear_dead(cudaStream_t stream, void *rows, size_t stride, size_t width, const batch *batch)
{
    const size_t live = batch->tokens, dead = batch->token_rows - live;
    if (dead > 0)
        cudaMemset2DAsync((char *)rows + live * stride, stride, 0, width, dead, stream);
}

void kernel_attention(cudaStream_t stream, enum precision precision, const struct attention_args *args)
{
    const batch *queries = args->queries;
    attention_operands a = operands_of(args->batch, queries, args->shape);
    a.context = args->context;
    a.log_sums = (float *)args->log_sums;
    a.q = args->q;
    a.kv = args->kv;
    a.q_stride = args->q_stride;
    a.kv_stride = args->kv_stride;
    const size_t row = (size_t)a.heads * HEAD_SIZE * storage_bytes(precision), sequences = args->batch->sequences;
    if (precision == PRECISION_FP32)
        attention_forward_fp32(stream, a, sequences);
    else if (precision == PRECISION_BF16)
        forward<__nv_bfloat16>(stream, a, sequences);
    else
        forward<__half>(stream, a, sequences);
    clear_dead(stream, args->context, row, row, queries);
    const size_t live = queries->tokens, dead = a.query_rows - live;
    if (dead > 0)
        cudaMemset2DAsync((float *)args->log_sums + live, a.query_rows * sizeof(float), 0, dead * sizeof(float),
                          a.heads, stream);
}

void kernel_attention_backward(cudaStream_t stream, enum precision precision,
                               const struct attention_backward_args *args)
{
    attention_operands a = operands_of(args->batch, args->queries, args->shape);
    a.context = (void *)args->context;
    a.log_sums = (float *)args->log_sums;
    a.q = args->q;
    a.kv = args->kv;
    a.dq = args->dq;
    a.dkv = args->dkv;
    a.q_stride = args->q_stride;
    a.kv_stride = args->kv_stride;
    a.dcontext = args->dcontext;
    a.scratch = (float *)args->scratch;
    const size_t size = storage_bytes(precision), row = (size_t)a.heads * HEAD_SIZE * size;
    const size_t sequences = args->batch->sequences;
    if (precision == PRECISION_FP32)
        attention_backward_fp32(stream, a, sequences);
    else if (precision == PRECISION_BF16)
        attention_backward<__nv_bfloat16>(stream, a, sequences);
    else
        attention_backward<__half>(stream, a, sequences);
    clear_dead(stream, args->dq, a.q_stride * size, row, args->queries);
    clear_dead(stream, args->dkv, a.kv_stride * size, 2 * row, args->batch);
}

/* Attention in fp32 with head size 64, for parity: plain products and sums, no tensor cores. Input and output are those
 * of attention.cu and attention_backward.cu, whose formulas it shares. Two lanes share a row: lane t has the numbers
 * 4 (2i + t mod 2) … + 3, so that a product of two rows is 32 multiplications and one exchange, and both lanes' loads
 * from a row that all read at once are in different banks. Rows of the other side are read through shared memory, in
 * tiles of 32.
 *
 * The backward pass has two kernels: one keeps queries and walks over keys (dQ, and delta into scratch), the other
 * keeps keys and walks over queries. */
#include "trainer/cuda/attention.cuh"

#define ROWS    64 /* of a block */
#define TILE    32 /* rows of the other side that are read at a time */
#define THREADS 128
#define OWN     (HEAD_SIZE / 2) /* numbers of a lane */

struct own_row {
    float x[OWN];
};

/* The lane's half of a row in global or shared memory; zeros where there is no row. */
static __device__ __forceinline__ own_row half_of(const float *row, bool live)
{
    own_row half;
#pragma unroll
    for (int i = 0; i < OWN / 4; i++) {
        const float4 four =
            live ? reinterpret_cast<const float4 *>(row)[2 * i + threadIdx.x % 2] : make_float4(0, 0, 0, 0);
        half.x[4 * i] = four.x;
        half.x[4 * i + 1] = four.y;
        half.x[4 * i + 2] = four.z;
        half.x[4 * i + 3] = four.w;
    }
    return half;
}

static __device__ __forceinline__ void put_half(float *row, const own_row &half, float scale)
{
#pragma unroll
    for (int i = 0; i < OWN / 4; i++)
        reinterpret_cast<float4 *>(row)[2 * i + threadIdx.x % 2] = make_float4(
            half.x[4 * i] * scale, half.x[4 * i + 1] * scale, half.x[4 * i + 2] * scale, half.x[4 * i + 3] * scale);
}

static __device__ __forceinline__ float product(const own_row &a, const own_row &b)
{
    float sum = 0;
#pragma unroll
    for (int i = 0; i < OWN; i++)
        sum += a.x[i] * b.x[i];
    return sum + __shfl_xor_sync(FULL_WARP, sum, 1);
}

static __device__ __forceinline__ void add(own_row &sum, const own_row &x, float times)
{
#pragma unroll
    for (int i = 0; i < OWN; i++)
        sum.x[i] += times * x.x[i];
}

/* Loads TILE rows of 64 numbers into shared memory; rows from `live` on become zero. */
static __device__ __forceinline__ void load_rows(float *tile, const float *from, size_t stride, int live)
{
    for (int i = threadIdx.x; i < TILE * HEAD_SIZE / 4; i += THREADS) {
        const int row = i / (HEAD_SIZE / 4), four = i % (HEAD_SIZE / 4);
        reinterpret_cast<float4 *>(tile)[i] =
            row < live ? reinterpret_cast<const float4 *>(from + row * stride)[four] : make_float4(0, 0, 0, 0);
    }
}

/* The keys that a query sees: [from, end). */
static __device__ __forceinline__ key_range own_range(const attention_operands &a, const attention_work &work,
                                                      int query)
{
    return keys_seen(a, work, query, 1, 1);
}

static __device__ __forceinline__ bool is_seen(const key_range &range, int key)
{
    return key >= range.from && key < range.end;
}

/* Dropout bits of a query and the 32 keys from `key` on; two lanes share the query, and each makes half of the bits. */
static __device__ __forceinline__ uint32_t keep_keys(const attention_operands &a, const attention_work &work, int query,
                                                     int key)
{
    const int half = threadIdx.x % 2, eight = key / 8 + 2 * half;
    const uint32_t mine = keep_bits(a, work, query, eight) | keep_bits(a, work, query, eight + 1) << 8;
    return mine << (16 * half) | __shfl_xor_sync(FULL_WARP, mine, 1) << (16 - 16 * half);
}

static __global__ void __launch_bounds__(THREADS) forward_kernel(const attention_operands a)
{
    __shared__ float4 keys_room[TILE * HEAD_SIZE / 4], values_room[TILE * HEAD_SIZE / 4];
    float *keys = (float *)keys_room, *values = (float *)values_room;
    const attention_work work = work_of(a);
    const int query = work.piece * ROWS + threadIdx.x / 2;
    if (work.piece * ROWS >= work.queries)
        return;
    const size_t hidden = (size_t)a.heads * HEAD_SIZE, head = (size_t)work.head * HEAD_SIZE;
    const size_t row = (size_t)work.first_query + query, stride = a.kv_stride;
    const float *k = (const float *)a.kv + (size_t)work.first * stride + head;
    const own_row own = half_of((const float *)a.q + row * a.q_stride + head, query < work.queries);
    const key_range seen = keys_seen(a, work, work.piece * ROWS, ROWS, TILE), own_keys = own_range(a, work, query);
    own_row context = {};
    float most = -INFINITY, sum = 0;
    /* Scores are not stored: when a larger one comes, the sums so far are scaled down to it. Threads of queries that do
     * not exist help to load and reach every barrier, so they leave only after the loop. With a window a query may see
     * no key of the first tiles: the maximum stays -infinity. */
    for (int key = seen.from; key < seen.end; key += TILE) {
        __syncthreads();
        load_rows(keys, k + key * stride, stride, work.length - key);
        load_rows(values, k + hidden + key * stride, stride, work.length - key);
        __syncthreads();
        float score[TILE], new_most = most;
#pragma unroll
        for (int i = 0; i < TILE; i++) {
            score[i] = product(own, half_of(keys + i * HEAD_SIZE, true)) * a.scale;
            score[i] = is_seen(own_keys, key + i) ? score[i] : -INFINITY;
            new_most = fmaxf(new_most, score[i]);
        }
        const float top = new_most == -INFINITY ? 0 : new_most, shrink = expf(most - top);
        const uint32_t bits = a.dropout.threshold ? keep_keys(a, work, query, key) : ~0u;
        most = new_most;
        sum *= shrink;
#pragma unroll
        for (int i = 0; i < OWN; i++)
            context.x[i] *= shrink;
#pragma unroll
        for (int i = 0; i < TILE; i++) {
            const float p = expf(score[i] - top);
            sum += p;
            add(context, half_of(values + i * HEAD_SIZE, true), bits >> i & 1 ? p : 0);
        }
    }
    if (query >= work.queries)
        return;
    put_half((float *)a.context + row * hidden + head, context, a.keep_scale / sum);
    if (threadIdx.x % 2 == 0)
        a.log_sums[(size_t)work.head * a.query_rows + row] = most + logf(sum);
}

static __global__ void __launch_bounds__(THREADS) queries_kernel(const attention_operands a)
{
    __shared__ float4 keys_room[TILE * HEAD_SIZE / 4], values_room[TILE * HEAD_SIZE / 4];
    float *keys = (float *)keys_room, *values = (float *)values_room;
    const attention_work work = work_of(a);
    const int query = work.piece * ROWS + threadIdx.x / 2;
    if (work.piece * ROWS >= work.queries)
        return;
    const bool live = query < work.queries;
    const size_t hidden = (size_t)a.heads * HEAD_SIZE, head = (size_t)work.head * HEAD_SIZE;
    const size_t row = (size_t)work.first_query + query, sums_row = (size_t)work.head * a.query_rows + row;
    const size_t stride = a.kv_stride;
    const float *k_rows = (const float *)a.kv + (size_t)work.first * stride + head;
    const own_row own = half_of((const float *)a.q + row * a.q_stride + head, live);
    const own_row dcontext_row = half_of((const float *)a.dcontext + row * hidden + head, live);
    const float delta = product(dcontext_row, half_of((const float *)a.context + row * hidden + head, live));
    const float log_sum = live ? a.log_sums[sums_row] : INFINITY;
    const key_range seen = keys_seen(a, work, work.piece * ROWS, ROWS, TILE), own_keys = own_range(a, work, query);
    own_row dquery = {};
    for (int key = seen.from; key < seen.end; key += TILE) {
        __syncthreads();
        load_rows(keys, k_rows + key * stride, stride, work.length - key);
        load_rows(values, k_rows + hidden + key * stride, stride, work.length - key);
        __syncthreads();
        const uint32_t bits = a.dropout.threshold ? keep_keys(a, work, query, key) : ~0u;
#pragma unroll 4
        for (int i = 0; i < TILE; i++) {
            const own_row k = half_of(keys + i * HEAD_SIZE, true);
            const float score = product(own, k) * a.scale - log_sum; /* in all lanes: it exchanges */
            const float p = is_seen(own_keys, key + i) ? expf(score) : 0;
            const float dp = product(dcontext_row, half_of(values + i * HEAD_SIZE, true)) * a.keep_scale;
            add(dquery, k, p * ((bits >> i & 1 ? dp : 0) - delta));
        }
    }
    if (!live)
        return;
    put_half((float *)a.dq + row * a.q_stride + head, dquery, a.scale);
    if (threadIdx.x % 2 == 0)
        a.scratch[sums_row] = delta;
}

static __global__ void __launch_bounds__(THREADS) keys_kernel(const attention_operands a)
{
    __shared__ float4 queries_room[TILE * HEAD_SIZE / 4], dcontext_room[TILE * HEAD_SIZE / 4];
    float *queries = (float *)queries_room, *dcontext_tile = (float *)dcontext_room;
    const attention_work work = work_of(a);
    const int lane = threadIdx.x % WARP, key = work.piece * ROWS + threadIdx.x / 2;
    if (work.piece * ROWS >= work.length)
        return;
    const bool live = key < work.length;
    const size_t hidden = (size_t)a.heads * HEAD_SIZE, head = (size_t)work.head * HEAD_SIZE;
    const size_t kv_at = (size_t)(work.first + key) * a.kv_stride + head, stride = a.q_stride;
    const size_t sums_first = (size_t)work.head * a.query_rows + work.first_query;
    const float *q = (const float *)a.q + (size_t)work.first_query * stride + head;
    const float *dcontext = (const float *)a.dcontext + (size_t)work.first_query * hidden + head;
    const own_row k = half_of((const float *)a.kv + kv_at, live);
    const own_row v = half_of((const float *)a.kv + kv_at + hidden, live);
    const int first = work.piece * ROWS;
    const int from = a.reach == SEES_ALL ? 0 : query_from(a, work, first - a.reach) / TILE * TILE;
    const int end = a.reach == SEES_ALL ? work.queries : query_from(a, work, first + ROWS + a.reach);
    own_row dkey = {}, dvalue = {};
    for (int query = from; query < end; query += TILE) {
        __syncthreads();
        load_rows(queries, q + query * stride, stride, work.queries - query);
        load_rows(dcontext_tile, dcontext + query * hidden, hidden, work.queries - query);
        __syncthreads();
        uint32_t mine = 0; /* byte b: query 16 b + lane mod 16, the warp's keys 8 (lane / 16) … + 7 */
        if (a.dropout.threshold)
            for (int i = 0; i < 2; i++)
                mine |= keep_bits(a, work, query + 16 * i + lane % 16, (key - lane / 2) / 8 + lane / 16) << (8 * i);
#pragma unroll 2
        for (int i = 0; i < TILE; i++) {
            const uint32_t bits = __shfl_sync(FULL_WARP, mine, (lane & 16) | i % 16);
            const bool keeps = !a.dropout.threshold || (bits >> (i / 16 * 8 + lane / 2 % 8) & 1);
            const bool there = query + i < work.queries && abs(place_of(a, work, query + i) - key) <= a.reach;
            const float log_sum = there ? a.log_sums[sums_first + query + i] : INFINITY;
            const float delta = there ? a.scratch[sums_first + query + i] : 0;
            const own_row query_row = half_of(queries + i * HEAD_SIZE, true);
            const own_row dcontext_row = half_of(dcontext_tile + i * HEAD_SIZE, true);
            const float p = expf(product(query_row, k) * a.scale - log_sum);
            const float dp = product(dcontext_row, v) * a.keep_scale;
            add(dvalue, dcontext_row, keeps ? p : 0);
            add(dkey, query_row, p * ((keeps ? dp : 0) - delta));
        }
    }
    if (!live)
        return;
    float *dk = (float *)a.dkv + kv_at;
    put_half(dk, dkey, a.scale);
    put_half(dk + hidden, dvalue, a.keep_scale);
}

void attention_forward_fp32(cudaStream_t stream, struct attention_operands a, size_t sequences)
{
    a.pieces = (a.longest + ROWS - 1) / ROWS;
    launch(forward_kernel, sequences * a.heads * a.pieces, THREADS, 0, stream, a);
}

void attention_backward_fp32(cudaStream_t stream, struct attention_operands a, size_t sequences)
{
    a.pieces = (a.longest + ROWS - 1) / ROWS;
    launch(queries_kernel, sequences * a.heads * a.pieces, THREADS, 0, stream, a);
    launch(keys_kernel, sequences * a.heads * a.pieces, THREADS, 0, stream, a);
}

/* Attention of 16-bit numbers with head size 64, backward: dQ, dK, dV from the gradient of the context. Probabilities
 * are recomputed from the saved log-sums:
 *
 *     P = exp(scale Q K^T - log_sum)     dS = P (dP keep - delta), dP = dO V^T, delta = rowsum(dO O)
 *     dV = (P keep)^T dO                 dK = scale dS^T Q                       dQ = scale dS K
 *
 * A block has one sequence and head: for each tile of 128 keys it walks over all queries, 64 at a time. Everything is
 * computed transposed, keys by queries: a warp owns 32 keys, so P^T in its registers is already the left operand of dV,
 * which like dK stays in registers until the tile is done. Only dQ is a sum over warps: for it dS^T goes through shared
 * memory, where the warp also finds it as the left operand of dK. Over tiles of keys dQ is added up in scratch, each
 * number by the one thread that owns it: no atomics, one order. A sequence of up to 128 tokens has one tile and needs
 * no scratch. With a window a tile of keys meets only the tiles of queries that see one of its keys.
 *
 * Dropout: a lane makes the 32 bits of its warp's keys for one query; the lanes that use that query get the bits from
 * it.
 *
 * Limits per token and layer: 16 H bytes (H = 1024 on an H100: 4.9 ns), 10 S H FLOPs (S = 128: 1.3 ns at 989e12, 2.1 ns
 * at mma.sync's rate). Shared memory moves 76 KB per warp for every 1.3e6 FLOPs, which takes about as long as the
 * tensor cores. */
#include "trainer/cuda/attention.cuh"
#include "trainer/cuda/scratch.h"

#define QUERIES 64             /* of a tile */
#define KEYS    ATTENTION_KEYS /* of a tile: 128, 32 per warp */
#define CHUNK_Q 32             /* queries whose scores are in registers at once */
#define THREADS 128

#define QUERY_TILE (QUERIES * TILE_BYTES)
#define KEY_TILE   (KEYS * TILE_BYTES)

/* Shared memory of a block. */
struct backward_room {
    char *keys, *values;
    char *queries, *dcontext; /* two tiles each, Q and dO */
    char *dscores;            /* dS^T, one row per key */
    float *log_sums;          /* of the queries, in units of ln 2; infinite after the last one, so that P is 0 there */
    float *deltas;
    int *nearest; /* with a window, the place of the first key that each query would see; may be negative */
};

static __host__ __device__ __forceinline__ int padded_length(int length)
{
    return (length + QUERIES - 1) / QUERIES * QUERIES;
}

static __device__ __forceinline__ backward_room room_of(int length)
{
    char *memory = shared_memory();
    backward_room room;
    room.keys = memory;
    room.values = room.keys + KEY_TILE;
    room.queries = room.values + KEY_TILE;
    room.dcontext = room.queries + 2 * QUERY_TILE;
    room.dscores = room.dcontext + 2 * QUERY_TILE;
    room.log_sums = (float *)(room.dscores + KEY_TILE);
    room.deltas = room.log_sums + padded_length(length);
    room.nearest = (int *)(room.deltas + padded_length(length));
    return room;
}

static size_t room_bytes(int longest, bool windowed)
{
    return 3 * KEY_TILE + 4 * QUERY_TILE + (windowed ? 3 : 2) * padded_length(longest) * sizeof(float);
}

/* Where the head's rows begin, for the sequence and for its queries. */
template <typename storage> struct backward_rows {
    const storage *q, *kv;
    storage *dq, *dkv;
    const storage *context, *dcontext;
    size_t hidden, q_stride, kv_stride;
};

template <typename storage>
static __device__ __forceinline__ backward_rows<storage> rows_of(const attention_operands &a,
                                                                 const attention_work &work)
{
    const size_t hidden = (size_t)a.heads * HEAD_SIZE, head = (size_t)work.head * HEAD_SIZE;
    const size_t q = (size_t)work.first_query * a.q_stride + head, kv = (size_t)work.first * a.kv_stride + head;
    const size_t context = (size_t)work.first_query * hidden + head;
    return {(const storage *)a.q + q,
            (const storage *)a.kv + kv,
            (storage *)a.dq + q,
            (storage *)a.dkv + kv,
            (const storage *)a.context + context,
            (const storage *)a.dcontext + context,
            hidden,
            (size_t)a.q_stride,
            (size_t)a.kv_stride};
}

/* Log-sums and deltas of all queries, with a window where it begins too. 8 lanes share a row and load 8 rows at a time,
 * so that they wait for their loads once: a sequence of up to 128 tokens is one round. */
template <typename storage, bool windowed>
static __device__ __forceinline__ void prepare(const backward_room &room, const backward_rows<storage> &rows,
                                               const attention_operands &a, const attention_work &work)
{
    const float *log_sums = a.log_sums + (size_t)work.head * a.query_rows + work.first_query;
    const int chunk = threadIdx.x % 8, apart = THREADS / 8;
    for (int first = threadIdx.x / 8; first < padded_length(work.queries); first += 8 * apart) {
        const int own = first + chunk * apart; /* of the 8 rows, the one that this lane stores */
        const float log_sum = own < work.queries ? log_sums[own] * LOG2_E : INFINITY;
        vector<storage> x[8] = {}, dx[8] = {};
        float delta = 0;
#pragma unroll
        for (int k = 0; k < 8; k++)
            if (first + k * apart < work.queries) {
                const size_t at = (size_t)(first + k * apart) * rows.hidden + chunk * CHUNK;
                x[k] = load_vector(rows.context + at);
                dx[k] = load_vector(rows.dcontext + at);
            }
#pragma unroll
        for (int k = 0; k < 8; k++) {
            float sum = 0;
#pragma unroll
            for (int i = 0; i < CHUNK; i++)
                sum += load(x[k].items[i]) * load(dx[k].items[i]);
            sum += __shfl_xor_sync(FULL_WARP, sum, 1);
            sum += __shfl_xor_sync(FULL_WARP, sum, 2);
            sum += __shfl_xor_sync(FULL_WARP, sum, 4);
            delta = k == chunk ? sum : delta;
        }
        if (own < padded_length(work.queries)) {
            room.log_sums[own] = log_sum;
            room.deltas[own] = delta;
            if (windowed)
                room.nearest[own] = place_of(a, work, own) - a.reach;
        }
    }
}

template <typename storage>
static __device__ __forceinline__ void load_queries(const backward_room &room, int stage,
                                                    const backward_rows<storage> &rows, int query, int queries)
{
    load_tile<QUERIES, THREADS>(room.queries + stage * QUERY_TILE, rows.q + (size_t)query * rows.q_stride,
                                rows.q_stride, queries - query);
    load_tile<QUERIES, THREADS>(room.dcontext + stage * QUERY_TILE, rows.dcontext + (size_t)query * rows.hidden,
                                rows.hidden, queries - query);
}

/* Loads a tile of keys and of values, and the first of its tiles of queries. */
template <typename storage>
static __device__ __forceinline__ void load_keys(const backward_room &room, const backward_rows<storage> &rows,
                                                 const attention_work &work, int key, int query)
{
    const storage *keys = rows.kv + (size_t)key * rows.kv_stride;
    load_tile<KEYS, THREADS>(room.keys, keys, rows.kv_stride, work.length - key);
    load_tile<KEYS, THREADS>(room.values, keys + rows.hidden, rows.kv_stride, work.length - key);
    load_queries(room, 0, rows, query, work.queries);
}

/* x = L R^T for the warp's 32 rows of L (keys or values) and 32 rows of R (queries or dO). */
template <typename storage>
static __device__ __forceinline__ void multiply_rows(float x[2][4][4], const char *left, const char *right)
{
    const int down = lane_down(threadIdx.x % WARP), across = lane_across(threadIdx.x % WARP);
#pragma unroll
    for (int d = 0; d < 4; d++) {
        uint32_t l[2][4];
#pragma unroll
        for (int m = 0; m < 2; m++)
            load_matrices(l[m], left + tile_at(down, 16 * m, 2 * d));
#pragma unroll
        for (int pair = 0; pair < 2; pair++) {
            uint32_t r[4];
            load_matrices(r, right + tile_at(across, 16 * pair, 2 * d));
#pragma unroll
            for (int m = 0; m < 2; m++) {
                multiply_add<storage>(x[m][2 * pair], l[m], r[0], r[1]);
                multiply_add<storage>(x[m][2 * pair + 1], l[m], r[2], r[3]);
            }
        }
    }
}

/* sums += x R for the warp's 32 keys, 16 queries and 64 columns. x: the left operands of the two halves of the keys; R
 * begins at row `from` of `right`. */
template <typename storage>
static __device__ __forceinline__ void add_part(float sums[2][8][4], const uint32_t x[2][4], const char *right,
                                                int from)
{
    const int down = lane_down(threadIdx.x % WARP);
#pragma unroll
    for (int pair = 0; pair < 4; pair++) {
        uint32_t r[4];
        load_matrices_across(r, right + tile_at(down, from, 2 * pair));
#pragma unroll
        for (int m = 0; m < 2; m++) {
            multiply_add<storage>(sums[m][2 * pair], x[m], r[0], r[1]);
            multiply_add<storage>(sums[m][2 * pair + 1], x[m], r[2], r[3]);
        }
    }
}

/* The same for 32 queries; x is rounded, as words[m][n][h]. */
template <typename storage>
static __device__ __forceinline__ void add_product(float sums[2][8][4], const uint32_t words[2][4][2],
                                                   const char *right)
{
#pragma unroll
    for (int k = 0; k < 2; k++) {
        const uint32_t x[2][4] = {
            {words[0][2 * k][0], words[0][2 * k][1], words[0][2 * k + 1][0], words[0][2 * k + 1][1]},
            {words[1][2 * k][0], words[1][2 * k][1], words[1][2 * k + 1][0], words[1][2 * k + 1][1]}};
        add_part<storage>(sums, x, right, 16 * k);
    }
}

/* The same with x in shared memory, the warp's rows of keys, from column 8 * chunk on. In registers until then, x would
 * leave too few for the rest: nvcc spilled 44 bytes with a window, 20 without. */
template <typename storage>
static __device__ __forceinline__ void add_stored(float sums[2][8][4], const char *x, int chunk, const char *right)
{
    const int down = lane_down(threadIdx.x % WARP);
#pragma unroll
    for (int k = 0; k < 2; k++) {
        uint32_t l[2][4];
#pragma unroll
        for (int m = 0; m < 2; m++)
            load_matrices(l[m], x + tile_at(down, 16 * m, chunk + 2 * k));
        add_part<storage>(sums, l, right, 16 * k);
    }
}

/* For the warp's 32 keys and 32 queries from `query` on: dV += and dK += (both unscaled), and dS^T goes to shared
 * memory. `first` is the place of the queries in their tile. */
template <typename storage, bool drops, bool windowed>
static __device__ __forceinline__ void
backward_chunk(float dkeys[2][8][4], float dvalues[2][8][4], const backward_room &room, int stage, int first,
               const attention_operands &a, const attention_work &work, int query, int key)
{
    const int lane = threadIdx.x % WARP, g = lane / 4, c = lane % 4, own = threadIdx.x / WARP * 32;
    const char *queries = room.queries + stage * QUERY_TILE + first * TILE_BYTES;
    const char *dcontext = room.dcontext + stage * QUERY_TILE + first * TILE_BYTES;
    uint32_t mine = 0; /* bit k: query + lane keeps the warp's key k */
    if (drops)
#pragma unroll
        for (int i = 0; i < 4; i++)
            mine |= keep_bits(a, work, query + lane, key / 8 + i) << (8 * i);

    float p[2][4][4] = {}, dp[2][4][4] = {};
    multiply_rows<storage>(p, room.keys + own * TILE_BYTES, queries);
    multiply_rows<storage>(dp, room.values + own * TILE_BYTES, dcontext);
    const bool whole = key + 32 <= work.length;
    uint32_t kept_words[2][4][2];
#pragma unroll
    for (int n = 0; n < 4; n++) {
        const int column = 8 * n + 2 * c;
        const float2 log_sum = *reinterpret_cast<const float2 *>(room.log_sums + query + column);
        const float2 delta = *reinterpret_cast<const float2 *>(room.deltas + query + column);
        int2 nearest = {};
        if (windowed)
            nearest = *reinterpret_cast<const int2 *>(room.nearest + query + column);
        uint32_t bits[2];
#pragma unroll
        for (int i = 0; i < 2 && drops; i++)
            bits[i] = __shfl_sync(FULL_WARP, mine, column + i) >> g;
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                float kept[2], dscore[2];
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    float x = power_of_two(p[m][n][2 * h + i] * (a.scale * LOG2_E) - (i ? log_sum.y : log_sum.x));
                    const int at = key + 16 * m + 8 * h + g;
                    x = whole || at < work.length ? x : 0;
                    x = !windowed || (uint32_t)(at - (i ? nearest.y : nearest.x)) <= 2 * (uint32_t)a.reach ? x : 0;
                    const bool keeps = !drops || (bits[i] >> (16 * m + 8 * h) & 1);
                    kept[i] = keeps ? x : 0;
                    dscore[i] = x * ((keeps ? dp[m][n][2 * h + i] * a.keep_scale : 0) - (i ? delta.y : delta.x));
                }
                kept_words[m][n][h] = pair_of<storage>(kept[0], kept[1]);
                *reinterpret_cast<uint32_t *>(room.dscores + tile_place(own + 16 * m + 8 * h + g, first / CHUNK + n) +
                                              4 * c) = pair_of<storage>(dscore[0], dscore[1]);
            }
    }
    add_product<storage>(dvalues, kept_words, dcontext);
    __syncwarp(); /* its lanes have written dS */
    add_stored<storage>(dkeys, room.dscores + own * TILE_BYTES, first / CHUNK, queries);
}

/* Adds dQ of the warp's 16 queries from one tile of keys to what earlier tiles left; the last tile stores it. Parts of
 * dS that no warp has written, of keys after the sequence's end, are not read, or meet no query that exists. */
template <typename storage, bool windowed>
static __device__ __forceinline__ void add_queries(const backward_room &room, const backward_rows<storage> &rows,
                                                   const attention_operands &a, const attention_work &work, int query,
                                                   int key)
{
    const int lane = threadIdx.x % WARP, g = lane / 4, c = lane % 4, warp = threadIdx.x / WARP;
    const int own = query + 16 * warp, live = work.queries - own;
    if (live <= 0)
        return;
    key_range seen = {0, work.length};
    if (windowed)
        seen = keys_seen(a, work, query, QUERIES, KEYS);
    const bool begins = key == seen.from, ends = key + KEYS >= seen.end;
    float sums[8][4] = {};
#pragma unroll
    for (int k = 0; k < KEYS / 16; k++) {
        if (key + 16 * k >= work.length)
            break;
        uint32_t l[4];
        load_matrices_across(l, room.dscores + tile_at(lane_across(lane), 16 * k, 2 * warp));
#pragma unroll
        for (int pair = 0; pair < 4; pair++) {
            uint32_t r[4];
            load_matrices_across(r, room.keys + tile_at(lane_down(lane), 16 * k, 2 * pair));
            multiply_add<storage>(sums[2 * pair], l, r[0], r[1]);
            multiply_add<storage>(sums[2 * pair + 1], l, r[2], r[3]);
        }
    }
    if (!(begins && ends)) { /* a sequence of one tile needs no memory for sums */
        float *at = a.scratch + ((size_t)work.head * a.query_rows + work.first_query + own) * HEAD_SIZE;
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int n = 0; n < 8; n++)
                if (g + 8 * h < live) {
                    float2 *kept = reinterpret_cast<float2 *>(at + (g + 8 * h) * HEAD_SIZE + 8 * n + 2 * c);
                    float2 sum = make_float2(sums[n][2 * h], sums[n][2 * h + 1]);
                    if (!begins) {
                        const float2 before = *kept;
                        sum = make_float2(before.x + sum.x, before.y + sum.y);
                    }
                    if (!ends)
                        *kept = sum;
                    sums[n][2 * h] = sum.x;
                    sums[n][2 * h + 1] = sum.y;
                }
    }
    const float scale[2] = {a.scale, a.scale};
    if (ends)
        store_sums(rows.dq + (size_t)own * rows.q_stride, rows.q_stride, live, sums, scale);
}

/* Stores dK and dV of the warp's 32 keys from `own` on. */
template <typename storage>
static __device__ __forceinline__ void store_keys(const backward_rows<storage> &rows, const attention_operands &a,
                                                  int length, int own, const float dkeys[2][8][4],
                                                  const float dvalues[2][8][4])
{
    storage *dk = rows.dkv + (size_t)own * rows.kv_stride;
#pragma unroll
    for (int m = 0; m < 2; m++) {
        const int live = length - own - 16 * m;
        const float scale[2] = {a.scale, a.scale}, keep_scale[2] = {a.keep_scale, a.keep_scale};
        store_sums(dk + (size_t)(16 * m) * rows.kv_stride, rows.kv_stride, live, dkeys[m], scale);
        store_sums(dk + (size_t)(16 * m) * rows.kv_stride + rows.hidden, rows.kv_stride, live, dvalues[m], keep_scale);
    }
}

/* The tiles of queries of which one sees one of the keys [key, key + KEYS); none if from is end. */
struct query_range {
    int from, end;
};
static __device__ __forceinline__ query_range queries_of(const attention_operands &a, const attention_work &work,
                                                         int key)
{
    const int from = query_from(a, work, key - a.reach), end = query_from(a, work, key + KEYS + a.reach);
    return {from < end ? from / QUERIES * QUERIES : end, end};
}

template <typename storage, bool drops, bool windowed>
static __global__ void __launch_bounds__(THREADS, 2) attention_backward_kernel(const attention_operands a)
{
    const attention_work work = work_of(a);
    const backward_room room = room_of(work.length);
    const backward_rows<storage> rows = rows_of<storage>(a, work);
    const int own = threadIdx.x / WARP * 32;
    query_range all = {0, work.queries};
    if (windowed)
        all = queries_of(a, work, 0);
    if (work.queries > 0) {
        if (all.from < all.end)
            load_keys(room, rows, work, 0, all.from);
        prepare<storage, windowed>(room, rows, a, work);
    }
    for (int key = 0; key < work.length; key += KEYS) {
        float dkeys[2][8][4] = {}, dvalues[2][8][4] = {};
        if (key > 0 && work.queries > 0) {
            if (windowed)
                all = queries_of(a, work, key);
            __syncthreads(); /* the previous tiles are no longer read */
            if (all.from < all.end)
                load_keys(room, rows, work, key, all.from);
        }
        for (int query = all.from, stage = 0; query < all.end; query += QUERIES, stage ^= 1) {
            copies_landed();
            __syncthreads(); /* this tile is complete; the other one and dS are no longer read */
            if (query + QUERIES < all.end)
                load_queries(room, stage ^ 1, rows, query + QUERIES, work.queries);
            if (key + own < work.length)
#pragma unroll 1
                for (int first = 0; first < QUERIES && query + first < work.queries; first += CHUNK_Q)
                    backward_chunk<storage, drops, windowed>(dkeys, dvalues, room, stage, first, a, work, query + first,
                                                             key + own);
            __syncthreads();
            add_queries<storage, windowed>(room, rows, a, work, query, key);
        }
        store_keys(rows, a, work.length, key + own, dkeys, dvalues);
    }
}

template <typename storage> void attention_backward(cudaStream_t stream, struct attention_operands a, size_t sequences)
{
    const bool windowed = a.reach != SEES_ALL;
    const auto all = a.dropout.threshold ? attention_backward_kernel<storage, true, false>
                                         : attention_backward_kernel<storage, false, false>;
    const auto nearest = a.dropout.threshold ? attention_backward_kernel<storage, true, true>
                                             : attention_backward_kernel<storage, false, true>;
    a.pieces = 1;
    launch(windowed ? nearest : all, sequences * a.heads, THREADS, room_bytes(a.longest, windowed), stream, a);
}

template void attention_backward<__nv_bfloat16>(cudaStream_t stream, struct attention_operands a, size_t sequences);
template void attention_backward<__half>(cudaStream_t stream, struct attention_operands a, size_t sequences);

/* Embedding rows, and the gradients of their tables (+=, in real). The batch has its live rows also ordered by id.
 *
 * Forward, a warp has a row: it moves 2 H bytes per token, and 6 H more of tables that stay in the cache. Models of
 * rotary positions have neither a table of positions nor one of segments.
 *
 * Backward (2 x 2 H bytes per token, and 8 H for each id that occurs): words are summed along the order by id, in
 * chunks of 64 places. An id that lies within one chunk is added to its table row at once; where it crosses a border,
 * each chunk leaves its part in scratch, and the chunk where the id begins adds the parts up. Positions are summed over
 * sequences and, from the same loads, the two segments. No two blocks add to one place, and every sum has a fixed
 * tree. */
#include "trainer/cuda/pack.cuh"
#include "trainer/cuda/partials.cuh"
#include "trainer/cuda/scratch.h"

#define ROW_WARPS 8   /* rows of a block, forward */
#define THREADS   128 /* packs of a row per block, backward */
#define AHEAD     8   /* loads in flight per thread */
#define GROUPS    4   /* of THREADS in a block of positions_kernel: each takes every fourth sequence */

template <typename storage, int width>
static __global__ void __launch_bounds__(ROW_WARPS *WARP)
    embed_kernel(storage *y, const storage *word, const storage *position, const storage *type, struct batch batch,
                 int hidden)
{
    const int row = blockIdx.x * ROW_WARPS + threadIdx.x / WARP;
    if (row >= batch.token_rows)
        return;
    const bool live = row < batch.tokens;
    if (live) {
        word += (size_t)batch.ids[row] * hidden;
        if (position) {
            position += (size_t)batch.positions[row] * hidden;
            type += (size_t)batch.segments[row] * hidden;
        }
    }
    for (int column = threadIdx.x % WARP * width; column < hidden; column += WARP * width) {
        pack<storage, width> sum = {};
        if (live)
            sum = load_pack<storage, width>(word + column);
        if (live && position) {
            const pack<storage, width> p = load_pack<storage, width>(position + column);
            const pack<storage, width> t = load_pack<storage, width>(type + column);
#pragma unroll
            for (int i = 0; i < width; i++)
                sum.x[i] += p.x[i] + t.x[i];
        }
        store_pack(y + (size_t)row * hidden + column, sum);
    }
}

template <typename storage> struct words_args {
    float *dword;
    float *parts; /* [chunks][2][hidden]: of the ids that cross the chunk's begin and end */
    const storage *dy;
    const int32_t *ids, *order, *runs;
    int tokens, run_count, hidden;
    int slices; /* of the columns: blocks per chunk */
};

template <int width> static __device__ __forceinline__ void add_floats(float *to, const float more[width])
{
    float sum[width];
    load_floats<width>(sum, to);
#pragma unroll
    for (int i = 0; i < width; i++)
        sum[i] += more[i];
    store_floats<width>(to, sum);
}

template <typename storage, int width>
static __global__ void __launch_bounds__(THREADS) words_kernel(const words_args<storage> a)
{
    __shared__ int rows[EMBED_ROWS], ids[EMBED_ROWS];
    const int chunk = blockIdx.x / a.slices, column = (blockIdx.x % a.slices * THREADS + threadIdx.x) * width;
    const int first = chunk * EMBED_ROWS, count = min(EMBED_ROWS, a.tokens - first);
    for (int i = threadIdx.x; i < count; i += THREADS) {
        rows[i] = a.order[first + i];
        ids[i] = a.ids[rows[i]];
    }
    __syncthreads();
    if (column >= a.hidden)
        return;
    const int before = first > 0 ? a.ids[a.order[first - 1]] : -1;
    const int after = first + count < a.tokens ? a.ids[a.order[first + count]] : -1;
    /* An id that continues in a neighbouring chunk is also another block's, so this block's sum goes to `parts`. All
     * other rows are this block's alone. So every sum has one order, and no atomics are needed. */
    float *parts = a.parts + (size_t)chunk * 2 * a.hidden + column;
    float sum[width] = {};
    for (int i = 0; i < count; i += AHEAD) {
        pack<storage, width> next[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (i + k < count)
                next[k] = load_pack<storage, width>(a.dy + (size_t)rows[i + k] * a.hidden + column);
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (i + k < count) {
                const int id = ids[i + k];
#pragma unroll
                for (int n = 0; n < width; n++)
                    sum[n] += next[k].x[n];
                if (i + k + 1 < count && ids[i + k + 1] == id)
                    continue;
                if (id == before)
                    store_floats<width>(parts, sum);
                else if (i + k + 1 == count && id == after)
                    store_floats<width>(parts + a.hidden, sum);
                else
                    add_floats<width>(a.dword + (size_t)id * a.hidden + column, sum);
#pragma unroll
                for (int n = 0; n < width; n++)
                    sum[n] = 0;
            }
    }
}

/* The end of the run of `order` that contains `place`: the first begin of a run after it. */
static __device__ __forceinline__ int run_end(const int32_t *runs, int run_count, int place)
{
    int low = 1, high = run_count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (runs[middle] > place)
            high = middle;
        else
            low = middle + 1;
    }
    return runs[low];
}

/* Adds up the parts of an id that begins in this chunk and continues after it. */
template <typename storage, int width>
static __global__ void __launch_bounds__(THREADS) words_parts_kernel(const words_args<storage> a)
{
    const int chunk = blockIdx.x / a.slices, column = (blockIdx.x % a.slices * THREADS + threadIdx.x) * width;
    const int first = chunk * EMBED_ROWS, end = first + EMBED_ROWS;
    if (end >= a.tokens || column >= a.hidden)
        return;
    const int id = a.ids[a.order[end - 1]];
    if (a.ids[a.order[end]] != id || (first > 0 && a.ids[a.order[first - 1]] == id))
        return;
    const int last = (run_end(a.runs, a.run_count, end) - 1) / EMBED_ROWS; /* chunk of the run's last place */
    float sum[width];
    load_floats<width>(sum, a.parts + ((size_t)chunk * 2 + 1) * a.hidden + column);
#pragma unroll 4
    for (int i = chunk + 1; i <= last; i++) {
        float part[width];
        load_floats<width>(part, a.parts + (size_t)i * 2 * a.hidden + column);
#pragma unroll
        for (int n = 0; n < width; n++)
            sum[n] += part[n];
    }
    add_floats<width>(a.dword + (size_t)id * a.hidden + column, sum);
}

/* dposition [place] += sum over sequences; parts [place][2][hidden] = the same sum of each segment. */
template <typename storage, int width>
static __global__ void __launch_bounds__(THREADS *GROUPS)
    positions_kernel(float *dposition, float *parts, const storage *dy, struct batch batch, int hidden, int slices)
{
    __shared__ float room[GROUPS][2][width][THREADS];
    const int place = blockIdx.x / slices, thread = threadIdx.x % THREADS, group = threadIdx.x / THREADS;
    const int column = (blockIdx.x % slices * THREADS + thread) * width;
    float sums[2][width] = {};
    if (column < hidden)
#pragma unroll 4
        for (int sequence = group; sequence < batch.sequences; sequence += GROUPS) {
            const int row = batch.starts[sequence] + place;
            if (row >= batch.starts[sequence + 1])
                continue;
            const pack<storage, width> p = load_pack<storage, width>(dy + (size_t)row * hidden + column);
            const bool second = batch.segments[row] != 0;
#pragma unroll
            for (int n = 0; n < width; n++) {
                sums[0][n] += second ? 0 : p.x[n];
                sums[1][n] += second ? p.x[n] : 0;
            }
        }
#pragma unroll
    for (int n = 0; n < 2 * width; n++)
        room[group][n / width][n % width][thread] = sums[n / width][n % width];
    __syncthreads();
    if (group > 0 || column >= hidden)
        return;
    float both[width];
#pragma unroll
    for (int n = 0; n < width; n++) {
#pragma unroll
        for (int s = 0; s < 2; s++)
            sums[s][n] =
                (room[0][s][n][thread] + room[1][s][n][thread]) + (room[2][s][n][thread] + room[3][s][n][thread]);
        both[n] = sums[0][n] + sums[1][n];
    }
    add_floats<width>(dposition + (size_t)place * hidden + column, both);
    store_floats<width>(parts + (size_t)place * 2 * hidden + column, sums[0]);
    store_floats<width>(parts + ((size_t)place * 2 + 1) * hidden + column, sums[1]);
}

template <typename storage> static void embed_of(cudaStream_t stream, const struct embed_args &a)
{
    launch(vectors_serve<storage>(a.hidden) ? embed_kernel<storage, vector<storage>::count> : embed_kernel<storage, 1>,
           blocks_for(a.batch->token_rows, ROW_WARPS), ROW_WARPS * WARP, 0, stream, (storage *)a.y,
           (const storage *)a.word, (const storage *)a.position, (const storage *)a.type, *a.batch, a.hidden);
}

STORAGE_KERNEL(embed)

template <typename storage, int width>
static void embed_backward_by(cudaStream_t stream, const struct embed_backward_args &a)
{
    const struct cuda_batch *batch = cuda_batch_of(a.batch);
    const struct batch &b = *a.batch;
    const int hidden = a.hidden;
    const storage *dy = (const storage *)a.dy;
    float *dtype = (float *)a.dtype, *scratch = (float *)a.scratch;
    const size_t slices = blocks_for(hidden, THREADS * width), chunks = blocks_for(b.tokens, EMBED_ROWS);
    const words_args<storage> words = {(float *)a.dword, scratch,     dy,       b.ids,
                                       batch->order,     batch->runs, b.tokens, batch->run_count,
                                       hidden,           (int)slices};
    launch(words_kernel<storage, width>, chunks * slices, THREADS, 0, stream, words);
    launch(words_parts_kernel<storage, width>, chunks * slices, THREADS, 0, stream, words);
    if (!a.dposition) /* nor token types (ops_args.h) */
        return;
    launch(positions_kernel<storage, width>, batch->longest * slices, THREADS * GROUPS, 0, stream, (float *)a.dposition,
           scratch, dy, b, hidden, (int)slices);
    for (int segment = 0; segment < 2; segment++)
        add_partials(stream, dtype + segment * hidden, scratch + segment * hidden, batch->longest, 2 * (size_t)hidden,
                     hidden);
}

template <typename storage> static void embed_backward_of(cudaStream_t stream, const struct embed_backward_args &a)
{
    if (vectors_serve<storage>(a.hidden))
        embed_backward_by<storage, vector<storage>::count>(stream, a);
    else
        embed_backward_by<storage, 1>(stream, a);
}

STORAGE_KERNEL(embed_backward)

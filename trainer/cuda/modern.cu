/* What ModernBERT's layers and heads need beside BERT's: gated units, rotary positions, means of sequences. All of it
 * is limited by memory bandwidth. Bytes of 16-bit numbers: a gated unit 6 per number of its output (its backward pass
 * 10), rotation 4 per number of queries and keys, a mean 2 per number of its sequence (its backward pass 4). */
#include "trainer/cuda/functions.cuh"
#include "trainer/cuda/pack.cuh"

#define THREADS   256
#define WARPS     (THREADS / WARP)
#define MEAN_ROWS 64 /* rows of a sequence that a block adds to */

/* y = act(u) g for packs of a row, where x is [u | g]; `packs` of y in all, `packs_row` in a row. */
template <typename storage, int width>
static __global__ void __launch_bounds__(THREADS)
    glu_kernel(storage *y, const storage *x, size_t live, size_t packs, int packs_row, enum gelu kind)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= packs)
        return;
    pack<storage, width> p = {};
    if (i < live) {
        const storage *u = x + (i / packs_row * 2 * packs_row + i % packs_row) * width;
        p = load_pack<storage, width>(u);
        const pack<storage, width> gate = load_pack<storage, width>(u + (size_t)packs_row * width);
#pragma unroll
        for (int n = 0; n < width; n++)
            p.x[n] = activation_of(p.x[n], kind) * gate.x[n];
    }
    store_pack(y + i * width, p);
}

template <typename storage, int width>
static __global__ void __launch_bounds__(THREADS)
    glu_backward_kernel(storage *dx, const storage *dy, const storage *x, size_t live, size_t packs, int packs_row,
                        enum gelu kind)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= packs)
        return;
    const size_t at = (i / packs_row * 2 * packs_row + i % packs_row) * width, apart = (size_t)packs_row * width;
    pack<storage, width> du = {}, dgate = {};
    if (i < live) {
        const pack<storage, width> d = load_pack<storage, width>(dy + i * width);
        const pack<storage, width> u = load_pack<storage, width>(x + at);
        const pack<storage, width> gate = load_pack<storage, width>(x + at + apart);
#pragma unroll
        for (int n = 0; n < width; n++) {
            du.x[n] = d.x[n] * gate.x[n] * activation_slope(u.x[n], kind);
            dgate.x[n] = d.x[n] * activation_of(u.x[n], kind);
        }
    }
    store_pack(dx + at, du);
    store_pack(dx + at + apart, dgate);
}

template <typename storage> static void glu_of(cudaStream_t stream, const struct glu_args &a)
{
    const int width = vectors_serve<storage>(a.columns) ? vector<storage>::count : 1, packs_row = a.columns / width;
    const size_t live = (size_t)a.rows.live * packs_row, packs = (size_t)a.rows.total * packs_row;
    launch(width > 1 ? glu_kernel<storage, vector<storage>::count> : glu_kernel<storage, 1>, blocks_for(packs, THREADS),
           THREADS, 0, stream, (storage *)a.y, (const storage *)a.x, live, packs, packs_row, a.gelu);
}

template <typename storage> static void glu_backward_of(cudaStream_t stream, const struct glu_backward_args &a)
{
    const int width = vectors_serve<storage>(a.columns) ? vector<storage>::count : 1, packs_row = a.columns / width;
    const size_t live = (size_t)a.rows.live * packs_row, packs = (size_t)a.rows.total * packs_row;
    launch(width > 1 ? glu_backward_kernel<storage, vector<storage>::count> : glu_backward_kernel<storage, 1>,
           blocks_for(packs, THREADS), THREADS, 0, stream, (storage *)a.dx, (const storage *)a.dy, (const storage *)a.x,
           live, packs, packs_row, a.gelu);
}

STORAGE_KERNEL(glu)
STORAGE_KERNEL(glu_backward)

/* A thread turns `width` pairs of a row and head; `packs` of them are half a head. */
template <typename storage, int width>
static __global__ void __launch_bounds__(THREADS)
    rotate_kernel(storage *x, int stride, const float *turns, const int32_t *positions, size_t count, int heads,
                  int packs, float back)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= count)
        return;
    const int column = (int)(i % packs) * width, half = packs * width, head = (int)(i / packs % heads);
    const size_t row = i / packs / heads;
    storage *low = x + row * stride + (size_t)head * 2 * half + column, *high = low + half;
    const float *turn = turns + (size_t)positions[row] * 2 * half + 2 * column;
    pack<storage, width> p = load_pack<storage, width>(low), q = load_pack<storage, width>(high);
    float pairs[2 * width];
    if constexpr (width == 1) {
        pairs[0] = turn[0];
        pairs[1] = turn[1];
    } else {
        load_floats<2 * width>(pairs, turn);
    }
#pragma unroll
    for (int n = 0; n < width; n++) {
        const float c = pairs[2 * n], s = back * pairs[2 * n + 1], before = p.x[n];
        p.x[n] = before * c - q.x[n] * s;
        q.x[n] = q.x[n] * c + before * s;
    }
    store_pack(low, p);
    store_pack(high, q);
}

template <typename storage> static void rotate_of(cudaStream_t stream, const struct rotate_args &a)
{
    const int half = a.head_size / 2, count = vector<storage>::count;
    const bool fast = half % count == 0 && a.stride % count == 0 && is_aligned(a.x) && is_aligned(a.turns);
    const int packs = fast ? half / count : half;
    const size_t all = (size_t)a.batch->tokens * a.heads * packs;
    launch(fast ? rotate_kernel<storage, count> : rotate_kernel<storage, 1>, blocks_for(all, THREADS), THREADS, 0,
           stream, (storage *)a.x, a.stride, (const float *)a.turns, a.batch->positions, all, a.heads, packs,
           a.back ? -1.0f : 1.0f);
}

STORAGE_KERNEL(rotate)

/* A thread adds up a pack of columns over the rows of a sequence, in order, in doubles as the CPU does. */
template <typename storage, int width>
static __global__ void __launch_bounds__(THREADS)
    sequence_mean_kernel(storage *y, const storage *x, const struct batch batch, const int32_t *index, int live,
                         size_t packs, int packs_row)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= packs)
        return;
    const int row = (int)(i / packs_row), column = (int)(i % packs_row) * width;
    pack<storage, width> mean = {};
    if (row < live) {
        const int sequence = batch.sequence_of[index[row]];
        const int first = batch.starts[sequence], end = batch.starts[sequence + 1];
        double sums[width] = {};
#pragma unroll 4
        for (int r = first; r < end; r++) {
            const pack<storage, width> p =
                load_pack<storage, width>(x + ((size_t)r * packs_row * width + (size_t)column));
#pragma unroll
            for (int n = 0; n < width; n++)
                sums[n] += (double)p.x[n];
        }
#pragma unroll
        for (int n = 0; n < width; n++)
            mean.x[n] = (float)(sums[n] / (end - first));
    }
    store_pack(y + i * width, mean);
}

/* A block adds to MEAN_ROWS rows of a sequence, a warp a row. */
template <typename storage, int width>
static __global__ void __launch_bounds__(THREADS)
    sequence_mean_backward_kernel(storage *dx, const storage *dy, const struct batch batch, const int32_t *index,
                                  int hidden, int pieces)
{
    const int own = blockIdx.x / pieces, sequence = batch.sequence_of[index[own]];
    const int first = batch.starts[sequence], end = batch.starts[sequence + 1];
    const int from = first + blockIdx.x % pieces * MEAN_ROWS, to = min(from + MEAN_ROWS, end);
    const float length = (float)(end - first);
    for (int row = from + (int)threadIdx.x / WARP; row < to; row += WARPS)
        for (int column = threadIdx.x % WARP * width; column < hidden; column += WARP * width) {
            storage *at = dx + (size_t)row * hidden + column;
            pack<storage, width> sum = load_pack<storage, width>(at);
            const pack<storage, width> d = load_pack<storage, width>(dy + (size_t)own * hidden + column);
#pragma unroll
            for (int n = 0; n < width; n++)
                sum.x[n] += d.x[n] / length;
            store_pack(at, sum);
        }
}

template <typename storage> static void sequence_mean_of(cudaStream_t stream, const struct sequence_mean_args &a)
{
    const int width = vectors_serve<storage>(a.hidden) ? vector<storage>::count : 1, packs_row = a.hidden / width;
    const size_t packs = (size_t)a.rows.total * packs_row;
    launch(width > 1 ? sequence_mean_kernel<storage, vector<storage>::count> : sequence_mean_kernel<storage, 1>,
           blocks_for(packs, THREADS), THREADS, 0, stream, (storage *)a.y, (const storage *)a.x, *a.batch, a.index,
           a.rows.live, packs, packs_row);
}

template <typename storage>
static void sequence_mean_backward_of(cudaStream_t stream, const struct sequence_mean_backward_args &a)
{
    const int pieces = (int)blocks_for(cuda_batch_of(a.batch)->longest, MEAN_ROWS);
    launch(vectors_serve<storage>(a.hidden) ? sequence_mean_backward_kernel<storage, vector<storage>::count>
                                            : sequence_mean_backward_kernel<storage, 1>,
           (size_t)a.rows.live * pieces, THREADS, 0, stream, (storage *)a.dx, (const storage *)a.dy, *a.batch, a.index,
           a.hidden, pieces);
}

STORAGE_KERNEL(sequence_mean)
STORAGE_KERNEL(sequence_mean_backward)

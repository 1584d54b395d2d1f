/* What an optimizer does to a whole matrix besides products: the formulas and places of cpu/matrix.h. A block has a
 * chunk of at most 16,384 numbers. Where the matrix is transposed, neighbours are a column apart in storage: that is
 * one of six matrices of a layer, and little beside its products.
 *
 * Bytes per parameter, in 16 bits: momentum 12, direction 10, shift 10; combine 6 per number. */
#include "trainer/cuda/pack.cuh"

#define THREADS 256

struct momentum_numbers {
    update_memory memory;
    update_work work;
    update_matrix matrix;
    float beta, share;
    bool ahead;
};

static momentum_numbers numbers_of(const struct momentum_args *a)
{
    return {*a->memory, *a->work, *a->matrix, (float)a->beta, (float)(1 - a->beta), a->ahead};
}

static __device__ __forceinline__ float ahead_of(const momentum_numbers &n, float m, float g)
{
    return n.ahead ? n.beta * m + n.share * g : m;
}

static __global__ void __launch_bounds__(THREADS) momentum_kernel(const momentum_numbers n)
{
    __shared__ double room[WARP];
    if (n.work.record->skipped)
        return;
    const size_t index = n.matrix.chunks.from + blockIdx.x;
    const param_chunk chunk = n.work.chunks[index];
    const float *gradients = (const float *)n.memory.gradients + (chunk.offset - n.memory.gradients_from);
    const float factor = (float)n.work.factors[chunk.tensor];
    float *m = (float *)n.memory.first + (chunk.offset - n.memory.held_from);
    double uu = 0;
    for (int i = threadIdx.x; i < chunk.count; i += THREADS) {
        const float g = gradients[i] * factor;
        m[i] = n.beta * m[i] + n.share * g;
        const float u = ahead_of(n, m[i], g);
        uu += (double)u * (double)u;
    }
    uu = block_sum(uu, room);
    if (threadIdx.x == 0)
        n.work.sums[3 * index] = uu;
}

void kernel_momentum(cudaStream_t stream, const struct momentum_args *args)
{
    const struct chunk_range chunks = args->matrix->chunks;
    launch(momentum_kernel, chunks.to - chunks.from, THREADS, 0, stream, numbers_of(args));
}

/* Where the numbers of this block's chunk are in the wide matrix. Only one division is of 64 bits: the others are of
 * numbers below a chunk's length plus a row. */
struct chunk_place {
    size_t first, row; /* the chunk's first number in the matrix, and its row */
    unsigned column, rows, columns;

    __device__ __forceinline__ size_t of(int i) const
    {
        const unsigned along = column + (unsigned)i;
        return rows <= columns ? first + i : (size_t)(along % columns) * rows + row + along / columns;
    }
};

static __device__ __forceinline__ chunk_place place_of(const update_matrix &matrix)
{
    const size_t first = (size_t)blockIdx.x * PARAM_CHUNK;
    const unsigned rows = (unsigned)matrix.rows, columns = (unsigned)matrix.columns;
    return {first, first / columns, (unsigned)(first % columns), rows, columns};
}

/* Every block adds up the sums of all chunks, in the same order: they are few, one per chunk. */
template <typename storage>
static __global__ void __launch_bounds__(THREADS) direction_kernel(const momentum_numbers n, double epsilon, storage *x)
{
    __shared__ double room[WARP];
    const chunk_range chunks = n.matrix.chunks;
    double squares = 0;
    for (size_t i = chunks.from + threadIdx.x; i < chunks.to; i += THREADS)
        squares += n.work.sums[3 * i];
    const float scale = (float)(1 / fmax(sqrt(block_sum(squares, room)), epsilon));
    const param_chunk chunk = n.work.chunks[chunks.from + blockIdx.x];
    const float *gradients = (const float *)n.memory.gradients + (chunk.offset - n.memory.gradients_from);
    const float *m = (const float *)n.memory.first + (chunk.offset - n.memory.held_from);
    const float factor = (float)n.work.factors[chunk.tensor];
    const chunk_place place = place_of(n.matrix);
    for (int i = threadIdx.x; i < chunk.count; i += THREADS)
        x[place.of(i)] = store<storage>(scale * ahead_of(n, m[i], gradients[i] * factor));
}

template <typename storage> static void direction_of(cudaStream_t stream, const struct direction_args &a)
{
    const struct chunk_range chunks = a.momentum.matrix->chunks;
    launch(direction_kernel<storage>, chunks.to - chunks.from, THREADS, 0, stream, numbers_of(&a.momentum), a.epsilon,
           (storage *)a.x);
}

STORAGE_KERNEL(direction)

template <typename storage, int width>
static __global__ void __launch_bounds__(THREADS)
    combine_kernel(storage *y, const storage *x, size_t packs, float a, float b)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= packs)
        return;
    pack<storage, width> sum = load_pack<storage, width>(y + i * width);
    const pack<storage, width> other = load_pack<storage, width>(x + i * width);
#pragma unroll
    for (int k = 0; k < width; k++)
        sum.x[k] = a * other.x[k] + b * sum.x[k];
    store_pack(y + i * width, sum);
}

template <typename storage> static void combine_of(cudaStream_t stream, const struct combine_args &a)
{
    const int width = vector<storage>::count;
    if (a.count % width == 0 && is_aligned(a.y) && is_aligned(a.x))
        launch(combine_kernel<storage, width>, blocks_for(a.count / width, THREADS), THREADS, 0, stream, (storage *)a.y,
               (const storage *)a.x, a.count / width, (float)a.a, (float)a.b);
    else
        launch(combine_kernel<storage, 1>, blocks_for(a.count, THREADS), THREADS, 0, stream, (storage *)a.y,
               (const storage *)a.x, a.count, (float)a.a, (float)a.b);
}

STORAGE_KERNEL(combine)

template <typename storage>
static __global__ void __launch_bounds__(THREADS)
    shift_kernel(const update_memory memory, const update_work work, const update_matrix matrix, const storage *x,
                 float keep, float scale)
{
    if (work.record->skipped)
        return;
    const param_chunk chunk = work.chunks[matrix.chunks.from + blockIdx.x];
    const chunk_place place = place_of(matrix);
    float *p = (float *)memory.params + chunk.offset;
    for (int i = threadIdx.x; i < chunk.count; i += THREADS)
        p[i] = keep * p[i] - scale * load(x[place.of(i)]);
}

template <typename storage> static void shift_of(cudaStream_t stream, const struct shift_args &a)
{
    launch(shift_kernel<storage>, a.matrix->chunks.to - a.matrix->chunks.from, THREADS, 0, stream, *a.memory, *a.work,
           *a.matrix, (const storage *)a.x, (float)a.keep, (float)a.scale);
}

STORAGE_KERNEL(shift)

/* Work on whole rows and on flat numbers that needs little mathematics: picking and adding rows, biases and their
 * gradients, tanh, GELU, conversion to storage. All of it is limited by memory bandwidth. Bytes: gather 4 H per row,
 * scatter 6 H, conversion 6 per number, GELU 4 (its backward pass 6), column sums 2. */
#include "trainer/cuda/functions.cuh"
#include "trainer/cuda/pack.cuh"
#include "trainer/cuda/partials.cuh"
#include "trainer/cuda/scratch.h"

#define THREADS 256
#define WARPS   (THREADS / WARP)

/* Functions of y and x, whose result a kernel stores in y. */
struct tanh_of {
    __device__ float operator()(float y, float) const
    {
        return tanhf(y);
    }
};
struct tanh_slope {
    __device__ float operator()(float dy, float y) const
    {
        return dy * (1 - y * y);
    }
};

struct gelu_of {
    __device__ float operator()(float, float x) const
    {
        return gelu_tanh(x);
    }
};
struct gelu_erf_of {
    __device__ float operator()(float, float x) const
    {
        return gelu_erf(x);
    }
};
struct gelu_slope {
    __device__ float operator()(float dy, float x) const
    {
        return dy * gelu_tanh_slope(x);
    }
};
struct gelu_erf_slope_of {
    __device__ float operator()(float dy, float x) const
    {
        return dy * gelu_erf_slope(x);
    }
};

/* y = function(y, x) in the first `live` numbers, 0 after them; `clears`, if not NULL, becomes 0 there too. */
template <typename storage, int width, typename function>
static __global__ void __launch_bounds__(THREADS)
    each_kernel(storage *y, const storage *x, size_t live, size_t total, storage *clears)
{
    const size_t at = ((size_t)blockIdx.x * THREADS + threadIdx.x) * width;
    if (at >= total)
        return;
    pack<storage, width> a = {};
    if (at < live) {
        a = load_pack<storage, width>(y + at);
        const pack<storage, width> b = load_pack<storage, width>(x + at);
#pragma unroll
        for (int i = 0; i < width; i++)
            a.x[i] = function()(a.x[i], b.x[i]);
    } else if (clears) {
        store_pack(clears + at, a);
    }
    store_pack(y + at, a);
}

template <typename storage, typename function>
static void each(cudaStream_t stream, void *y, const void *x, struct rows rows, int columns, void *clears)
{
    const int count = vector<storage>::count;
    const size_t live = (size_t)rows.live * columns, total = (size_t)rows.total * columns;
    if (live % count == 0 && total % count == 0)
        launch(each_kernel<storage, count, function>, blocks_for(total / count, THREADS), THREADS, 0, stream,
               (storage *)y, (const storage *)x, live, total, (storage *)clears);
    else
        launch(each_kernel<storage, 1, function>, blocks_for(total, THREADS), THREADS, 0, stream, (storage *)y,
               (const storage *)x, live, total, (storage *)clears);
}

template <typename function>
static void each_number(cudaStream_t stream, enum precision precision, void *y, const void *x, struct rows rows,
                        int columns, void *clears)
{
    if (precision == PRECISION_FP32)
        each<float, function>(stream, y, x, rows, columns, clears);
    else if (precision == PRECISION_BF16)
        each<__nv_bfloat16, function>(stream, y, x, rows, columns, clears);
    else
        each<__half, function>(stream, y, x, rows, columns, clears);
}

void kernel_tanh_rows(cudaStream_t stream, enum precision precision, const struct tanh_rows_args *args)
{
    each_number<tanh_of>(stream, precision, args->x, args->x, args->rows, args->columns, NULL);
}

void kernel_tanh_backward(cudaStream_t stream, enum precision precision, const struct tanh_backward_args *args)
{
    each_number<tanh_slope>(stream, precision, args->dy, args->y, args->rows, args->columns, NULL);
}

void kernel_gelu(cudaStream_t stream, enum precision precision, void *y, void *pre, struct rows rows, int32_t columns,
                 enum gelu gelu)
{
    if (gelu == GELU_TANH)
        each_number<gelu_of>(stream, precision, y, pre, rows, columns, pre);
    else
        each_number<gelu_erf_of>(stream, precision, y, pre, rows, columns, pre);
}

void kernel_gelu_backward(cudaStream_t stream, enum precision precision, const struct gelu_backward_args *args)
{
    const auto by = args->gelu == GELU_TANH ? each_number<gelu_slope> : each_number<gelu_erf_slope_of>;
    by(stream, precision, args->dy, args->pre, args->rows, args->columns, NULL);
}

/* y [row] = x [index[row]]; a warp a row. */
template <typename storage, int width>
static __global__ void __launch_bounds__(THREADS)
    gather_kernel(storage *y, const storage *x, const int32_t *index, struct rows rows, int hidden)
{
    const int row = blockIdx.x * WARPS + threadIdx.x / WARP;
    if (row >= rows.total)
        return;
    const storage *from = row < rows.live ? x + (size_t)index[row] * hidden : NULL;
    for (int column = threadIdx.x % WARP * width; column < hidden; column += WARP * width) {
        pack<storage, width> p = {};
        if (from)
            p = load_pack<storage, width>(from + column);
        store_pack(y + (size_t)row * hidden + column, p);
    }
}

template <typename storage, int width>
static __global__ void __launch_bounds__(THREADS)
    scatter_kernel(storage *y, const storage *x, const int32_t *index, struct rows rows, int hidden)
{
    const int row = blockIdx.x * WARPS + threadIdx.x / WARP;
    if (row >= rows.live)
        return;
    storage *to = y + (size_t)index[row] * hidden;
    for (int column = threadIdx.x % WARP * width; column < hidden; column += WARP * width) {
        pack<storage, width> p = load_pack<storage, width>(to + column);
        const pack<storage, width> more = load_pack<storage, width>(x + (size_t)row * hidden + column);
#pragma unroll
        for (int i = 0; i < width; i++)
            p.x[i] += more.x[i];
        store_pack(to + column, p);
    }
}

/* y += b in live rows, 0 in dead ones. */
template <typename storage, int width>
static __global__ void __launch_bounds__(THREADS)
    add_bias_kernel(storage *y, const float *b, struct rows rows, int columns)
{
    const int row = blockIdx.x * WARPS + threadIdx.x / WARP;
    if (row >= rows.total)
        return;
    for (int column = threadIdx.x % WARP * width; column < columns; column += WARP * width) {
        pack<storage, width> p = {};
        if (row < rows.live) {
            float bias[width];
            load_floats<width>(bias, b + column);
            p = load_pack<storage, width>(y + (size_t)row * columns + column);
#pragma unroll
            for (int i = 0; i < width; i++)
                p.x[i] += bias[i];
        }
        store_pack(y + (size_t)row * columns + column, p);
    }
}

template <typename storage> static void gather_of(cudaStream_t stream, const struct gather_args &a)
{
    launch(vectors_serve<storage>(a.hidden) ? gather_kernel<storage, vector<storage>::count>
                                            : gather_kernel<storage, 1>,
           blocks_for(a.rows.total, WARPS), THREADS, 0, stream, (storage *)a.y, (const storage *)a.x, a.index, a.rows,
           a.hidden);
}

template <typename storage> static void scatter_of(cudaStream_t stream, const struct scatter_args &a)
{
    launch(vectors_serve<storage>(a.hidden) ? scatter_kernel<storage, vector<storage>::count>
                                            : scatter_kernel<storage, 1>,
           blocks_for(a.rows.live, WARPS), THREADS, 0, stream, (storage *)a.y, (const storage *)a.x, a.index, a.rows,
           a.hidden);
}

template <typename storage>
static void add_bias_of(cudaStream_t stream, void *y, const void *b, struct rows rows, int columns)
{
    launch(vectors_serve<storage>(columns) && is_aligned(b) ? add_bias_kernel<storage, vector<storage>::count>
                                                            : add_bias_kernel<storage, 1>,
           blocks_for(rows.total, WARPS), THREADS, 0, stream, (storage *)y, (const float *)b, rows, columns);
}

STORAGE_KERNEL(gather)
STORAGE_KERNEL(scatter)

void kernel_add_bias(cudaStream_t stream, enum precision precision, void *y, const void *b, struct rows rows,
                     int32_t columns)
{
    FOR_STORAGE(precision, add_bias_of, stream, y, b, rows, columns);
}

/* A thread reads 32 bytes for every 16 that it writes. */
template <typename storage, int width>
static __global__ void __launch_bounds__(THREADS) convert_kernel(storage *out, const float *in, size_t packs)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= packs)
        return;
    pack<storage, width> p;
    load_floats<width>(p.x, in + i * width);
    store_pack(out + i * width, p);
}

template <typename storage> static void convert_of(cudaStream_t stream, const struct convert_args &a)
{
    const int width = vector<storage>::count;
    if (a.count % width == 0 && is_aligned(a.y) && is_aligned(a.x))
        launch(convert_kernel<storage, width>, blocks_for(a.count / width, THREADS), THREADS, 0, stream, (storage *)a.y,
               (const float *)a.x, a.count / width);
    else
        launch(convert_kernel<storage, 1>, blocks_for(a.count, THREADS), THREADS, 0, stream, (storage *)a.y,
               (const float *)a.x, a.count);
}

STORAGE_KERNEL(convert)

static __global__ void __launch_bounds__(THREADS) add_kernel(float *y, const float *x, size_t count)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < count)
        y[i] += x[i];
}

void kernel_add(cudaStream_t stream, void *y, const void *x, size_t count)
{
    launch(add_kernel, blocks_for(count, THREADS), THREADS, 0, stream, (float *)y, (const float *)x, count);
}

#define SUM_THREADS 128

/* A thread adds up a pack of columns, over the block's rows in order. */
template <typename storage, int width>
static __global__ void __launch_bounds__(SUM_THREADS)
    column_sums_kernel(float *partials, const storage *x, int live, int columns, int slices)
{
    const int part = blockIdx.x / slices, column = (blockIdx.x % slices * SUM_THREADS + threadIdx.x) * width;
    if (column >= columns)
        return;
    const int first = part * COLUMN_SUM_ROWS, last = min(first + COLUMN_SUM_ROWS, live);
    float sums[width] = {};
#pragma unroll 8
    for (int row = first; row < last; row++) {
        const pack<storage, width> p = load_pack<storage, width>(x + (size_t)row * columns + column);
#pragma unroll
        for (int i = 0; i < width; i++)
            sums[i] += p.x[i];
    }
#pragma unroll
    for (int i = 0; i < width; i++)
        partials[(size_t)part * columns + column + i] = sums[i];
}

template <typename storage>
static void column_sums_of(cudaStream_t stream, float *sums, const void *x, struct rows rows, int columns,
                           float *partials)
{
    const bool fast = vectors_serve<storage>(columns);
    const size_t parts = blocks_for(rows.live, COLUMN_SUM_ROWS);
    const size_t slices = blocks_for(columns, SUM_THREADS * (fast ? vector<storage>::count : 1));
    launch(fast ? column_sums_kernel<storage, vector<storage>::count> : column_sums_kernel<storage, 1>, parts * slices,
           SUM_THREADS, 0, stream, partials, (const storage *)x, rows.live, columns, (int)slices);
    add_partials(stream, sums, partials, parts, columns, columns);
}

void kernel_column_sums(cudaStream_t stream, enum precision precision, void *sums, const void *x, struct rows rows,
                        int32_t columns, void *scratch)
{
    FOR_STORAGE(precision, column_sums_of, stream, (float *)sums, x, rows, columns, (float *)scratch);
}

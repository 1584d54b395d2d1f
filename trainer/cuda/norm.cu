/* LayerNorm of dropout(x) + residual. It writes z, the sum as it is stored, which the backward pass needs, its
 * normalised form y, and the statistics of the rounded z. A warp has a row, all of it in registers, so every byte moves
 * once: forward 8 H bytes per token (x, residual, z, y in 16 bits), which is 2.4 ns for H = 1024 at 3.35e12 bytes/s.
 *
 * Backward, with n = (z - mean) * scale and g = dy * gain: dz (+)= scale * (g - mean of g - n * mean of g n). It moves
 * 8 H (dy, z, dz, dx), or 10 H where it adds to dz. The grid is one wave of blocks, and every warp takes rows at an
 * even distance until none is left, so no multiprocessor is idle before the end. A warp keeps its columns' sums for
 * dgain and dbias in registers over all of its rows; the 4 warps of a block add theirs in turn, and a second stage adds
 * the blocks' parts.
 *
 * Rows whose length is not a multiple of a vector, or more than registers hold (2,048), go through the plain kernels at
 * the end. */
#include <algorithm>

#include "trainer/cuda/pack.cuh"
#include "trainer/cuda/partials.cuh"
#include "trainer/cuda/scratch.h"

#define FORWARD_WARPS  4 /* rows of a block */
#define BACKWARD_WARPS 4

template <typename storage> struct norm_operands {
    storage *y, *z;
    float *statistics;
    const storage *x, *residual; /* residual may be NULL */
    const float *gain, *bias;    /* bias may be NULL */
    float epsilon;
    int live, total, hidden;
    bool adds; /* z is more than x, or is stored elsewhere */
    row_dropout drop;
};

template <typename storage> struct norm_backward_operands {
    storage *dx, *dz; /* dx may be NULL */
    const storage *dy, *z;
    const float *statistics, *gain;
    float *partials; /* [blocks][2][hidden]: dgain, dbias */
    int live, total, hidden;
    bool adds; /* to dz */
    row_dropout drop;
};

template <typename storage, int width> static __device__ __forceinline__ void clear_pack(storage *to)
{
    pack<storage, width> zero = {};
    store_pack(to, zero);
}

/* A pack of z = x * keep + residual, stored and rounded. */
template <typename storage, int width>
static __device__ __forceinline__ pack<storage, width> sum_pack(const norm_operands<storage> &a, int row,
                                                                const row_name &name, int column)
{
    const size_t at = (size_t)row * a.hidden + column;
    pack<storage, width> z = load_pack<storage, width>(a.x + at);
    if (a.adds) {
        drop_pack(z, a.drop, name, column);
        if (a.residual) {
            const pack<storage, width> residual = load_pack<storage, width>(a.residual + at);
#pragma unroll
            for (int i = 0; i < width; i++)
                z.x[i] += residual.x[i];
        }
        store_pack(a.z + at, z);
    }
    return z;
}

template <typename storage, int width>
static __device__ __forceinline__ void normal_pack(const norm_operands<storage> &a, const pack<storage, width> &z,
                                                   int row, int column, float mean, float scale)
{
    float gain[width], bias[width] = {};
    load_floats<width>(gain, a.gain + column);
    if (a.bias)
        load_floats<width>(bias, a.bias + column);
    pack<storage, width> y;
#pragma unroll
    for (int i = 0; i < width; i++)
        y.x[i] = (z.x[i] - mean) * scale * gain[i] + bias[i];
    store_pack(a.y + (size_t)row * a.hidden + column, y);
}

template <typename storage, int width>
static __device__ __forceinline__ void clear_row(const norm_operands<storage> &a, int row, int lane)
{
    for (int column = lane * width; column < a.hidden; column += WARP * width) {
        clear_pack<storage, width>(a.y + (size_t)row * a.hidden + column);
        clear_pack<storage, width>(a.z + (size_t)row * a.hidden + column);
    }
    if (lane < 2)
        a.statistics[2 * (size_t)row + lane] = 0;
}

/* `numbers`: of a row, per lane; at least hidden / WARP. */
template <typename storage, int numbers>
static __global__ void __launch_bounds__(FORWARD_WARPS *WARP) norm_kernel(const norm_operands<storage> a)
{
    constexpr int width = vector<storage>::count, packs = numbers / width;
    const int lane = threadIdx.x % WARP, row = blockIdx.x * FORWARD_WARPS + threadIdx.x / WARP;
    if (row >= a.total)
        return;
    if (row >= a.live) {
        clear_row<storage, width>(a, row, lane);
        return;
    }
    const row_name name = name_of(a.drop, row);
    pack<storage, width> z[packs];
    float sum = 0, squares = 0;
#pragma unroll
    for (int k = 0; k < packs; k++) {
        const int column = (k * WARP + lane) * width;
        if (column < a.hidden) {
            z[k] = sum_pack<storage, width>(a, row, name, column);
#pragma unroll
            for (int i = 0; i < width; i++)
                sum += z[k].x[i];
        }
    }
    const float mean = warp_sum(sum) / (float)a.hidden;
#pragma unroll
    for (int k = 0; k < packs; k++)
        if ((k * WARP + lane) * width < a.hidden)
#pragma unroll
            for (int i = 0; i < width; i++)
                squares += (z[k].x[i] - mean) * (z[k].x[i] - mean);
    const float scale = 1 / sqrtf(warp_sum(squares) / (float)a.hidden + a.epsilon);
#pragma unroll
    for (int k = 0; k < packs; k++)
        if ((k * WARP + lane) * width < a.hidden)
            normal_pack(a, z[k], row, (k * WARP + lane) * width, mean, scale);
    if (lane < 2)
        a.statistics[2 * (size_t)row + lane] = lane == 0 ? mean : scale;
}

/* A pack of dz, and of dx, from the pack's z and the row's two means. */
template <typename storage, int width>
static __device__ __forceinline__ void dz_pack(const norm_backward_operands<storage> &a, const pack<storage, width> &dy,
                                               const pack<storage, width> &z, int row, const row_name &name, int column,
                                               float mean, float scale, float sum, float product)
{
    const size_t at = (size_t)row * a.hidden + column;
    float gain[width];
    load_floats<width>(gain, a.gain + column);
    pack<storage, width> dz = {};
    if (a.adds)
        dz = load_pack<storage, width>(a.dz + at);
#pragma unroll
    for (int i = 0; i < width; i++)
        dz.x[i] += scale * (dy.x[i] * gain[i] - sum - (z.x[i] - mean) * scale * product);
    store_pack(a.dz + at, dz);
    if (a.dx) {
        drop_pack(dz, a.drop, name, column);
        store_pack(a.dx + at, dz);
    }
}

template <typename storage, int width>
static __device__ __forceinline__ void clear_gradients(const norm_backward_operands<storage> &a, int row, int lane)
{
    for (int column = lane * width; column < a.hidden; column += WARP * width) {
        clear_pack<storage, width>(a.dz + (size_t)row * a.hidden + column);
        if (a.dx)
            clear_pack<storage, width>(a.dx + (size_t)row * a.hidden + column);
    }
}

/* Adds the warps' sums over their rows, one warp after the other, into the block's part. Number n of a lane is at
 * n * WARP + lane, so that a warp uses all banks at once. */
template <int width, int packs>
static __device__ __forceinline__ void add_warps(float *part, const float sums[packs][width], float *room, int hidden)
{
    const int lane = threadIdx.x % WARP;
    for (int warp = 0; warp < BACKWARD_WARPS; warp++) {
        if ((int)threadIdx.x / WARP == warp)
#pragma unroll
            for (int n = 0; n < packs * width; n++)
                room[n * WARP + lane] = (warp > 0 ? room[n * WARP + lane] : 0) + sums[n / width][n % width];
        __syncthreads();
    }
    for (int column = threadIdx.x; column < hidden; column += BACKWARD_WARPS * WARP)
        part[column] = room[(column / (WARP * width) * width + column % width) * WARP + column / width % WARP];
    __syncthreads();
}

template <typename storage, int numbers>
static __global__ void __launch_bounds__(BACKWARD_WARPS *WARP, numbers <= 32 ? 3 : 2)
    norm_backward_kernel(const norm_backward_operands<storage> a)
{
    constexpr int width = vector<storage>::count, packs = numbers / width;
    __shared__ float room[numbers * WARP];
    const int lane = threadIdx.x % WARP, first = blockIdx.x * BACKWARD_WARPS + threadIdx.x / WARP;
    float dgain[packs][width] = {}, dbias[packs][width] = {};
    for (int row = first; row < a.total; row += gridDim.x * BACKWARD_WARPS) {
        if (row >= a.live) { /* dead rows are zero in every buffer */
            clear_gradients<storage, width>(a, row, lane);
            continue;
        }
        const float mean = a.statistics[2 * (size_t)row], scale = a.statistics[2 * (size_t)row + 1];
        uint4 dy_bytes[packs], z_bytes[packs];
        float sum = 0, product = 0;
#pragma unroll
        for (int k = 0; k < packs; k++) {
            const int column = (k * WARP + lane) * width;
            if (column < a.hidden) {
                dy_bytes[k] = *reinterpret_cast<const uint4 *>(a.dy + (size_t)row * a.hidden + column);
                z_bytes[k] = *reinterpret_cast<const uint4 *>(a.z + (size_t)row * a.hidden + column);
            }
        }
        const row_name name = name_of(a.drop, row);
#pragma unroll
        for (int k = 0; k < packs; k++) {
            const int column = (k * WARP + lane) * width;
            if (column < a.hidden) {
                const pack<storage, width> dy = unpack<storage>(dy_bytes[k]), z = unpack<storage>(z_bytes[k]);
                float gain[width];
                load_floats<width>(gain, a.gain + column);
#pragma unroll
                for (int n = 0; n < width; n++) {
                    const float normal = (z.x[n] - mean) * scale, dout = dy.x[n];
                    dgain[k][n] += dout * normal;
                    dbias[k][n] += dout;
                    sum += dout * gain[n];
                    product += dout * gain[n] * normal;
                }
            }
        }
        sum = warp_sum(sum) / (float)a.hidden;
        product = warp_sum(product) / (float)a.hidden;
#pragma unroll
        for (int k = 0; k < packs; k++)
            if ((k * WARP + lane) * width < a.hidden) {
                forget(dy_bytes[k]);
                forget(z_bytes[k]);
                dz_pack(a, unpack<storage>(dy_bytes[k]), unpack<storage>(z_bytes[k]), row, name,
                        (k * WARP + lane) * width, mean, scale, sum, product);
            }
    }
    float *part = a.partials + (size_t)blockIdx.x * 2 * a.hidden;
    add_warps<width, packs>(part, dgain, room, a.hidden);
    add_warps<width, packs>(part + a.hidden, dbias, room, a.hidden);
}

template <typename storage>
static __global__ void __launch_bounds__(FORWARD_WARPS *WARP) norm_plain_kernel(const norm_operands<storage> a)
{
    const int lane = threadIdx.x % WARP, row = blockIdx.x * FORWARD_WARPS + threadIdx.x / WARP;
    if (row >= a.total)
        return;
    if (row >= a.live) {
        clear_row<storage, 1>(a, row, lane);
        return;
    }
    const storage *z = a.z + (size_t)row * a.hidden;
    const row_name name = name_of(a.drop, row);
    float sum = 0, squares = 0;
    for (int column = lane; column < a.hidden; column += WARP)
        sum += sum_pack<storage, 1>(a, row, name, column).x[0];
    const float mean = warp_sum(sum) / (float)a.hidden;
    for (int column = lane; column < a.hidden; column += WARP)
        squares += (load(z[column]) - mean) * (load(z[column]) - mean);
    const float scale = 1 / sqrtf(warp_sum(squares) / (float)a.hidden + a.epsilon);
    for (int column = lane; column < a.hidden; column += WARP)
        normal_pack(a, load_pack<storage, 1>(z + column), row, column, mean, scale);
    if (lane < 2)
        a.statistics[2 * (size_t)row + lane] = lane == 0 ? mean : scale;
}

/* dgain and dbias of a block of rows, one column per thread; runs before dy is overwritten. */
template <typename storage>
static __global__ void __launch_bounds__(BACKWARD_WARPS *WARP)
    norm_columns_kernel(const norm_backward_operands<storage> a)
{
    const int first = blockIdx.x * NORM_ROWS, last = min(first + NORM_ROWS, a.live);
    float *part = a.partials + (size_t)blockIdx.x * 2 * a.hidden;
    for (int column = threadIdx.x; column < a.hidden; column += BACKWARD_WARPS * WARP) {
        float dgain = 0, dbias = 0;
        for (int row = first; row < last; row++) {
            const size_t at = (size_t)row * a.hidden + column;
            const float dout = load(a.dy[at]);
            dgain += dout * (load(a.z[at]) - a.statistics[2 * (size_t)row]) * a.statistics[2 * (size_t)row + 1];
            dbias += dout;
        }
        part[column] = dgain;
        part[a.hidden + column] = dbias;
    }
}

template <typename storage>
static __global__ void __launch_bounds__(FORWARD_WARPS *WARP) norm_rows_kernel(const norm_backward_operands<storage> a)
{
    const int lane = threadIdx.x % WARP, row = blockIdx.x * FORWARD_WARPS + threadIdx.x / WARP;
    if (row >= a.total)
        return;
    if (row >= a.live) {
        clear_gradients<storage, 1>(a, row, lane);
        return;
    }
    const storage *dy = a.dy + (size_t)row * a.hidden, *z = a.z + (size_t)row * a.hidden;
    const float mean = a.statistics[2 * (size_t)row], scale = a.statistics[2 * (size_t)row + 1];
    const row_name name = name_of(a.drop, row);
    float sum = 0, product = 0;
    for (int column = lane; column < a.hidden; column += WARP) {
        const float dout = load(dy[column]) * a.gain[column];
        sum += dout;
        product += dout * (load(z[column]) - mean) * scale;
    }
    sum = warp_sum(sum) / (float)a.hidden;
    product = warp_sum(product) / (float)a.hidden;
    for (int column = lane; column < a.hidden; column += WARP)
        dz_pack(a, load_pack<storage, 1>(dy + column), load_pack<storage, 1>(z + column), row, name, column, mean,
                scale, sum, product);
}

template <typename storage> static void norm_of(cudaStream_t stream, const struct norm_args &args)
{
    const norm_operands<storage> a = {(storage *)args.y,
                                      (storage *)args.z,
                                      (float *)args.statistics,
                                      (const storage *)args.x,
                                      (const storage *)args.residual,
                                      (const float *)args.gain,
                                      (const float *)args.bias,
                                      (float)args.epsilon,
                                      args.rows.live,
                                      args.rows.total,
                                      args.hidden,
                                      args.z != args.x || args.residual || dropout_acts(args.dropout),
                                      row_dropout_of(cuda_batch_of(args.batch), args.dropout)};
    void (*kernel)(norm_operands<storage>) = norm_plain_kernel<storage>;
    if (vectors_serve<storage>(a.hidden))
        kernel = a.hidden <= 256    ? norm_kernel<storage, 8>
                 : a.hidden <= 512  ? norm_kernel<storage, 16>
                 : a.hidden <= 768  ? norm_kernel<storage, 24>
                 : a.hidden <= 1024 ? norm_kernel<storage, 32>
                 : a.hidden <= 2048 ? norm_kernel<storage, 64>
                                    : kernel;
    launch(kernel, blocks_for(a.total, FORWARD_WARPS), FORWARD_WARPS * WARP, 0, stream, a);
}

STORAGE_KERNEL(norm)

template <typename storage> static void norm_backward_of(cudaStream_t stream, const struct norm_backward_args &args)
{
    const int hidden = args.hidden, total = args.rows.total;
    const norm_backward_operands<storage> a = {(storage *)args.dx,
                                               (storage *)args.dz,
                                               (const storage *)args.dy,
                                               (const storage *)args.z,
                                               (const float *)args.statistics,
                                               (const float *)args.gain,
                                               (float *)args.scratch,
                                               args.rows.live,
                                               total,
                                               hidden,
                                               args.adds,
                                               row_dropout_of(cuda_batch_of(args.batch), args.dropout)};
    size_t blocks = blocks_for(total, NORM_ROWS);
    void (*kernel)(norm_backward_operands<storage>) = norm_columns_kernel<storage>;
    if (vectors_serve<storage>(hidden))
        kernel = hidden <= 256    ? norm_backward_kernel<storage, 8>
                 : hidden <= 512  ? norm_backward_kernel<storage, 16>
                 : hidden <= 768  ? norm_backward_kernel<storage, 24>
                 : hidden <= 1024 ? norm_backward_kernel<storage, 32>
                 : hidden <= 2048 ? norm_backward_kernel<storage, 64>
                                  : kernel;
    const bool plain = kernel == norm_columns_kernel<storage>;
    if (!plain)
        blocks = std::min(blocks, blocks_of_wave(kernel, BACKWARD_WARPS * WARP));
    launch(kernel, blocks, BACKWARD_WARPS * WARP, 0, stream, a);
    if (plain)
        launch(norm_rows_kernel<storage>, blocks_for(total, FORWARD_WARPS), FORWARD_WARPS * WARP, 0, stream, a);
    add_partials(stream, (float *)args.dgain, a.partials, blocks, 2 * (size_t)hidden, hidden);
    if (args.dbias)
        add_partials(stream, (float *)args.dbias, a.partials + hidden, blocks, 2 * (size_t)hidden, hidden);
}

STORAGE_KERNEL(norm_backward)

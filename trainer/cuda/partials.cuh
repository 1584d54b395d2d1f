/* Sums over rows, in two stages of a fixed tree: blocks of rows leave partial sums in scratch, and this adds them
 * up. */
#pragma once

#include "trainer/cuda/device.cuh"
#include "trainer/cuda/launch.cuh"

#define PARTIAL_COLUMNS 32 /* columns of a block */
#define PARTIAL_GROUPS  16 /* each adds every 16th partial sum, in order */

static __global__ void __launch_bounds__(PARTIAL_COLUMNS *PARTIAL_GROUPS)
    add_partials_kernel(float *out, const float *partials, int parts, size_t stride, int columns)
{
    __shared__ float room[PARTIAL_GROUPS][PARTIAL_COLUMNS];
    const int x = threadIdx.x % PARTIAL_COLUMNS, group = threadIdx.x / PARTIAL_COLUMNS;
    const int column = blockIdx.x * PARTIAL_COLUMNS + x;
    float sum = 0;
    if (column < columns)
#pragma unroll 4
        for (int part = group; part < parts; part += PARTIAL_GROUPS)
            sum += partials[(size_t)part * stride + column];
    room[group][x] = sum;
    for (int half = PARTIAL_GROUPS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (group < half)
            room[group][x] += room[group + half][x];
    }
    if (group == 0 && column < columns && room[0][x] != 0)
        out[column] += room[0][x];
}

/* out [columns] += sum over parts of partials [parts][stride]. A sum of 0 leaves its place untouched: a table of one
 * segment has no second row. */
static void add_partials(cudaStream_t stream, float *out, const float *partials, size_t parts, size_t stride,
                         int columns)
{
    launch(add_partials_kernel, blocks_for((size_t)columns, PARTIAL_COLUMNS), PARTIAL_COLUMNS * PARTIAL_GROUPS, 0,
           stream, out, partials, (int)parts, stride, columns);
}

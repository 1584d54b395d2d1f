/* How host code queues a kernel: with a one-dimensional grid, so that no limit of a second dimension matters. The
 * caller finds a launch that failed (cudaGetLastError). */
#pragma once

#include "trainer/cuda/words.cuh"

#define SHARED_PLAIN (48 << 10) /* bytes of dynamic shared memory that a kernel may use without an attribute */

template <typename... parameters, typename... arguments>
static void launch(void (*kernel)(parameters...), size_t blocks, int threads, size_t shared_bytes, cudaStream_t stream,
                   arguments... values)
{
    if (blocks == 0)
        return;
    if (shared_bytes > SHARED_PLAIN)
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_bytes);
    start(kernel, (unsigned)blocks, threads, shared_bytes, stream, values...);
}

/* How many blocks of a kernel without dynamic shared memory the GPU runs at once: a grid of as many is one wave. At
 * least 1. */
template <typename... parameters> static size_t blocks_of_wave(void (*kernel)(parameters...), int threads)
{
    int processors = 0, blocks = 0;
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0);
    return processors > 0 && blocks > 0 ? (size_t)processors * blocks : 1;
}

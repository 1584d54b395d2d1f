/* What the kernels share: conversion of 16-bit numbers to float and back, vectors of numbers in one load, sums over a
 * warp and over a block in a fixed tree, and the random words of keyed dropout (base/philox.h; struct dropout in
 * ops_args.h). */
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "base/philox.h"
#include "trainer/cuda/kernels.h"

#define WARP      32
#define FULL_WARP 0xffffffffu
#define VECTOR    16 /* bytes of one load or store */

/* Calls FUNCTION<storage>(…) with the type of storage. */
#define FOR_STORAGE(precision, FUNCTION, ...)                                                                          \
    ((precision) == PRECISION_FP32   ? FUNCTION<float>(__VA_ARGS__)                                                    \
     : (precision) == PRECISION_BF16 ? FUNCTION<__nv_bfloat16>(__VA_ARGS__)                                            \
                                     : FUNCTION<__half>(__VA_ARGS__))

/* The kernel of an op: op_of for its type of storage. */
#define STORAGE_KERNEL(op)                                                                                             \
    void kernel_##op(cudaStream_t stream, enum precision precision, const struct op##_args *args)                      \
    {                                                                                                                  \
        FOR_STORAGE(precision, op##_of, stream, *args);                                                                \
    }

static inline size_t blocks_for(size_t count, size_t each)
{
    return (count + each - 1) / each;
}

static __device__ __forceinline__ float load(float x)
{
    return x;
}
static __device__ __forceinline__ float load(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}
static __device__ __forceinline__ float load(__half x)
{
    return __half2float(x);
}

/* Rounds to nearest even. */
template <typename storage> static __device__ __forceinline__ storage store(float x);
template <> __device__ __forceinline__ float store<float>(float x)
{
    return x;
}
template <> __device__ __forceinline__ __nv_bfloat16 store<__nv_bfloat16>(float x)
{
    return __float2bfloat16_rn(x);
}
template <> __device__ __forceinline__ __half store<__half>(float x)
{
    return __float2half_rn(x);
}

/* The numbers of one load. */
template <typename storage> struct alignas(VECTOR) vector {
    static const int count = VECTOR / sizeof(storage);
    storage items[count];
};

template <typename storage> static __device__ __forceinline__ vector<storage> load_vector(const storage *from)
{
    vector<storage> v;
    *reinterpret_cast<uint4 *>(&v) = *reinterpret_cast<const uint4 *>(from);
    return v;
}
template <typename storage> static __device__ __forceinline__ void store_vector(storage *to, const vector<storage> &v)
{
    *reinterpret_cast<uint4 *>(to) = *reinterpret_cast<const uint4 *>(&v);
}
static __device__ __host__ __forceinline__ bool is_aligned(const void *pointer)
{
    return reinterpret_cast<uintptr_t>(pointer) % VECTOR == 0;
}

/* Gives the same bits in every lane: a butterfly, whose additions form the same pairs in all lanes. */
template <typename number> static __device__ __forceinline__ number warp_sum(number x)
{
#pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2)
        x += __shfl_xor_sync(FULL_WARP, x, step);
    return x;
}

static __device__ __forceinline__ float warp_max(float x)
{
#pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2)
        x = fmaxf(x, __shfl_xor_sync(FULL_WARP, x, step));
    return x;
}

/* The sum over a block of whole warps, in every thread; all threads must call. `room` is shared memory of WARP numbers,
 * free to use again after the next __syncthreads(). */
template <typename number> static __device__ __forceinline__ number block_sum(number x, number *room)
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    x = warp_sum(x);
    __syncthreads();
    if (lane == 0)
        room[warp] = x;
    __syncthreads();
    return warp_sum(lane < warps ? room[lane] : (number)0);
}

static __device__ __forceinline__ float block_max(float x, float *room)
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    x = warp_max(x);
    __syncthreads();
    if (lane == 0)
        room[warp] = x;
    __syncthreads();
    return warp_max(lane < warps ? room[lane] : room[0]);
}

/* Random words for columns 8 * eight … 8 * eight + 7; name, number and position as in struct dropout. */
static __device__ __host__ __forceinline__ void dropout_words(const struct dropout &dropout, uint32_t name,
                                                              uint32_t number, uint32_t position, uint32_t eight,
                                                              uint32_t words[4])
{
    philox(eight, position, number, name, dropout.key[0], dropout.key[1], words);
}

/* Whether column 8 * eight + i is kept. */
static __device__ __host__ __forceinline__ bool dropout_keeps(const uint32_t words[4], int i, uint32_t threshold)
{
    return (words[i / 2] >> (i % 2 * 16) & 0xffff) >= threshold;
}

/* The factor of kept numbers: as in cpu/keep.h, in float. */
static inline __device__ __host__ float dropout_scale(const struct dropout &dropout)
{
    float scale = (float)65536 / (float)(65536 - dropout.threshold);
    if (dropout.share > 0)
        scale /= dropout.share;
    return scale;
}

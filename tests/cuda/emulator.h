/* Runs the unchanged kernels of trainer/cuda on the host, so that every index, barrier and exchange can be tested
 * without a GPU: a .cu file is compiled as C++ with this file included first, which replaces words.cuh, tensor.cuh and
 * the few CUDA keywords and functions that kernels use. A block's threads are fibers of one real thread. A warp's
 * exchanges wait for all 32 lanes and check that all are at the same operation; barriers wait for the block;
 * asynchronous copies to shared memory complete as late as allowed. So a missing barrier, a divergent exchange or a
 * fragment in the wrong lane shows as a wrong number or an abort. It does not show speed, rounding inside the tensor
 * cores, or effects of the real compiler. */
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <vector_functions.h>

#include <algorithm>
#include <tuple>
#include <type_traits>

#include "tests/cuda/memory.h"
#include "tests/cuda/toolkit.h"

/* ---- keywords and functions of CUDA ---- */

#undef __global__
#undef __shared__
#undef __launch_bounds__
#define __global__
#define __shared__ static __attribute__((section("emulated_shared")))
/* Stores the maximal threads of a block where emulate_check finds them: as one nop per warp at the kernel's entry. */
#define __launch_bounds__(...)        EMULATED_BOUNDS(__VA_ARGS__, 0)
#define EMULATED_BOUNDS(threads, ...) __attribute__((patchable_function_entry((threads) / 32)))

struct emulated_index {
    unsigned x;
};
extern struct emulated_index threadIdx, blockIdx, blockDim, gridDim;

void emulate_barrier(void);
void emulate_warp_barrier(void);
/* Stores `in` for the other lanes, waits for all of them and returns theirs: slot l of EMULATED_SLOT bytes is from lane
 * l. `what` must be the same in all lanes. */
#define EMULATED_SLOT 32
const char *emulate_exchange(const char *what, const void *in, size_t bytes);
void emulate_copy(void *to, const void *from, bool live); /* 16 bytes, or zeros if not live; done at emulate_landed */
void emulate_landed(void);
char *emulate_shared(void);
/* Aborts if a GPU would refuse the launch. */
void emulate_check(const void *kernel, size_t blocks, int threads, size_t shared_bytes);
void emulate_run(void (*body)(const void *), const void *arguments, size_t blocks, int threads, size_t shared_bytes);
/* Aborts: ldmatrix reads rows of one 8x8 matrix from the same banks. */
void emulate_conflict(void);
/* Which thread runs first: 0 = the first, 1 = the last; EMULATED_ORDER=1 in the environment is 1 too. Results must not
 * depend on it. */
extern int emulated_order;

static inline void __syncthreads()
{
    emulate_barrier();
}

static inline void __syncwarp()
{
    emulate_warp_barrier();
}

template <typename number> static inline number emulate_shuffle(number x, unsigned from)
{
    const char *slots = emulate_exchange("shuffle", &x, sizeof x);
    number result;
    memcpy(&result, slots + from % 32 * EMULATED_SLOT, sizeof result);
    return result;
}

template <typename number> static inline number __shfl_sync(unsigned, number x, int from)
{
    return emulate_shuffle(x, (unsigned)from);
}

template <typename number> static inline number __shfl_xor_sync(unsigned, number x, int change)
{
    return emulate_shuffle(x, threadIdx.x ^ (unsigned)change);
}

static inline int __syncthreads_or(int x)
{
    static int any;
    emulate_barrier();
    any = 0;
    emulate_barrier();
    any |= x;
    emulate_barrier();
    return any != 0;
}

#define __expf expf
using std::max;
using std::min;

static inline float __fmul_rn(float a, float b)
{
    return a * b;
}
static inline float __fadd_rn(float a, float b)
{
    return a + b;
}
static inline float __int_as_float(int bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- words.cuh, and what nvcc adds to the runtime for launch.cuh ---- */

template <typename... parameters>
static cudaError_t cudaFuncSetAttribute(void (*kernel)(parameters...), enum cudaFuncAttribute attribute, int value)
{
    return cudaFuncSetAttribute((const void *)kernel, attribute, value);
}

template <typename... parameters>
static cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void (*)(parameters...), int, size_t)
{
    *blocks = 1;
    return cudaSuccess;
}

#define TRAINER_CUDA_WORDS_CUH

template <typename... parameters> struct emulated_launch {
    void (*kernel)(parameters...);
    std::tuple<std::decay_t<parameters>...> values;
    size_t blocks, shared_bytes;
    int threads;
};

template <typename... parameters> static bool emulate_launch(void *context)
{
    const auto *all = (const emulated_launch<parameters...> *)context;
    emulate_run(
        [](const void *given) {
            const auto *one = (const emulated_launch<parameters...> *)given;
            std::apply(one->kernel, one->values);
        },
        all, all->blocks, all->threads, all->shared_bytes);
    delete all;
    return true;
}

/* Without a stream it runs at once. */
template <typename... parameters, typename... arguments>
static void start(void (*kernel)(parameters...), unsigned blocks, int threads, size_t shared_bytes, cudaStream_t stream,
                  arguments... values)
{
    auto *all = new emulated_launch<parameters...>{kernel, {values...}, blocks, shared_bytes, threads};
    emulate_check((const void *)kernel, blocks, threads, shared_bytes);
    if (stream)
        toolkit_queue(stream, emulate_launch<parameters...>, all);
    else
        emulate_launch<parameters...>(all);
}

static inline char *shared_memory()
{
    return emulate_shared();
}

static inline void forget(uint4 &)
{
}

/* ---- tensor.cuh ---- */

#define TRAINER_CUDA_TENSOR_CUH
#include "trainer/cuda/device.cuh"

static inline void copy_later(char *to, const void *from, bool live)
{
    emulate_copy(to, from, live);
}

static inline void copies_landed()
{
    emulate_landed();
}

static inline void emulate_banks(const char *slots)
{
    for (unsigned matrix = 0; matrix < 4; matrix++) {
        unsigned banks = 0; /* a bit for each group of four banks */
        for (unsigned i = 0; i < 8; i++) {
            const char *row;
            memcpy(&row, slots + (8 * matrix + i) * EMULATED_SLOT, sizeof row);
            if (banks >> ((uintptr_t)row / 16 % 8) & 1)
                emulate_conflict();
            banks |= 1u << ((uintptr_t)row / 16 % 8);
        }
    }
}

/* Lane l gives the address of row l mod 8 of matrix l / 8, 8 numbers. r[i] of lane 4g + c becomes numbers 2c and 2c + 1
 * of row g of matrix i. */
static inline void load_matrices(uint32_t r[4], const char *row)
{
    const char *slots = emulate_exchange("ldmatrix", &row, sizeof row);
    emulate_banks(slots);
    const unsigned lane = threadIdx.x % 32;
    for (unsigned i = 0; i < 4; i++) {
        const char *from;
        memcpy(&from, slots + (8 * i + lane / 4) * EMULATED_SLOT, sizeof from);
        memcpy(&r[i], from + lane % 4 * 4, 4);
    }
}

static inline void load_matrices_across(uint32_t r[4], const char *row)
{
    const char *slots = emulate_exchange("ldmatrix.trans", &row, sizeof row);
    emulate_banks(slots);
    const unsigned lane = threadIdx.x % 32;
    for (unsigned i = 0; i < 4; i++)
        for (unsigned low = 0; low < 2; low++) {
            const char *from;
            memcpy(&from, slots + (8 * i + lane % 4 * 2 + low) * EMULATED_SLOT, sizeof from);
            memcpy((char *)&r[i] + 2 * low, from + lane / 4 * 2, 2);
        }
}

/* Assembles A and B from the registers of all lanes, as drawn in the PTX manual for m16n8k16. */
template <typename storage>
__attribute__((no_sanitize("thread"))) static void multiply_add(float d[4], const uint32_t a[4], uint32_t b0,
                                                                uint32_t b1)
{
    const uint32_t mine[6] = {a[0], a[1], a[2], a[3], b0, b1};
    const char *slots = emulate_exchange("mma", mine, sizeof mine);
    float left[2][16], right[16][2]; /* rows g and g + 8 of A, columns 2c and 2c + 1 of B */
    const unsigned lane = threadIdx.x % 32, g = lane / 4, c = lane % 4;
    for (unsigned k = 0; k < 16; k++)
        for (unsigned i = 0; i < 2; i++) {
            storage x;
            const unsigned left_lane = 4 * g + k % 8 / 2, left_register = i + k / 8 * 2;
            memcpy(&x, slots + left_lane * EMULATED_SLOT + 4 * left_register + k % 2 * 2, 2);
            left[i][k] = load(x);
            const unsigned right_lane = 4 * (2 * c + i) + k % 8 / 2, right_register = 4 + k / 8;
            memcpy(&x, slots + right_lane * EMULATED_SLOT + 4 * right_register + k % 2 * 2, 2);
            right[k][i] = load(x);
        }
    for (unsigned i = 0; i < 4; i++) {
        float sum = 0;
        for (unsigned k = 0; k < 16; k++)
            sum += left[i / 2][k] * right[k][i % 2];
        d[i] += sum;
    }
}

static inline float power_of_two(float x)
{
    return exp2f(x);
}

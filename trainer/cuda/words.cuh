/* What only nvcc understands: how a kernel is started, where its dynamic shared memory is, and how bytes are hidden
 * from the compiler. */
#ifndef TRAINER_CUDA_WORDS_CUH /* tests/cuda/emulator.h defines it, and what is below */
#define TRAINER_CUDA_WORDS_CUH

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

template <typename... parameters, typename... arguments>
static void start(void (*kernel)(parameters...), unsigned blocks, int threads, size_t shared_bytes, cudaStream_t stream,
                  arguments... values)
{
    kernel<<<blocks, threads, shared_bytes, stream>>>(values...);
}

/* The block's dynamic shared memory. */
static __device__ __forceinline__ char *shared_memory()
{
    extern __shared__ __align__(128) char memory[];
    return memory;
}

/* Makes the compiler forget what it knows of these 16 bytes: it recomputes what it derived from them, instead of
 * keeping that in scarce registers. */
static __device__ __forceinline__ void forget(uint4 &bytes)
{
    asm volatile("" : "+r"(bytes.x), "+r"(bytes.y), "+r"(bytes.z), "+r"(bytes.w));
}

#endif

/* Philox 4x32-10, the generator of every random number in both programs, on processors and in CUDA: Salmon, Moraes,
 * Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011 (section 4.3, constants of table 2). base/random.h
 * says how it is used; random_row.h has it for vectors. */
#pragma once

#include <stdint.h>

#ifdef __CUDACC__
#define PHILOX_FUNCTION static __host__ __device__ __forceinline__
#else
#define PHILOX_FUNCTION static inline
#endif

#define PHILOX_ROUNDS     10
#define PHILOX_MULTIPLY_0 0xD2511F53u
#define PHILOX_MULTIPLY_1 0xCD9E8D57u
#define PHILOX_WEYL_0     0x9E3779B9u /* golden ratio */
#define PHILOX_WEYL_1     0xBB67AE85u /* sqrt(3) - 1 */

/* Counter (c0, c1, c2, c3) and key (k0, k1) → four words, as the published Random123 vectors have them. */
PHILOX_FUNCTION void philox(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t k0, uint32_t k1,
                            uint32_t out[4])
{
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        const uint64_t a = (uint64_t)PHILOX_MULTIPLY_0 * c0, b = (uint64_t)PHILOX_MULTIPLY_1 * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += PHILOX_WEYL_0;
        k1 += PHILOX_WEYL_1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

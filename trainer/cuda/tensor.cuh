/* Tensor cores by mma.sync m16n8k16, which every GPU since sm_80 has, and how 16-bit numbers get to them: asynchronous
 * copies from global memory, tiles in shared memory, matrices from there to registers.
 *
 * A tile has rows of 64 numbers: 8 chunks of 16 bytes. Chunk c of row r is stored at place c ^ (r mod 8) of its row, so
 * that the same chunk of 8 adjacent rows covers all 32 banks. Tiles start on 128 bytes.
 *
 * Registers of an mma, lane = 4 g + c (PTX ISA, "Matrix Fragments for mma.m16n8k16"):
 *
 *     a[0] A[g][2c, 2c+1]      a[1] A[g+8][2c, 2c+1]      a[2] A[g][2c+8, 2c+9]      a[3] A[g+8][2c+8, 2c+9]
 *     b[0] B[2c, 2c+1][g]      b[1] B[2c+8, 2c+9][g]
 *     d[0] D[g][2c]            d[1] D[g][2c+1]            d[2] D[g+8][2c]            d[3] D[g+8][2c+1]
 *
 * so two D side by side, rounded, are the A of the next product. */
#ifndef TRAINER_CUDA_TENSOR_CUH /* tests/cuda/emulator.h defines it, and what is below */
#define TRAINER_CUDA_TENSOR_CUH

#include "trainer/cuda/device.cuh"

/* Copies 16 bytes from global to shared memory, or writes as many zeros; `from` must be readable either way. */
static __device__ __forceinline__ void copy_later(char *to, const void *from, bool live)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((uint32_t)__cvta_generic_to_shared(to)),
                 "l"(from), "r"(live ? 16 : 0)
                 : "memory");
}

/* Waits for this thread's copies; those of other threads are there after the next __syncthreads(). */
static __device__ __forceinline__ void copies_landed()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

/* Loads four 8x8 matrices. Lane l gives the address of row l mod 8 of matrix l / 8 (16 bytes in shared memory); r[i]
 * becomes row g, columns 2c and 2c + 1 of matrix i, or with `across`, of its transpose. */
static __device__ __forceinline__ void load_matrices(uint32_t r[4], const char *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(row))
                 : "memory");
}
static __device__ __forceinline__ void load_matrices_across(uint32_t r[4], const char *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(row))
                 : "memory");
}

/* d += A B. */
template <typename storage>
static __device__ __forceinline__ void multiply_add(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1);
template <>
__device__ __forceinline__ void multiply_add<__nv_bfloat16>(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ __forceinline__ void multiply_add<__half>(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* 2^x, accurate to 2 units in the last place. */
static __device__ __forceinline__ float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

#endif

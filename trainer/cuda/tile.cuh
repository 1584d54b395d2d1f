/* Arithmetic of tiles (tensor.cuh): where a chunk is stored, which row each lane addresses, and how a warp stores its
 * sums. */
#pragma once

#include "trainer/cuda/tensor.cuh"

#define TILE_WIDTH 64               /* numbers of a row: the head size */
#define TILE_BYTES (TILE_WIDTH * 2) /* bytes of a row */
#define CHUNK      8                /* numbers */

/* The byte offset of a chunk in its tile. */
static __host__ __device__ __forceinline__ int tile_place(int row, int chunk)
{
    return row * TILE_BYTES + ((chunk ^ (row & 7)) << 4);
}

/* The address that a lane gives, of 16 rows and 2 chunks; matrix m = lane / 8 is rows from 8 (m mod 2) on, chunk m / 2
 * (down first), or rows from 8 (m / 2) on, chunk m mod 2 (across first). With load_matrices, down is A, and across is B
 * of two blocks of 8 columns of D; with load_matrices_across, of a tile that holds the transpose, it is the other way
 * round. */
static __host__ __device__ __forceinline__ int lane_down(int lane)
{
    return tile_place(lane & 15, lane >> 4);
}
static __host__ __device__ __forceinline__ int lane_across(int lane)
{
    return tile_place((lane & 7) + (lane >> 4 << 3), lane >> 3 & 1);
}

/* The same address `row` rows (a multiple of 8) and `chunk` chunks (a multiple of 2) further on. */
static __host__ __device__ __forceinline__ int tile_at(int lane_place, int row, int chunk)
{
    return (lane_place ^ chunk << 4) + row * TILE_BYTES;
}

/* Two numbers in a register, the first one in the low half. */
template <typename storage> static __device__ __forceinline__ uint32_t pair_of(float low, float high);
template <> __device__ __forceinline__ uint32_t pair_of<__nv_bfloat16>(float low, float high)
{
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    uint32_t bits;
    memcpy(&bits, &pair, sizeof bits);
    return bits;
}
template <> __device__ __forceinline__ uint32_t pair_of<__half>(float low, float high)
{
    const __half2 pair = __floats2half2_rn(low, high);
    uint32_t bits;
    memcpy(&bits, &pair, sizeof bits);
    return bits;
}

/* Transposes four lanes' four words: r[i] of lane c becomes r[c] of lane i, c = lane mod 4. */
static __device__ __forceinline__ void transpose_quad(uint32_t r[4])
{
    const bool odd = threadIdx.x & 1, high = threadIdx.x & 2;
    const uint32_t a = __shfl_xor_sync(FULL_WARP, odd ? r[0] : r[1], 1);
    const uint32_t b = __shfl_xor_sync(FULL_WARP, odd ? r[2] : r[3], 1);
    r[0] = odd ? a : r[0];
    r[1] = odd ? r[1] : a;
    r[2] = odd ? b : r[2];
    r[3] = odd ? r[3] : b;
    const uint32_t c = __shfl_xor_sync(FULL_WARP, high ? r[0] : r[2], 2);
    const uint32_t d = __shfl_xor_sync(FULL_WARP, high ? r[1] : r[3], 2);
    r[0] = high ? c : r[0];
    r[1] = high ? d : r[1];
    r[2] = high ? r[2] : c;
    r[3] = high ? r[3] : d;
}

/* Loads `rows` rows of a [.., 64] slice into a tile, with blocks of `threads`; rows from `live` (at least 1) on become
 * zero. */
template <int rows, int threads, typename storage>
static __device__ __forceinline__ void load_tile(char *tile, const storage *from, size_t stride, int live)
{
    const int chunk = threadIdx.x % 8, first = threadIdx.x / 8;
#pragma unroll
    for (int row = first; row < rows; row += threads / 8)
        copy_later(tile + tile_place(row, chunk), from + (size_t)(row < live ? row : 0) * stride + chunk * CHUNK,
                   row < live);
}

/* Stores 16 rows of 64 sums, d[n] over columns 8n … 8n + 7, times `scale`, in rows of `to`; the first `live` rows
 * exist. */
template <typename storage>
static __device__ __forceinline__ void store_sums(storage *to, size_t stride, int live, const float d[8][4],
                                                  const float scale[2])
{
    const int lane = threadIdx.x % WARP, g = lane / 4, c = lane % 4;
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int first = 0; first < 8; first += 4) {
            uint32_t words[4];
#pragma unroll
            for (int n = 0; n < 4; n++)
                words[n] =
                    pair_of<storage>(d[first + n][2 * half] * scale[half], d[first + n][2 * half + 1] * scale[half]);
            transpose_quad(words);
            if (g + 8 * half < live)
                *reinterpret_cast<uint4 *>(to + (size_t)(g + 8 * half) * stride + (first + c) * CHUNK) =
                    make_uint4(words[0], words[1], words[2], words[3]);
        }
}

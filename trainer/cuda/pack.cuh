/* Packs: the numbers of one load, a vector of 16 bytes where rows begin on 16 bytes, otherwise a single number. Kernels
 * are written once, over packs of `width` numbers. Also the key of a row's dropout. */
#pragma once

#include "trainer/cuda/device.cuh"
#include "trainer/cuda/launch.cuh"

template <typename storage, int width> struct pack {
    float x[width];
};

/* By value: through a reference to memory the compiler loses the alignment and loads byte by byte. */
template <typename storage>
static __device__ __forceinline__ pack<storage, vector<storage>::count> unpack(const uint4 bytes)
{
    vector<storage> v;
    memcpy(&v, &bytes, sizeof v);
    pack<storage, vector<storage>::count> p;
#pragma unroll
    for (int i = 0; i < vector<storage>::count; i++)
        p.x[i] = load(v.items[i]);
    return p;
}

template <typename storage, int width>
static __device__ __forceinline__ pack<storage, width> load_pack(const storage *from)
{
    if constexpr (width == 1)
        return {{load(*from)}};
    else
        return unpack<storage>(*reinterpret_cast<const uint4 *>(from));
}

/* Rounds p to storage and stores it; p has the rounded values afterwards. */
template <typename storage, int width>
static __device__ __forceinline__ void store_pack(storage *to, pack<storage, width> &p)
{
    if constexpr (width == 1) {
        *to = store<storage>(p.x[0]);
        p.x[0] = load(*to);
    } else {
        vector<storage> v;
#pragma unroll
        for (int i = 0; i < width; i++) {
            v.items[i] = store<storage>(p.x[i]);
            p.x[i] = load(v.items[i]);
        }
        store_vector(to, v);
    }
}

/* `width` floats that begin on 16 bytes, or one. */
template <int width> static __device__ __forceinline__ void load_floats(float x[width], const float *from)
{
    if constexpr (width == 1) {
        x[0] = *from;
    } else {
#pragma unroll
        for (int i = 0; i < width; i += 4) {
            const float4 four = *reinterpret_cast<const float4 *>(from + i);
            x[i] = four.x;
            x[i + 1] = four.y;
            x[i + 2] = four.z;
            x[i + 3] = four.w;
        }
    }
}
template <int width> static __device__ __forceinline__ void store_floats(float *to, const float x[width])
{
    if constexpr (width == 1) {
        *to = x[0];
    } else {
#pragma unroll
        for (int i = 0; i < width; i += 4)
            *reinterpret_cast<float4 *>(to + i) = make_float4(x[i], x[i + 1], x[i + 2], x[i + 3]);
    }
}

/* True if rows of `columns` numbers can be read as vectors. Buffers begin on 64 bytes. */
template <typename storage> static inline bool vectors_serve(size_t columns)
{
    return columns % vector<storage>::count == 0;
}

struct row_dropout {
    struct dropout dropout;
    float scale; /* of kept numbers */
    const int32_t *sequence_of, *positions;
    const uint32_t *numbers;
};

static inline row_dropout row_dropout_of(const struct cuda_batch *batch, const struct dropout *dropout)
{
    row_dropout drop = {};
    drop.scale = 1;
    if (!dropout_acts(dropout))
        return drop;
    drop.dropout = *dropout;
    drop.scale = dropout_scale(*dropout);
    drop.sequence_of = batch->batch.sequence_of;
    drop.positions = batch->batch.positions;
    drop.numbers = batch->batch.numbers;
    return drop;
}

/* A row's part of the key of its dropout. Read it once per row: between stores, which might change it, it would be read
 * again for every pack. */
struct row_name {
    uint32_t number, position;
};

static __device__ __forceinline__ row_name name_of(const row_dropout &drop, int row)
{
    if (drop.dropout.threshold == 0)
        return {};
    return {drop.numbers[drop.sequence_of[row]], (uint32_t)drop.positions[row]};
}

/* p *= 0 or the scale; p has the columns of a row from `column` on. */
template <typename storage, int width>
static __device__ __forceinline__ void drop_pack(pack<storage, width> &p, const row_dropout &drop, const row_name &name,
                                                 int column)
{
    uint32_t words[4] = {~0u, ~0u, ~0u, ~0u};
    if (drop.dropout.threshold)
        dropout_words(drop.dropout, drop.dropout.name, name.number, name.position, (uint32_t)column / 8, words);
    if constexpr (width == 8) {
#pragma unroll
        for (int i = 0; i < width; i++)
            p.x[i] *= dropout_keeps(words, i, drop.dropout.threshold) ? drop.scale : 0;
    } else {
#pragma unroll
        for (int i = 0; i < width; i++) { /* words are not indexed, so that they stay in registers */
            const int lane = column % 8 + i;
            const uint32_t word = lane / 2 == 0   ? words[0]
                                  : lane / 2 == 1 ? words[1]
                                  : lane / 2 == 2 ? words[2]
                                                  : words[3];
            p.x[i] *= (word >> lane % 2 * 16 & 0xffff) >= drop.dropout.threshold ? drop.scale : 0;
        }
    }
}

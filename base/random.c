#include "base/random.h"

#include "base/cpu.h"
#include "base/hash.h"
#include "base/philox.h"

#include <assert.h>

#define ROUNDS 12

struct network {
    uint64_t n;
    uint32_t key[2];
    unsigned half_bits; /* 1 to 32 */
    uint32_t half_mask;
};

static struct network network_of(uint64_t n, uint64_t key)
{
    unsigned bits = 64 - (unsigned)__builtin_clzll((n - 1) | 1); /* of the largest position, n - 1 */
    bits += bits & 1;
    return (struct network){
        .n = n,
        .key = {(uint32_t)key, (uint32_t)(key >> 32)},
        .half_bits = bits / 2,
        .half_mask = (uint32_t)(((uint64_t)1 << (bits / 2)) - 1),
    };
}

static uint32_t round_bits(const struct network *net, uint32_t round, uint32_t half)
{
    const uint32_t counter[4] = {half, round, (uint32_t)net->n, (uint32_t)(net->n >> 32)};
    uint32_t out[4];
    philox4x32(counter, net->key, out);
    return out[0] & net->half_mask;
}

/* A round maps (left, right) to (right, left ^ f(right)), which is a permutation for any f. */
static uint64_t rounds_of(const struct network *net, uint64_t x)
{
    uint32_t left = (uint32_t)(x >> net->half_bits), right = (uint32_t)x & net->half_mask;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t next = left ^ round_bits(net, round, right);
        left = right;
        right = next;
    }
    return (uint64_t)left << net->half_bits | right;
}

/* The network permutes [0, 4^half_bits), which may reach beyond n. What falls there is mapped again (cycle walking).
 * That ends, because the cycle that starts at i < n comes back to i, and takes fewer than four steps on average. */
uint64_t permute(uint64_t i, uint64_t n, uint64_t key)
{
    assert(i < n);
    const struct network net = network_of(n, key);
    do
        i = rounds_of(&net, i);
    while (i >= n);
    return i;
}

void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    philox(counter[0], counter[1], counter[2], counter[3], key[0], key[1], out);
}

struct random_stream random_stream(uint64_t seed, enum random_purpose purpose, uint64_t file, uint64_t window,
                                   uint64_t part, uint64_t length, uint64_t copy)
{
    const uint64_t words[6] = {(uint64_t)purpose, file, window, part, length, copy};
    unsigned char bytes[sizeof(words)]; /* little-endian on every machine */
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(words[i / 8] >> (i % 8 * 8));
    const uint64_t name = hash64(bytes, sizeof(bytes));
    return (struct random_stream){
        .key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
        .name = {(uint32_t)name, (uint32_t)(name >> 32)},
    };
}

uint32_t random_at(const struct random_stream *stream, uint32_t index, uint32_t draw)
{
    uint32_t out[4];
    random_at4(stream, index, draw, out);
    return out[0];
}

void random_at4(const struct random_stream *stream, uint32_t index, uint32_t draw, uint32_t out[4])
{
    const uint32_t counter[4] = {stream->name[0], stream->name[1], index, draw};
    philox4x32(counter, stream->key, out);
}

static void random_row_base(const struct random_stream *stream, uint32_t index, uint32_t first, size_t count,
                            uint32_t *const out[4])
{
    for (size_t i = 0; i < count; i++) {
        uint32_t words[4];
        random_at4(stream, index, first + (uint32_t)i, words);
        for (int word = 0; word < 4; word++)
            out[word][i] = words[word];
    }
}

/* Defined in the files of these names, from random_row.h. */
void random_row_avx2(const struct random_stream *, uint32_t, uint32_t, size_t, uint32_t *const[4]);
void random_row_avx512(const struct random_stream *, uint32_t, uint32_t, size_t, uint32_t *const[4]);

void random_row(const struct random_stream *stream, uint32_t index, uint32_t first, size_t count,
                uint32_t *const out[4])
{
#ifdef __x86_64__
    const enum vector_level level = vector_level();
    if (level != VECTOR_BASE) {
        (level == VECTOR_AVX2 ? random_row_avx2 : random_row_avx512)(stream, index, first, count, out);
        return;
    }
#endif
    random_row_base(stream, index, first, count, out);
}

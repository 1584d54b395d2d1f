/* Random bits by name: 32 bits for each draw, from Philox 4x32-10 as SC 2011 and Random123 define it. */
#include "base/random.h"

#include "base/cpu.h"
#include "base/hash.h"

void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
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

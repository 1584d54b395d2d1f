/* Finds the bytes of a set in a text, all at once: one bit for each byte. Finding the next one is then a count of zero
 * bits, without reading the bytes between. Sets contain ASCII only. */
#pragma once

#include "base/str.h"

/* Byte b is in the set if bit b / 16 of rows[b % 16] is set, so vectors of bytes can look up rows and columns. */
struct sign_set {
    uint8_t rows[16];
};

void sign_set_add(struct sign_set *set, unsigned char byte); /* below 0x80 */

/* Scratch of one thread; ready to use when zeroed. */
struct signs {
    uint64_t *bits; /* of the byte at 64 · i + k, bit k of bits[i] */
    size_t capacity;
};

void signs_find(struct signs *signs, const struct sign_set *set, struct str text);
void signs_release(struct signs *signs);

/* Adds one byte to those found. */
static inline void signs_add(struct signs *signs, uint32_t at)
{
    signs->bits[at / 64] |= (uint64_t)1 << at % 64;
}

/* The first byte of the set in [at, end) of the text, or `end`. */
static inline uint32_t signs_next(const struct signs *signs, uint32_t at, uint32_t end)
{
    if (at >= end)
        return end;
    uint32_t word = at / 64;
    uint64_t bits = signs->bits[word] & (UINT64_MAX << at % 64);
    while (bits == 0 && (word + 1) * 64 < end)
        bits = signs->bits[++word];
    const uint32_t found = bits == 0 ? end : word * 64 + (uint32_t)__builtin_ctzll(bits);
    return found < end ? found : end;
}

/* Internal: the loop for 64 · words bytes. signs_base is the reference for the others. */
typedef void signs_loop(const struct sign_set *set, const char *text, size_t words, uint64_t *bits);
signs_loop signs_base, signs_avx2;

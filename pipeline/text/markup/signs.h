/* Where the bytes of a set stand in a text, found for all of it in one go: a bit for each byte. Whoever then looks for
 * the next of them counts zeros, and what stands between is not looked at one by one. Sets are of ASCII. */
#ifndef PIPELINE_TEXT_MARKUP_SIGNS_H
#define PIPELINE_TEXT_MARKUP_SIGNS_H

#include "base/str.h"

/* Byte b is in the set where bit b / 16 of rows[b % 16] is set: so a vector of bytes looks up its rows and columns. */
struct sign_set {
    uint8_t rows[16];
};

void sign_set_add(struct sign_set *set, unsigned char byte); /* below 0x80 */

/* Scratch of one thread; a zeroed one is ready to use. */
struct signs {
    uint64_t *bits; /* of the byte at 64 · i + k, bit k of bits[i] */
    size_t capacity;
};

void signs_find(struct signs *signs, const struct sign_set *set, struct str text);
void signs_release(struct signs *signs);

/* The first sign in [at, end) of the text, or `end`. */
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

/* Inside: the loop for 64 · words bytes. The one of the base level says what the others compute. */
typedef void signs_loop(const struct sign_set *set, const char *text, size_t words, uint64_t *bits);
signs_loop signs_base, signs_avx2;

#endif

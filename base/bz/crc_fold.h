/* The CRC by carry-less products (PCLMULQDQ): 16 bytes are a polynomial of 128 bits, high · x^64 + low. Moved n bits
 * further on in the text, it is equivalent to
 *
 *     high · (x^(n + 64) mod P) + low · (x^n mod P)
 *
 * which has at most 96 bits. So four vectors are moved forward 64 bytes at a time and added to the bytes there. The CRC
 * of the last vector, by tables, is that of all of them. */
#pragma once

#include "base/bz/block.h"

#include <immintrin.h>

static inline __m128i load_reversed(const uint8_t *bytes)
{
    const __m128i reversed = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)bytes), reversed);
}

static inline __m128i fold(__m128i carried, __m128i by, __m128i met)
{
    const __m128i low = _mm_clmulepi64_si128(carried, by, 0x00), high = _mm_clmulepi64_si128(carried, by, 0x11);
    return _mm_xor_si128(met, _mm_xor_si128(low, high));
}

static uint32_t crc_by_folding(const struct crc_tables *tables, const uint8_t *bytes, size_t size)
{
    if (size < 64)
        return crc_by_tables(tables, bytes, size);
    const __m128i by_1 = _mm_loadu_si128((const __m128i *)(const void *)tables->fold_1);
    const __m128i by_4 = _mm_loadu_si128((const __m128i *)(const void *)tables->fold_4);
    __m128i carried[4];
    for (unsigned i = 0; i < 4; i++)
        carried[i] = load_reversed(bytes + 16 * i);
    carried[0] = _mm_xor_si128(carried[0], _mm_set_epi32(-1, 0, 0, 0)); /* the inversion at the start */
    for (bytes += 64, size -= 64; size >= 64; bytes += 64, size -= 64)
        for (unsigned i = 0; i < 4; i++)
            carried[i] = fold(carried[i], by_4, load_reversed(bytes + 16 * i));
    __m128i sum = carried[0];
    for (unsigned i = 1; i < 4; i++)
        sum = fold(sum, by_1, carried[i]);
    uint8_t last[16];
    _mm_storeu_si128((__m128i *)(void *)last, sum);
    for (unsigned i = 0; i < 8; i++) {
        const uint8_t swapped = last[i];
        last[i] = last[15 - i];
        last[15 - i] = swapped;
    }
    return ~crc_more(tables, crc_more(tables, 0, last, 16), bytes, size);
}

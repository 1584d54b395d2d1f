/* 32 bytes at a time: the low half of a byte selects a row of the set, the high half a bit of it. Bytes of 0x80 and
 * above select an empty row. */
#include "pipeline/text/markup/signs.h"

#include <immintrin.h>

static __m256i twice(__m128i half)
{
    return _mm256_broadcastsi128_si256(half);
}

static uint32_t step(__m256i rows, const char *text)
{
    const __m256i columns = twice(_mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, (char)0x80, 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)text);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0F));
    const __m256i column = _mm256_shuffle_epi8(columns, high);
    const __m256i found = _mm256_and_si256(_mm256_shuffle_epi8(rows, bytes), column);
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(found, _mm256_setzero_si256()));
}

void signs_avx2(const struct sign_set *set, const char *text, size_t words, uint64_t *bits)
{
    const __m256i rows = twice(_mm_loadu_si128((const __m128i *)(const void *)set->rows));
    for (size_t word = 0; word < words; word++, text += 64)
        bits[word] = step(rows, text) | (uint64_t)step(rows, text + 32) << 32;
}

/* Adds blocks of 64 bytes to the state (FIPS 180-4, 6.2.2) with SHA256RNDS2, SHA256MSG1 and SHA256MSG2 (Intel 64 and
 * IA-32 Architectures Software Developer's Manual, volume 2), four rounds at a time. The instructions want the state as
 * two vectors, (a, b, e, f) and (c, d, g, h) with the first letter highest. */
#include "base/sha256_blocks.h"

#include <assert.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>

static bool look(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3) || !(c & bit_SSE4_1))
        return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

bool sha256_has_instructions(void)
{
    static atomic_int known = -1; /* asking is slow on virtual machines; concurrent callers find the same answer */
    int has = atomic_load_explicit(&known, memory_order_relaxed);
    if (has < 0) {
        has = look();
        atomic_store_explicit(&known, has, memory_order_relaxed);
    }
    return has;
}

/* Words t … t + 3 of the message schedule, from the sixteen before them. */
__attribute__((target("sha,sse4.1"))) static __m128i next_words(const __m128i w[4])
{
    const __m128i seventh = _mm_alignr_epi8(w[3], w[2], 4); /* w[t - 7] … */
    return _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w[0], w[1]), seventh), w[3]);
}

__attribute__((target("sha,sse4.1"))) void sha256_add_blocks(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203); /* words are big-endian */
    const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)state);    /* d c b a, a lowest */
    const __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(state + 4));
    const __m128i cdab = _mm_shuffle_epi32(low, 0xB1), efgh = _mm_shuffle_epi32(high, 0x1B);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
    for (size_t i = 0; i < count; i++) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];
        for (int at = 0; at < 4; at++)
            w[at] = _mm_shuffle_epi8(
                _mm_loadu_si128((const __m128i *)(const void *)(blocks + SHA256_BLOCK_BYTES * i) + at), order);
        for (int t = 0; t < 64; t += 4) {
            const __m128i sum = _mm_add_epi32(w[0], _mm_loadu_si128((const __m128i *)(const void *)(sha256_k + t)));
            const __m128i next = t < 48 ? next_words(w) : w[0];
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0E));
            w[0] = w[1];
            w[1] = w[2];
            w[2] = w[3];
            w[3] = next;
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    const __m128i feba = _mm_shuffle_epi32(abef, 0x1B), dchg = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(feba, dchg, 0xF0));
    _mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#else
bool sha256_has_instructions(void)
{
    return false;
}

void sha256_add_blocks(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    (void)state;
    (void)blocks;
    (void)count;
    assert(!"never called");
}
#endif

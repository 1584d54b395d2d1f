/* A fused multiply-add in software, for x86-64. */
#pragma once

#include <emmintrin.h>
#include <stdint.h>
#include <string.h>

/* a * b + c, rounded once. The product is exact in double. The sum is rounded to odd: if it is inexact and its last bit
 * is even, it becomes its neighbour towards the exact sum, so that rounding it to float is right (Boldo and Melquiond,
 * 2008). */
static inline float fused(float a, float b, float c)
{
    const double product = (double)a * (double)b, other = (double)c;
    double sum = product + other;
    const double added = sum - product, error = (product - (sum - added)) + (other - added);
    int64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    const int64_t inexact = (error > 0) | (error < 0), outwards = (error > 0) == (sum > 0) ? 1 : -1;
    bits += inexact & ~bits & 1 ? outwards : 0;
    memcpy(&sum, &bits, sizeof sum);
    return (float)sum;
}

/* The same of two numbers each, as doubles; the sum's bits are right after rounding to float. */
static inline __attribute__((always_inline)) __m128d fused_two(__m128d a, __m128d b, __m128d c)
{
    const __m128d product = _mm_mul_pd(a, b), sum = _mm_add_pd(product, c), added = _mm_sub_pd(sum, product);
    const __m128d error = _mm_add_pd(_mm_sub_pd(product, _mm_sub_pd(sum, added)), _mm_sub_pd(c, added));
    const __m128d zero = _mm_setzero_pd();
    const __m128i bits = _mm_castpd_si128(sum), one = _mm_set1_epi64x(1);
    /* Masks: -1 if true. The signs of the error and of a sum that is inexact, so not zero, are their highest bits. */
    const __m128i inexact = _mm_castpd_si128(_mm_andnot_pd(_mm_cmpunord_pd(error, error), _mm_cmpneq_pd(error, zero)));
    const __m128i even = _mm_sub_epi64(_mm_and_si128(bits, one), one);
    const __m128i differs = _mm_shuffle_epi32(_mm_srai_epi32(_mm_castpd_si128(_mm_xor_pd(error, sum)), 31), 0xf5);
    const __m128i outwards = _mm_or_si128(differs, one); /* 1, or -1 */
    return _mm_castsi128_pd(_mm_add_epi64(bits, _mm_and_si128(_mm_and_si128(inexact, even), outwards)));
}

static inline __attribute__((always_inline)) __m128 fused_four(__m128 a, __m128 b, __m128 c)
{
    const __m128d low = fused_two(_mm_cvtps_pd(a), _mm_cvtps_pd(b), _mm_cvtps_pd(c));
    const __m128d high = fused_two(_mm_cvtps_pd(_mm_movehl_ps(a, a)), _mm_cvtps_pd(_mm_movehl_ps(b, b)),
                                   _mm_cvtps_pd(_mm_movehl_ps(c, c)));
    return _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
}

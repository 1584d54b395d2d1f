/* exp, GELU and GELU's derivative as straight-line polynomials that compilers vectorise, with a relative error of about
 * 2e-7 in float; in double, the C library's functions. NaN propagates. */
#pragma once

#include "trainer/cpu/real.h"

#if NUMBER == NUMBER_FP64

static inline real exponential(real x)
{
    return exp(x);
}

/* The normal distribution function, and exp(-x^2 / 2). */
static inline real normal_cdf(real x, real *bell)
{
    *bell = exp(x * x * -0.5);
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

#else

/* exp(x) = 2^n exp(r), |r| <= ln 2 / 2, with Taylor's series of degree 7 (error 5e-9). Adding 1.5 * 2^23 rounds to an
 * integer n and leaves n in the low bits. x is clamped to [-87, 88], so the result is neither subnormal nor
 * infinite. */
static inline real exponential(real x)
{
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    const float shifted = FUSED(x, 1.44269504f, 12582912.0f);
    const float n = shifted - 12582912.0f;
    const float r = FUSED(n, 2.12194440e-4f, x - n * 0.693359375f); /* ln 2 in two parts; n times the first is exact */
    float p = 1.0f / 5040;
    p = FUSED(p, r, 1.0f / 720);
    p = FUSED(p, r, 1.0f / 120);
    p = FUSED(p, r, 1.0f / 24);
    p = FUSED(p, r, 1.0f / 6);
    p = FUSED(p, r, 0.5f);
    p = FUSED(p, r, 1.0f);
    p = FUSED(p, r, 1.0f);
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

/* The normal distribution function, and exp(-x^2 / 2), through erfc(z) = exp(-z^2) t P(t), t = 1 / (1 + z / 2), z =
 * |x| / sqrt 2; P is our own Chebyshev fit for z up to 9.5 (error 3e-9 before rounding). */
static inline real normal_cdf(real x, real *bell)
{
    const float z = (x < 0.0f ? -x : x) * 0.707106781f;
    const float t = 1.0f / (1.0f + 0.5f * z);
    float p = 0.03430482428f;
    p = FUSED(p, t, -0.1823201518f);
    p = FUSED(p, t, 0.3586508036f);
    p = FUSED(p, t, -0.2553048001f);
    p = FUSED(p, t, -0.05483567779f);
    p = FUSED(p, t, 0.05632717618f);
    p = FUSED(p, t, 0.04595103086f);
    p = FUSED(p, t, 0.1881105791f);
    p = FUSED(p, t, 0.244732119f);
    p = FUSED(p, t, 0.2822975434f);
    p = FUSED(p, t, 0.2820865564f);
    *bell = exponential(-z * z);
    const float half_erfc = 0.5f * t * p * *bell;
    return x < 0.0f ? half_erfc : 1.0f - half_erfc;
}

#endif

/* Tanh-GELU, x/2 (1 + tanh u) with u = sqrt(2/pi) (x + 0.044715 x^3), is x logistic(2u): no cancellation for x < 0. */
#define GELU_SLOPE ((real)1.5957691216057308) /* 2 sqrt(2/pi) */
#define GELU_CUBIC ((real)0.044715)

static inline real gelu_tanh(real x)
{
    const real u2 = GELU_SLOPE * FUSED(GELU_CUBIC * x * x, x, x);
    return x / (1 + exponential(-u2));
}

static inline real gelu_tanh_slope(real x)
{
    const real u2 = GELU_SLOPE * FUSED(GELU_CUBIC * x * x, x, x);
    const real e = exponential(-u2);
    const real s = 1 / (1 + e);
    return FUSED(x * s * (e * s) * GELU_SLOPE, FUSED(3 * GELU_CUBIC * x, x, 1), s);
}

static inline real gelu_erf(real x)
{
    real bell;
    return x * normal_cdf(x, &bell);
}

static inline real gelu_erf_slope(real x)
{
    real bell;
    const real cdf = normal_cdf(x, &bell);
    return FUSED(x * (real)0.39894228040143268, bell, cdf);
}

/* y = gelu(x), and y *= gelu'(x), for `count` numbers. */
static inline void gelu_all(storage *restrict y, const storage *restrict x, size_t count, bool erf_form)
{
    if (erf_form) {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            y[i] = STORE(gelu_erf(LOAD(x[i])));
    } else {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            y[i] = STORE(gelu_tanh(LOAD(x[i])));
    }
}

/* values *= gelu'(x). */
static inline void gelu_slope_real(real *restrict values, const storage *restrict x, size_t count, bool erf_form)
{
    if (erf_form) {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            values[i] *= gelu_erf_slope(LOAD(x[i]));
    } else {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            values[i] *= gelu_tanh_slope(LOAD(x[i]));
    }
}

static inline void gelu_slope_all(storage *restrict y, const storage *restrict x, size_t count, bool erf_form)
{
    if (erf_form) {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            y[i] = STORE(LOAD(y[i]) * gelu_erf_slope(LOAD(x[i])));
    } else {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            y[i] = STORE(LOAD(y[i]) * gelu_tanh_slope(LOAD(x[i])));
    }
}

/* GELU, SiLU and their derivatives, as in cpu/functions.h and cpu/rows.h. */
#pragma once

#include "trainer/cuda/device.cuh"

#define GELU_SLOPE 1.5957691216057308f /* 2 sqrt(2/pi) */
#define GELU_CUBIC 0.044715f

/* exp(-u2) in x logistic(u2), which is tanh-GELU. It is kept finite, because infinity times 0 would be NaN. */
static __device__ __forceinline__ float gelu_exponential(float x)
{
    const float u2 = GELU_SLOPE * (x + GELU_CUBIC * x * x * x);
    return expf(u2 < -88 ? 88 : -u2);
}
static __device__ __forceinline__ float normal_cdf(float x)
{
    return 0.5f * erfcf(-x * 0.707106781f);
}

static __device__ __forceinline__ float gelu_tanh(float x)
{
    return x / (1 + gelu_exponential(x));
}
static __device__ __forceinline__ float gelu_erf(float x)
{
    return x * normal_cdf(x);
}
static __device__ __forceinline__ float gelu_tanh_slope(float x)
{
    const float e = gelu_exponential(x), s = 1 / (1 + e);
    return s + x * s * (e * s) * GELU_SLOPE * (1 + 3 * GELU_CUBIC * x * x);
}
static __device__ __forceinline__ float gelu_erf_slope(float x)
{
    return normal_cdf(x) + x * 0.39894228040143268f * expf(-0.5f * x * x);
}

static __device__ __forceinline__ float activation_of(float x, enum gelu kind)
{
    return kind == SILU ? x / (1 + expf(-x)) : kind == GELU_ERF ? gelu_erf(x) : gelu_tanh(x);
}
static __device__ __forceinline__ float activation_slope(float x, enum gelu kind)
{
    const float s = 1 / (1 + expf(-x));
    return kind == SILU ? s * (1 + x * (1 - s)) : kind == GELU_ERF ? gelu_erf_slope(x) : gelu_tanh_slope(x);
}

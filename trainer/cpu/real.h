/* The number types of one compilation unit (unit.h): `real` and `storage`, by the NUMBER and LEVEL that its file
 * chose. */
#pragma once

#include "base/same_math.h"
#include "trainer/cpu/device.h"

/* Values of NUMBER and LEVEL. Each level contains those before it; fp64 exists for tests, at LEVEL_BASE only. */
#define NUMBER_FP64 64
#define NUMBER_FP32 32
#define NUMBER_BF16 16
#define NUMBER_FP16 17

#define LEVEL_BASE        0
#define LEVEL_AVX2        1
#define LEVEL_AVX512      2
#define LEVEL_AVX512_BF16 3 /* for bf16 only: one instruction multiplies pairs of them */
#define LEVEL_AMX         4 /* for bf16 only: one instruction multiplies tiles of them */

#if LEVEL >= LEVEL_AVX2
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if NUMBER == NUMBER_FP64
#define real    double
#define storage double
#define SQRT(x) sqrt(x)
#elif NUMBER == NUMBER_FP32
#define real    float
#define storage float
#define SQRT(x) sqrtf(x)
#else
#define real    float
#define storage uint16_t
#define SQRT(x) sqrtf(x)
#endif

/* a * b + c, rounded once; at LEVEL_BASE of x86-64, which has no instruction for it, only with EXACT, where software
 * does it (fused.h). The compiler may not contract on its own (-ffp-contract=off). */
#ifndef EXACT
#define EXACT 0
#endif
#if NUMBER != NUMBER_FP64 && (LEVEL >= LEVEL_AVX2 || defined(__aarch64__))
#define FUSED(a, b, c) __builtin_fmaf(a, b, c)
#elif EXACT
#include "trainer/cpu/fused.h"
#define FUSED(a, b, c) fused(a, b, c)
#else
#define FUSED(a, b, c) ((a) * (b) + (c))
#endif

#if NUMBER == NUMBER_BF16
#define LOAD(stored) bf16_to_float(stored)
#define STORE(value) bf16_from_float(value)
#elif NUMBER == NUMBER_FP16
#define LOAD(stored) fp16_to_float(stored)
#define STORE(value) fp16_from_float(value)
#else
#define LOAD(stored) (stored)
#define STORE(value) (value)
#endif

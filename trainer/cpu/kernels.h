/* What the files of levels/ provide: a table of the computing ops for each number type and instruction set. */
#pragma once

#include "trainer/backend/ops.h"

struct kernels {
    struct ops ops;     /* the computing ops; all else is zero */
    size_t linear_work; /* bytes of device->work per thread */
    /* Bytes of scratch for one call of attention_backward on all threads. */
    size_t (*attention_scratch)(const struct ops_limits *limits, int threads);
};

extern const struct kernels kernels_fp32_base, kernels_fp32_exact_base, kernels_bf16_base, kernels_fp16_base,
    kernels_fp64_base;
#ifdef __x86_64__
extern const struct kernels kernels_fp32_avx2, kernels_bf16_avx2, kernels_fp16_avx2;
extern const struct kernels kernels_fp32_avx512, kernels_bf16_avx512, kernels_fp16_avx512;
extern const struct kernels kernels_bf16_avx512_bf16, kernels_bf16_amx;
#endif

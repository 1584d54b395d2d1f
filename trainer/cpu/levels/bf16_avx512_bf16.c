/* The kernels in bf16 for AVX-512 with products of bf16. */
#define NUMBER NUMBER_BF16
#define LEVEL  LEVEL_AVX512_BF16
#include "trainer/cpu/unit.h"

const struct kernels kernels_bf16_avx512_bf16 = KERNELS;

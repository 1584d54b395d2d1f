/* The kernels in bf16 for AVX2 and FMA. */
#define NUMBER NUMBER_BF16
#define LEVEL  LEVEL_AVX2
#include "trainer/cpu/unit.h"

const struct kernels kernels_bf16_avx2 = KERNELS;

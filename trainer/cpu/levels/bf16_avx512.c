/* The kernels in bf16 for AVX-512 (F, BW, DQ, VL). */
#define NUMBER NUMBER_BF16
#define LEVEL  LEVEL_AVX512
#include "trainer/cpu/unit.h"

const struct kernels kernels_bf16_avx512 = KERNELS;

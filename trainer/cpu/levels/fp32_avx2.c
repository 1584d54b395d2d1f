/* The kernels in fp32 for AVX2 and FMA. */
#define NUMBER NUMBER_FP32
#define LEVEL  LEVEL_AVX2
#include "trainer/cpu/unit.h"

const struct kernels kernels_fp32_avx2 = KERNELS;

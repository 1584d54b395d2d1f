/* The kernels in fp32 for AVX-512 (F, BW, DQ, VL). */
#define NUMBER NUMBER_FP32
#define LEVEL  LEVEL_AVX512
#include "trainer/cpu/unit.h"

const struct kernels kernels_fp32_avx512 = KERNELS;

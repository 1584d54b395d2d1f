/* The kernels in fp16 for AVX2 and FMA. */
#define NUMBER NUMBER_FP16
#define LEVEL  LEVEL_AVX2
#include "trainer/cpu/unit.h"

const struct kernels kernels_fp16_avx2 = KERNELS;

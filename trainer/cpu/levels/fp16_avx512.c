/* The kernels in fp16 for AVX-512 (F, BW, DQ, VL). */
#define NUMBER NUMBER_FP16
#define LEVEL  LEVEL_AVX512
#include "trainer/cpu/unit.h"

const struct kernels kernels_fp16_avx512 = KERNELS;

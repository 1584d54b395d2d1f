/* The kernels in fp32 for any processor, with the bits of the levels that have fused multiply-adds. */
#define NUMBER NUMBER_FP32
#define LEVEL  LEVEL_BASE
#define EXACT  1
#include "trainer/cpu/unit.h"

const struct kernels kernels_fp32_exact_base = KERNELS;

/* The kernels in fp32 for any processor. */
#define NUMBER NUMBER_FP32
#define LEVEL  LEVEL_BASE
#include "trainer/cpu/unit.h"

const struct kernels kernels_fp32_base = KERNELS;

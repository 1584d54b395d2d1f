/* The kernels in fp16 for any processor. */
#define NUMBER NUMBER_FP16
#define LEVEL  LEVEL_BASE
#include "trainer/cpu/unit.h"

const struct kernels kernels_fp16_base = KERNELS;

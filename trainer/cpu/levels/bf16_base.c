/* The kernels in bf16 for any processor. */
#define NUMBER NUMBER_BF16
#define LEVEL  LEVEL_BASE
#include "trainer/cpu/unit.h"

const struct kernels kernels_bf16_base = KERNELS;

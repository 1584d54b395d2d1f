/* The kernels in fp64 for any processor: the reference of tests. */
#define NUMBER NUMBER_FP64
#define LEVEL  LEVEL_BASE
#include "trainer/cpu/unit.h"

const struct kernels kernels_fp64_base = KERNELS;

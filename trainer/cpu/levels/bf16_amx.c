/* The kernels in bf16 for AVX-512 with products of bf16 on tiles (AMX). */
#define NUMBER NUMBER_BF16
#define LEVEL  LEVEL_AMX
#include "trainer/cpu/unit.h"

const struct kernels kernels_bf16_amx = KERNELS;

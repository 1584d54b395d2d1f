/* One compilation unit: every kernel, for one number type and instruction set. A file of levels/ chooses both,
 *
 *     #define NUMBER NUMBER_BF16               real.h has the values
 *     #define LEVEL  LEVEL_AVX512              as the file's name ends: cmake/rooms.cmake compiles it accordingly
 *     #include "trainer/cpu/unit.h"
 *     const struct kernels kernels_bf16_avx512 = KERNELS;
 *
 * and exports nothing but that table. The compiler vectorises most loops by itself. Function multi-versioning
 * (target_clones) was no choice: clang 14 lacks it, and it leaves no way to force a level (--cpu). */
#pragma once

#include "trainer/cpu/attention.h"
#include "trainer/cpu/embed.h"
#include "trainer/cpu/fixed.h"
#include "trainer/cpu/kernels.h"
#include "trainer/cpu/linear.h"
#include "trainer/cpu/loss.h"
#include "trainer/cpu/matrix.h"
#include "trainer/cpu/norm.h"
#include "trainer/cpu/onebit_ops.h"
#include "trainer/cpu/rows.h"
#include "trainer/cpu/update.h"

#define OP_ROW(op) .op = op,
#define KERNELS                                                                                                        \
    {                                                                                                                  \
        .ops = {OPS_COMPUTING(OP_ROW)}, .linear_work = sizeof(struct work), .attention_scratch = attention_scratch,    \
    }

/* Compiles one file for every number type and instruction set: the file says
 *
 *     #ifndef LEVEL
 *     #define EACH "trainer/cpu/norm.c"
 *     #include "trainer/cpu/each.h"
 *     #else
 *     static void NAME(norm)(…)      uses real, storage, LOAD, STORE (trainer/cpu/real.h)
 *     #endif
 *
 * and is included again from here with LEVEL (0 base, 1 AVX2, 2 AVX-512) and NUMBER (bits of storage: 16 is bf16, 17
 * stands for fp16). A file that defines EACH_DOT too is also included for bf16 with LEVEL 3 and DOT: AVX-512 with products
 * of bf16. The compiler's own vectoriser does the rest. Function multi-versioning (target_clones) would do for
 * one instruction set at a time, but clang 14 lacks it and it leaves no way to force a level (--cpu). Doubles exist for
 * tests, in base. No standard header may be included from inside. */

#define LEVEL  0
#define NUMBER 32
#include "trainer/cpu/real.h"
#include EACH
#include "trainer/cpu/unreal.h"
#define NUMBER 16
#include "trainer/cpu/real.h"
#include EACH
#include "trainer/cpu/unreal.h"
#define NUMBER 17
#include "trainer/cpu/real.h"
#include EACH
#include "trainer/cpu/unreal.h"
#define NUMBER 64
#include "trainer/cpu/real.h"
#include EACH
#include "trainer/cpu/unreal.h"
#undef LEVEL

#ifdef __x86_64__

#define LEVEL 1
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi2")
#endif
#define NUMBER 32
#include "trainer/cpu/real.h"
#include EACH
#include "trainer/cpu/unreal.h"
#define NUMBER 16
#include "trainer/cpu/real.h"
#include EACH
#include "trainer/cpu/unreal.h"
#define NUMBER 17
#include "trainer/cpu/real.h"
#include EACH
#include "trainer/cpu/unreal.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef LEVEL

#define LEVEL 2
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2"))),              \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2,prefer-vector-width=512")
#endif
#define NUMBER 32
#include "trainer/cpu/real.h"
#include EACH
#include "trainer/cpu/unreal.h"
#define NUMBER 16
#include "trainer/cpu/real.h"
#include EACH
#include "trainer/cpu/unreal.h"
#define NUMBER 17
#include "trainer/cpu/real.h"
#include EACH
#include "trainer/cpu/unreal.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef LEVEL

#ifdef EACH_DOT
#define LEVEL 3
#define DOT
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,bmi2"))),   \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,bmi2,prefer-vector-width=512")
#endif
#define NUMBER 16
#include "trainer/cpu/real.h"
#include EACH
#include "trainer/cpu/unreal.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef DOT
#undef LEVEL
#undef EACH_DOT
#endif

#endif
#undef EACH

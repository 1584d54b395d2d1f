/* The CPU backend behind struct ops: our own loops in C. */
#pragma once

#include "base/error.h"
#include "trainer/backend/ops.h"

/* Instruction sets, each containing those before it. */
enum cpu_level { CPU_BASE, CPU_AVX2, CPU_AVX512, CPU_AVX512_BF16, CPU_AMX, CPU_LEVELS };

enum cpu_level cpu_level(void); /* the highest level of this machine */
const char *cpu_level_name(enum cpu_level level);

/* bf16 where the processor multiplies it, else fp32. */
enum precision cpu_default_precision(enum cpu_level level);

struct cpu_options {
    enum precision precision;
    enum cpu_level level; /* cpu_level(), or a lower one that the user forces */
    unsigned threads;     /* of the whole process, from now on; 0: unchanged */
    bool same_bits;       /* fp32 has the same bits on every level, though it takes more time on CPU_BASE of x86-64 */
};

/* Opens the backend; ops->close ends it. bf16 and fp16 work on every level (stored in 16 bits, multiplied in fp32 where
 * the processor cannot multiply them). ERR_USAGE: a level that the machine lacks. */
struct ops *cpu_open(const struct cpu_options *options, struct error *err);

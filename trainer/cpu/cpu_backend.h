/* The CPU backend behind struct ops: own loops in C; on tiles (AMX) oneDNN multiplies. */
#ifndef TRAINER_CPU_CPU_BACKEND_H
#define TRAINER_CPU_CPU_BACKEND_H

#include "base/error.h"
#include "trainer/ops.h"

/* Instruction sets, each containing those before it. */
enum cpu_level { CPU_BASE, CPU_AVX2, CPU_AVX512, CPU_AVX512_BF16, CPU_AMX, CPU_LEVELS };

enum cpu_level cpu_level(void); /* the highest this machine has */
const char *cpu_level_name(enum cpu_level level);

/* bf16 where the processor multiplies it, else fp32. */
enum precision cpu_default_precision(enum cpu_level level);

struct cpu_options {
    enum precision precision;
    enum cpu_level level; /* cpu_level(), or a lower one that the user forces */
    unsigned threads;     /* of the whole process, from here on; 0: leave them as they are */
    bool library;         /* tests: oneDNN multiplies bf16 on every level, not on tiles alone */
};

/* Opens the backend; ops->close ends it. bf16 and fp16 work on every level (stored in 16 bits, multiplied in fp32 where
 * the processor cannot). oneDNN's level is a setting of the whole process:
 * the first open decides it. ERR_USAGE: a level that the machine lacks. */
struct ops *cpu_open(const struct cpu_options *options, struct error *err);

#endif

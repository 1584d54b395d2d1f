#include "base/cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static enum vector_level level_of_machine(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2") ||
        !__builtin_cpu_supports("pclmul"))
        return VECTOR_BASE;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512vbmi"))
        return VECTOR_AVX2;
    return VECTOR_AVX512;
#else
    return VECTOR_BASE;
#endif
}

const char *vector_level_name(enum vector_level level)
{
    static const char *const names[] = {
        [VECTOR_BASE] = "base",
        [VECTOR_AVX2] = "avx2",
        [VECTOR_AVX512] = "avx512",
    };
    _Static_assert(sizeof names / sizeof *names == VECTOR_LEVELS, "a name for every level");
    return names[level];
}

static enum vector_level level_wanted(enum vector_level most)
{
    const char *wanted = getenv("DSDATA_CPU"); /* ignored if unknown or above the machine's level */
    for (enum vector_level level = VECTOR_BASE; wanted && level < most; level++)
        if (strcmp(wanted, vector_level_name(level)) == 0)
            return level;
    return most;
}

enum vector_level vector_level(void)
{
    static atomic_int known = -1; /* concurrent callers compute the same value */
    int level = atomic_load_explicit(&known, memory_order_relaxed);
    if (level < 0) {
        level = (int)level_wanted(level_of_machine());
        atomic_store_explicit(&known, level, memory_order_relaxed);
    }
    return (enum vector_level)level;
}

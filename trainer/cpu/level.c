/* The instruction sets of this processor: the highest level, the levels' names, the default precision. */
#include "trainer/cpu/cpu_backend.h"

#include <stdbool.h>

#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether the operating system saves these parts of the state (XCR0). Bits 1, 2: vectors; 5, 6, 7: AVX-512; 17, 18:
 * tiles. */
static bool state_saved(uint32_t parts)
{
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return false;
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & parts) == parts;
}

/* Asks Linux whether the process may use tiles; it must, once, before any thread does (Linux 5.16,
 * Documentation/arch/x86/xstate.rst). */
static bool tiles_allowed(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

enum cpu_level cpu_level(void)
{
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2"))
        return CPU_BASE;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return CPU_AVX2;
    uint32_t a, b, c, d;
    const bool bf16 = __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 5);
    if (!bf16 || !state_saved(0xe6))
        return CPU_AVX512;
    const bool tiles = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & 1u << 22) && (d & 1u << 24);
    return tiles && state_saved(0x60000) && tiles_allowed() ? CPU_AMX : CPU_AVX512_BF16;
}

#else

enum cpu_level cpu_level(void)
{
    return CPU_BASE;
}

#endif

const char *cpu_level_name(enum cpu_level level)
{
    static const char *const names[] = {[CPU_BASE] = "base",
                                        [CPU_AVX2] = "avx2",
                                        [CPU_AVX512] = "avx512",
                                        [CPU_AVX512_BF16] = "avx512_bf16",
                                        [CPU_AMX] = "amx"};
    _Static_assert(sizeof names / sizeof *names == CPU_LEVELS, "a name for every level");
    return names[level];
}

enum precision cpu_default_precision(enum cpu_level level)
{
    return level >= CPU_AVX512_BF16 ? PRECISION_BF16 : PRECISION_FP32;
}

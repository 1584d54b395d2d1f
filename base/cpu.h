/* Which vector instructions our own loops may use. A level never changes a byte of a result, only its time. A source
 * file whose name ends in avx2.c or avx512.c is compiled with the instructions of that level (cmake/rooms.cmake): call
 * nothing in it unless vector_level() allows it. (trainer/cpu has levels of its own, whose bits differ: cpu_level().)
 * Any thread. */
#pragma once

enum vector_level {
    VECTOR_BASE,   /* what every machine of this architecture has */
    VECTOR_AVX2,   /* with BMI2 and PCLMULQDQ: Intel since 2013, AMD since 2017 */
    VECTOR_AVX512, /* with F, BW, VL and VBMI: Intel since 2019, AMD since 2022 */
    VECTOR_LEVELS,
};

/* The best level of this machine, or the lower one that the environment variable DSDATA_CPU=base|avx2|avx512 named at
 * the first call. */
enum vector_level vector_level(void);
const char *vector_level_name(enum vector_level level); /* "avx2" */

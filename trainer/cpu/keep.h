/* Keyed dropout (struct dropout in ops_args.h), sixteen Philox blocks at a time to fill the compiler's vectors. */
#pragma once

#include "base/philox.h"
#include "trainer/cpu/real.h"

/* Sets keep[0 .. columns) to 0 or to the scale (of dropout and of layer drop), for columns first … first + columns - 1
 * of one row; first is a multiple of 8, columns at most KEEP_COLUMNS. It may write all of keep. */
static void keep_columns(real keep[KEEP_COLUMNS], const struct dropout *dropout, uint32_t name, uint32_t number,
                         uint32_t position, int32_t first, int32_t columns)
{
    uint32_t words[KEEP_COLUMNS / 2];
    const int32_t calls = (columns + 127) / 128 * 16; /* 8 columns each */
#pragma omp simd
    for (int32_t i = 0; i < calls; i++)
        philox((uint32_t)(first / 8 + i), position, number, name, dropout->key[0], dropout->key[1], words + 4 * i);
    const uint32_t threshold = dropout->threshold;
    real scale = (real)65536 / (real)(65536 - threshold);
    if (dropout->share > 0)
        scale /= (real)dropout->share;
#pragma omp simd
    for (int32_t i = 0; i < calls * 4; i++) {
        keep[2 * i] = (words[i] & 0xffff) >= threshold ? scale : 0;
        keep[2 * i + 1] = (words[i] >> 16) >= threshold ? scale : 0;
    }
}

/* Keyed dropout (struct dropout in ops_args.h), sixteen Philox blocks at a time to fill the compiler's vectors. Philox
 * 4x32-10: base/philox.h has the plain form, and a test compares the two. */
#ifndef TRAINER_CPU_KEEP_H
#define TRAINER_CPU_KEEP_H

#include "trainer/cpu/real.h"

/* Sets keep[0 .. columns) to 0 or to the scale (of dropout and of layer drop), for columns first … first + columns - 1
 * of one row; first is a multiple of 8, columns at most KEEP_PIECE. It may write all of keep. */
static void keep_piece(real keep[KEEP_PIECE], const struct dropout *dropout, uint32_t name, uint32_t number,
                       uint32_t position, int32_t first, int32_t columns)
{
    uint32_t words[KEEP_PIECE / 2];
    const int32_t calls = (columns + 127) / 128 * 16; /* 8 columns each */
#pragma omp simd
    for (int32_t i = 0; i < calls; i++) {
        uint32_t a = (uint32_t)(first / 8 + i), b = position, c = number, d = name;
        uint32_t key0 = dropout->key[0], key1 = dropout->key[1];
        for (int round = 0; round < 10; round++) {
            const uint64_t left = (uint64_t)a * 0xD2511F53u, right = (uint64_t)c * 0xCD9E8D57u;
            a = (uint32_t)(right >> 32) ^ b ^ key0;
            b = (uint32_t)right;
            c = (uint32_t)(left >> 32) ^ d ^ key1;
            d = (uint32_t)left;
            key0 += 0x9E3779B9u;
            key1 += 0xBB67AE85u;
        }
        words[4 * i] = a;
        words[4 * i + 1] = b;
        words[4 * i + 2] = c;
        words[4 * i + 3] = d;
    }
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

#endif

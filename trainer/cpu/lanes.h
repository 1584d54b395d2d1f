/* Sums over the numbers of a row or a chunk, in an order that no vector width decides: number i belongs to lane i % 16,
 * each lane adds its numbers in order, and then the upper half of the lanes is added to the lower half until one is
 * left (docs/ARITHMETIC.md). 16 floats are one vector of AVX-512, two of AVX2, four of SSE or NEON. */
#pragma once

#include "trainer/cpu/real.h"

#define LANES 16

/* Runs the statements for i = 0 … count - 1, with lane = i % LANES. A count that the compiler knows is what makes it
 * keep an array of lanes in registers. */
#define EACH_LANE(i, lane, count, ...)                                                                                 \
    do {                                                                                                               \
        const size_t count_ = (count);                                                                                 \
        size_t first_ = 0;                                                                                             \
        for (; first_ + LANES <= count_; first_ += LANES) {                                                            \
            _Pragma("omp simd") for (size_t lane = 0; lane < LANES; lane++)                                            \
            {                                                                                                          \
                const size_t i = first_ + lane;                                                                        \
                __VA_ARGS__;                                                                                           \
            }                                                                                                          \
        }                                                                                                              \
        for (size_t lane = 0; first_ + lane < count_; lane++) {                                                        \
            const size_t i = first_ + lane;                                                                            \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
    } while (0)

static inline double sum_double_lanes(double lanes[LANES])
{
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    return lanes[0];
}

static inline real sum_lanes(real lanes[LANES])
{
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    return lanes[0];
}

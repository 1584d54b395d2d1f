/* Gradients to integers and back (ops_args.h): one pass over flat memory each, limited by memory bandwidth, at 24 and
 * 20 bytes per float. */
#pragma once

#include "trainer/cpu/real.h"

#define FIXED_BLOCK 65536 /* numbers of one task */

static void fixed_add_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct fixed_add_args *a = args;
    const size_t first = task * FIXED_BLOCK, end = smaller(first + FIXED_BLOCK, a->count);
    real *gradients = a->gradients;
    int64_t *sums = a->sums, refused = 0;
#pragma omp simd reduction(| : refused)
    for (size_t i = first; i < end; i++) {
        const double product = (double)gradients[i] * a->unit;
        const int64_t kept = fabs(product) < a->limit; /* false for NaN */
        sums[i] += kept ? (int64_t)rint(product) : 0;
        gradients[i] = 0;
        refused |= 1 - kept;
    }
    if (refused)
        __atomic_store_n(a->refused, 1, __ATOMIC_RELAXED);
}

static void fixed_add(struct device *device, const struct fixed_add_args *args)
{
    (void)device;
    parallel(blocks_of(args->count, FIXED_BLOCK), fixed_add_block, args);
}

static void fixed_take_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct fixed_take_args *a = args;
    const size_t first = task * FIXED_BLOCK, end = smaller(first + FIXED_BLOCK, a->count);
    const real step = (real)(1 / a->unit);
    real *gradients = a->gradients;
    int64_t *sums = a->sums;
#pragma omp simd
    for (size_t i = first; i < end; i++) {
        gradients[i] = (real)sums[i] * step;
        sums[i] = 0;
    }
}

static void fixed_take(struct device *device, const struct fixed_take_args *args)
{
    (void)device;
    parallel(blocks_of(args->count, FIXED_BLOCK), fixed_take_block, args);
}

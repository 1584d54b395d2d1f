/* What an optimizer does to flat memory, chunk by chunk: sums of squares and Adam's update. */
#ifndef LEVEL

#include "trainer/cpu/device.h"

#define CHUNKS 4 /* chunks of one task */

struct squares_args {
    double *squares;
    const void *values;
    const struct param_chunk *chunks;
    size_t chunk_count;
};

struct adam_args {
    void *params, *first, *second;
    const void *gradients;
    const struct param_chunk *chunks;
    size_t chunk_count;
    const struct adam_step *step;
};

#define EACH "trainer/cpu/update.c"
#include "trainer/cpu/each.h"
#else

static void NAME(squares_block)(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct squares_args *a = args;
    const size_t end = smaller((task + 1) * CHUNKS, a->chunk_count);
    for (size_t chunk = task * CHUNKS; chunk < end; chunk++) {
        const real *values = (const real *)a->values + a->chunks[chunk].offset;
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int32_t i = 0; i < a->chunks[chunk].count; i++)
            sum += (double)values[i] * (double)values[i];
        a->squares[chunk] = sum;
    }
}

static void NAME(squares)(struct device *device, double *squares, const void *values, const struct param_chunk *chunks,
                          size_t chunk_count)
{
    (void)device;
    const struct squares_args args = {squares, values, chunks, chunk_count};
    parallel(blocks_of(chunk_count, CHUNKS), NAME(squares_block), &args);
}

static void NAME(adam_block)(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct adam_args *a = args;
    const struct adam_step *step = a->step;
    const real factor = (real)step->factor, beta1 = (real)step->beta1, beta2 = (real)step->beta2;
    const real rest1 = (real)(1 - step->beta1), rest2 = (real)(1 - step->beta2);
    const real rate = (real)(step->rate / step->correction1), epsilon = (real)step->epsilon;
    const real root = (real)(1 / sqrt(step->correction2));
    const size_t end = smaller((task + 1) * CHUNKS, a->chunk_count);
    for (size_t chunk = task * CHUNKS; chunk < end; chunk++) {
        const size_t offset = a->chunks[chunk].offset, count = (size_t)a->chunks[chunk].count;
        const double decay = a->chunks[chunk].decay ? step->weight_decay : 0;
        const real added = (real)(step->decoupled ? 0 : decay),
                   shrink = (real)(step->decoupled ? step->rate * decay : 0);
        real *p = (real *)a->params + offset, *m = (real *)a->first + offset, *v = (real *)a->second + offset;
        const real *gradients = (const real *)a->gradients + offset;
#pragma omp simd
        for (size_t i = 0; i < count; i++) {
            const real g = gradients[i] * factor + added * p[i];
            m[i] = beta1 * m[i] + rest1 * g;
            v[i] = beta2 * v[i] + rest2 * g * g;
            p[i] -= rate * m[i] / (SQRT(v[i]) * root + epsilon) + shrink * p[i];
        }
    }
}

static void NAME(adam)(struct device *device, void *params, void *first, void *second, const void *gradients,
                       const struct param_chunk *chunks, size_t chunk_count, const struct adam_step *step)
{
    (void)device;
    const struct adam_args args = {params, first, second, gradients, chunks, chunk_count, step};
    parallel(blocks_of(chunk_count, CHUNKS), NAME(adam_block), &args);
}

void NAME(install_update)(struct ops *ops)
{
    ops->squares = NAME(squares);
    ops->adam = NAME(adam);
}

#endif

/* What an optimizer does to flat memory, chunk by chunk: sums of squares, Adam's update in one pass, the others' in
 * two. Formulas stand at struct update_step (ops.h). */
#ifndef LEVEL

#include "trainer/cpu/device.h"

#define CHUNKS 4 /* chunks of one task */

struct squares_args {
    double *squares;
    const void *values;
    const struct param_chunk *chunks;
    size_t chunk_count;
};

struct update_args {
    const struct update_memory *memory;
    const struct param_chunk *chunks;
    size_t chunk_count;
    const struct update_step *step;
    double *sums;         /* of moments */
    const double *shares; /* of apply */
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

/* One chunk's operands. */
struct NAME(operands) {
    real *p, *m, *v;
    const real *gradients;
    size_t count;
    real factor, beta1, beta2, share1, share2, lead, root, epsilon;
    real decay, added; /* beside the step, or through the gradient: one of them is 0 */
};

static struct NAME(operands) NAME(operands_of)(const struct update_args *a, const struct param_chunk *chunk)
{
    const struct update_step *step = a->step;
    const double decay = chunk->decay ? step->weight_decay : step->vector_decay;
    return (struct NAME(operands)){
        .p = (real *)a->memory->params + chunk->offset,
        .m = (real *)a->memory->first + chunk->offset,
        .v = (real *)a->memory->second + chunk->offset,
        .gradients = (const real *)a->memory->gradients + chunk->offset,
        .count = (size_t)chunk->count,
        .factor = (real)step->factors[chunk->tensor],
        .beta1 = (real)step->beta1,
        .beta2 = (real)step->beta2,
        .share1 = (real)step->share,
        .share2 = (real)(1 - step->beta2),
        .lead = (real)step->lead,
        .root = (real)step->root,
        .epsilon = (real)step->epsilon,
        .decay = (real)(step->decoupled ? decay : 0),
        .added = (real)(step->decoupled ? 0 : decay),
    };
}

static void NAME(adam_block)(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct update_args *a = args;
    const size_t end = smaller((task + 1) * CHUNKS, a->chunk_count);
    for (size_t chunk = task * CHUNKS; chunk < end; chunk++) {
        const struct NAME(operands) o = NAME(operands_of)(a, &a->chunks[chunk]);
        const real rate = (real)(a->step->rate * a->step->lead), shrink = (real)a->step->rate * o.decay;
#pragma omp simd
        for (size_t i = 0; i < o.count; i++) {
            const real g = o.gradients[i] * o.factor + o.added * o.p[i];
            o.m[i] = o.beta1 * o.m[i] + o.share1 * g;
            o.v[i] = o.beta2 * o.v[i] + o.share2 * g * g;
            o.p[i] -= rate * o.m[i] / (SQRT(o.v[i]) * o.root + o.epsilon) + shrink * o.p[i];
        }
    }
}

static void NAME(moments_block)(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct update_args *a = args;
    const size_t end = smaller((task + 1) * CHUNKS, a->chunk_count);
    const real slopes = a->step->slopes;
    for (size_t chunk = task * CHUNKS; chunk < end; chunk++) {
        const struct NAME(operands) o = NAME(operands_of)(a, &a->chunks[chunk]);
        double pp = 0, uu = 0, cc = 0;
#pragma omp simd reduction(+ : pp, uu, cc)
        for (size_t i = 0; i < o.count; i++) {
            const real p = o.p[i], g = o.gradients[i] * o.factor + o.added * p;
            o.m[i] = o.beta1 * o.m[i] + o.share1 * g;
            o.v[i] = o.beta2 * o.v[i] + o.share2 * g * g;
            const real d = SQRT(o.v[i]) * o.root + o.epsilon;
            const real u = o.lead * o.m[i] / d + o.decay * p, c = slopes * (g / d + o.decay * p);
            pp += (double)p * (double)p;
            uu += (double)u * (double)u;
            cc += (double)c * (double)c;
        }
        a->sums[3 * chunk] = pp;
        a->sums[3 * chunk + 1] = uu;
        a->sums[3 * chunk + 2] = cc;
    }
}

static void NAME(apply_block)(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct update_args *a = args;
    const size_t end = smaller((task + 1) * CHUNKS, a->chunk_count);
    for (size_t chunk = task * CHUNKS; chunk < end; chunk++) {
        const struct NAME(operands) o = NAME(operands_of)(a, &a->chunks[chunk]);
        const double *shares = a->shares + 2 * (size_t)a->chunks[chunk].tensor;
        const real share_u = (real)shares[0], share_c = (real)shares[1];
#pragma omp simd
        for (size_t i = 0; i < o.count; i++) {
            const real p = o.p[i], g = o.gradients[i] * o.factor + o.added * p;
            const real d = SQRT(o.v[i]) * o.root + o.epsilon;
            const real u = o.lead * o.m[i] / d + o.decay * p, c = g / d + o.decay * p;
            o.p[i] = p - (share_u * u + share_c * c);
        }
    }
}

static void NAME(adam)(struct device *device, const struct update_memory *memory, const struct param_chunk *chunks,
                       size_t chunk_count, const struct update_step *step)
{
    (void)device;
    const struct update_args args = {memory, chunks, chunk_count, step, NULL, NULL};
    parallel(blocks_of(chunk_count, CHUNKS), NAME(adam_block), &args);
}

static void NAME(moments)(struct device *device, double *sums, const struct update_memory *memory,
                          const struct param_chunk *chunks, size_t chunk_count, const struct update_step *step)
{
    (void)device;
    const struct update_args args = {memory, chunks, chunk_count, step, sums, NULL};
    parallel(blocks_of(chunk_count, CHUNKS), NAME(moments_block), &args);
}

static void NAME(apply)(struct device *device, const struct update_memory *memory, const struct param_chunk *chunks,
                        size_t chunk_count, const struct update_step *step, const double *shares)
{
    (void)device;
    const struct update_args args = {memory, chunks, chunk_count, step, NULL, shares};
    parallel(blocks_of(chunk_count, CHUNKS), NAME(apply_block), &args);
}

void NAME(install_update)(struct ops *ops)
{
    ops->squares = NAME(squares);
    ops->adam = NAME(adam);
    ops->moments = NAME(moments);
    ops->apply = NAME(apply);
}

#endif

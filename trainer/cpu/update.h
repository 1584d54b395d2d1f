/* What an optimizer does to flat memory, chunk by chunk: sums of squares; the update, in one pass for Adam and in two
 * for the others; and between the passes the few numbers per tensor (backend/update_numbers.h), which are always
 * doubles. */
#pragma once

#include "trainer/cpu/lanes.h"

#define CHUNKS 4 /* chunks of one task */

struct update_args {
    const struct update_work *work;
    const struct update_memory *memory;
    const struct update_step *step;
    struct chunk_range range;
};

/* Chunks of a task. */
static struct chunk_range task_chunks(struct chunk_range range, size_t task)
{
    const size_t from = range.from + task * CHUNKS;
    return (struct chunk_range){from, smaller(from + CHUNKS, range.to)};
}

static void each_task(struct chunk_range range, void (*block)(const void *args, size_t task, int thread),
                      const void *args)
{
    parallel(blocks_of(range.to - range.from, CHUNKS), block, args);
}

static void factors(struct device *device, const struct factors_args *args)
{
    (void)device;
    const struct update_work *work = args->work;
    const struct update_step *step = args->step;
    double all = 0;
    for (size_t i = 0; i < work->chunk_count; i++)
        all += work->squares[i];
    record_step(work->record, step, all, args->sums);
    for (size_t tensor = 0; tensor < work->tensors; tensor++) {
        double own = 0;
        for (int32_t i = work->firsts[tensor]; i < work->firsts[tensor + 1]; i++)
            own += work->squares[i];
        work->factors[tensor] = tensor_factor(step, work->record->factor, own);
    }
}

static void shares(struct device *device, const struct shares_args *args)
{
    (void)device;
    const struct update_work *work = args->work;
    for (size_t chunk = args->range.from; chunk < args->range.to;) {
        const size_t tensor = (size_t)work->chunks[chunk].tensor;
        const int32_t first = work->firsts[tensor];
        double sums[3] = {0};
        chunk = (size_t)work->firsts[tensor + 1];
        for (int32_t i = first; i < work->firsts[tensor + 1]; i++)
            for (int k = 0; k < 3; k++)
                sums[k] += work->sums[3 * (size_t)i + (size_t)k];
        const struct param_chunk *begin = &work->chunks[first], *last = &work->chunks[chunk - 1];
        const double count = (double)(last->offset + (size_t)last->count - begin->offset);
        const struct tensor_shares found = tensor_shares(args->step, begin->decay, sums, count);
        work->shares[2 * tensor] = found.u;
        work->shares[2 * tensor + 1] = found.c;
    }
}

static void update(const struct update_args *args, void (*block)(const void *args, size_t task, int thread))
{
    if (!args->work->record->skipped)
        each_task(args->range, block, args);
}

static void squares_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct squares_args *a = args;
    const struct chunk_range chunks = task_chunks(a->range, task);
    for (size_t chunk = chunks.from; chunk < chunks.to; chunk++) {
        const real *values = (const real *)a->values + (a->work->chunks[chunk].offset - a->from);
        double squares[LANES] = {0};
        EACH_LANE(i, lane, (size_t)a->work->chunks[chunk].count,
                  squares[lane] += (double)values[i] * (double)values[i]);
        a->work->squares[chunk] = sum_double_lanes(squares);
    }
}

static void squares(struct device *device, const struct squares_args *args)
{
    (void)device;
    each_task(args->range, squares_block, args);
}

/* The operands of one chunk. */
struct operands {
    real *p, *m, *v;
    const real *gradients;
    size_t count;
    real factor, beta1, beta2, weight1, weight2, correction1, correction2, epsilon;
    real decay, added; /* decoupled weight decay, or that added to the gradient: one of them is 0 */
};

static struct operands operands_of(const struct update_args *a, const struct param_chunk *chunk)
{
    const struct update_step *step = a->step;
    const double decay = chunk->decay ? step->weight_decay : step->vector_decay;
    return (struct operands){
        .p = (real *)a->memory->params + (chunk->offset - a->memory->params_from),
        .m = (real *)a->memory->first + (chunk->offset - a->memory->held_from),
        .v = (real *)a->memory->second + (chunk->offset - a->memory->held_from),
        .gradients = (const real *)a->memory->gradients + (chunk->offset - a->memory->gradients_from),
        .count = (size_t)chunk->count,
        .factor = (real)a->work->factors[chunk->tensor],
        .beta1 = (real)step->beta1,
        .beta2 = (real)step->beta2,
        .weight1 = (real)step->weight1,
        .weight2 = (real)(1 - step->beta2),
        .correction1 = (real)step->correction1,
        .correction2 = (real)step->correction2,
        .epsilon = (real)step->epsilon,
        .decay = (real)(step->decoupled ? decay : 0),
        .added = (real)(step->decoupled ? 0 : decay),
    };
}

static void adam_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct update_args *a = args;
    const struct chunk_range chunks = task_chunks(a->range, task);
    for (size_t chunk = chunks.from; chunk < chunks.to; chunk++) {
        const struct operands o = operands_of(a, &a->work->chunks[chunk]);
        const real rate = (real)(a->step->rate * a->step->correction1), shrink = (real)a->step->rate * o.decay;
#pragma omp simd
        for (size_t i = 0; i < o.count; i++) {
            const real g = o.gradients[i] * o.factor + o.added * o.p[i];
            o.m[i] = o.beta1 * o.m[i] + o.weight1 * g;
            o.v[i] = o.beta2 * o.v[i] + o.weight2 * g * g;
            o.p[i] -= rate * o.m[i] / (SQRT(o.v[i]) * o.correction2 + o.epsilon) + shrink * o.p[i];
        }
    }
}

/* The moments of number i; adds the squares of p, u and c to the sums. */
static inline __attribute__((always_inline)) void
moments_of(const struct operands *o, size_t i, enum gradient_term term, double *pp, double *uu, double *cc)
{
    const real p = o->p[i], g = o->gradients[i] * o->factor + o->added * p;
    o->m[i] = o->beta1 * o->m[i] + o->weight1 * g;
    o->v[i] = o->beta2 * o->v[i] + o->weight2 * g * g;
    const real root = SQRT(o->v[i]), d = root * o->correction2 + o->epsilon;
    const real u = o->correction1 * o->m[i] / d + o->decay * p;
    const real c = term == TERM_NONE        ? 0
                   : term == TERM_DIRECTION ? g / d + o->decay * p
                                            : g / (root > o->epsilon ? root : o->epsilon);
    *pp += (double)p * (double)p;
    *uu += (double)u * (double)u;
    *cc += (double)c * (double)c;
}

static void moments_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct update_args *a = args;
    const struct chunk_range chunks = task_chunks(a->range, task);
    const enum gradient_term term = gradient_term(a->step->kind);
    for (size_t chunk = chunks.from; chunk < chunks.to; chunk++) {
        const struct operands o = operands_of(a, &a->work->chunks[chunk]);
        double pp[LANES] = {0}, uu[LANES] = {0}, cc[LANES] = {0};
        EACH_LANE(i, lane, o.count, moments_of(&o, i, term, &pp[lane], &uu[lane], &cc[lane]));
        a->work->sums[3 * chunk] = sum_double_lanes(pp);
        a->work->sums[3 * chunk + 1] = sum_double_lanes(uu);
        a->work->sums[3 * chunk + 2] = sum_double_lanes(cc);
    }
}

static void apply_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct update_args *a = args;
    const struct chunk_range chunks = task_chunks(a->range, task);
    for (size_t chunk = chunks.from; chunk < chunks.to; chunk++) {
        const struct operands o = operands_of(a, &a->work->chunks[chunk]);
        const double *of_tensor = a->work->shares + 2 * (size_t)a->work->chunks[chunk].tensor;
        const real share_u = (real)of_tensor[0], share_c = (real)of_tensor[1];
#pragma omp simd
        for (size_t i = 0; i < o.count; i++) {
            const real p = o.p[i], g = o.gradients[i] * o.factor + o.added * p;
            const real d = SQRT(o.v[i]) * o.correction2 + o.epsilon;
            const real u = o.correction1 * o.m[i] / d + o.decay * p, c = g / d + o.decay * p;
            o.p[i] = p - (share_u * u + share_c * c);
        }
    }
}

static void adam(struct device *device, const struct adam_args *args)
{
    (void)device;
    update(&(struct update_args){args->work, args->memory, args->step, args->range}, adam_block);
}

static void moments(struct device *device, const struct moments_args *args)
{
    (void)device;
    update(&(struct update_args){args->work, args->memory, args->step, args->range}, moments_block);
}

static void apply(struct device *device, const struct apply_args *args)
{
    (void)device;
    update(&(struct update_args){args->work, args->memory, args->step, args->range}, apply_block);
}

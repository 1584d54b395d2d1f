/* What an optimizer does to a whole matrix besides products (linear.h): chunk by chunk of its flat memory, transposed
 * where the matrix has more rows than columns. */
#pragma once

#include "trainer/cpu/update.h"

/* Momentum and gradient of a chunk. The direction is beta * m + share * g with `ahead`, else m. */
struct momentum_of {
    real *m;
    const real *gradients;
    real factor, beta, share;
    bool ahead;
};

static struct momentum_of momentum_of(const struct momentum_args *a, const struct param_chunk *chunk)
{
    return (struct momentum_of){
        .m = (real *)a->memory->first + (chunk->offset - a->memory->held_from),
        .gradients = (const real *)a->memory->gradients + (chunk->offset - a->memory->gradients_from),
        .factor = (real)a->work->factors[chunk->tensor],
        .beta = (real)a->beta,
        .share = (real)(1 - a->beta),
        .ahead = a->ahead,
    };
}

static real ahead_of(const struct momentum_of *o, size_t i)
{
    return o->ahead ? o->beta * o->m[i] + o->share * (o->gradients[i] * o->factor) : o->m[i];
}

static void momentum_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct momentum_args *a = args;
    const struct chunk_range chunks = task_chunks(a->matrix->chunks, task);
    for (size_t chunk = chunks.from; chunk < chunks.to; chunk++) {
        const struct momentum_of o = momentum_of(a, &a->work->chunks[chunk]);
        const size_t count = (size_t)a->work->chunks[chunk].count;
        double squares[LANES] = {0};
        EACH_LANE(i, lane, count, o.m[i] = o.beta * o.m[i] + o.share * (o.gradients[i] * o.factor);
                  const double u = (double)ahead_of(&o, i); squares[lane] += u * u);
        a->work->sums[3 * chunk] = sum_double_lanes(squares);
    }
}

static void momentum(struct device *device, const struct momentum_args *args)
{
    (void)device;
    if (!args->work->record->skipped)
        each_task(args->matrix->chunks, momentum_block, args);
}

/* ---- where a chunk's numbers lie in the wide matrix ---- */

/* A stretch of a chunk within one row of the matrix. */
struct stretch {
    size_t begin, end; /* in the chunk */
    size_t at, step;   /* in the wide matrix: the place of the first number, the distance to the next */
};

/* The stretch that begins at number `begin` of a chunk of `count` numbers; the chunk begins at number `first` of the
 * matrix. */
static struct stretch stretch_of(const struct update_matrix *matrix, size_t first, size_t begin, size_t count)
{
    const size_t rows = (size_t)matrix->rows, columns = (size_t)matrix->columns;
    const size_t row = (first + begin) / columns, column = (first + begin) % columns;
    const bool wide = rows <= columns;
    return (struct stretch){
        .begin = begin,
        .end = smaller(begin + columns - column, count),
        .at = wide ? first + begin : column * rows + row,
        .step = wide ? 1 : rows,
    };
}

struct direction {
    const struct direction_args *args;
    real scale;
};

static void direction_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct direction *d = args;
    const struct momentum_args *a = &d->args->momentum;
    const struct chunk_range chunks = task_chunks(a->matrix->chunks, task);
    storage *x = d->args->x;
    for (size_t chunk = chunks.from; chunk < chunks.to; chunk++) {
        const struct momentum_of o = momentum_of(a, &a->work->chunks[chunk]);
        const size_t count = (size_t)a->work->chunks[chunk].count;
        const size_t first = (chunk - a->matrix->chunks.from) * PARAM_CHUNK;
        for (size_t begin = 0; begin < count;) {
            const struct stretch s = stretch_of(a->matrix, first, begin, count);
            for (size_t i = s.begin; i < s.end; i++)
                x[s.at + (i - s.begin) * s.step] = STORE(d->scale * ahead_of(&o, i));
            begin = s.end;
        }
    }
}

static void direction(struct device *device, const struct direction_args *args)
{
    (void)device;
    const struct chunk_range chunks = args->momentum.matrix->chunks;
    double squares = 0;
    for (size_t chunk = chunks.from; chunk < chunks.to; chunk++)
        squares += args->momentum.work->sums[3 * chunk];
    each_task(chunks, direction_block, &(struct direction){args, (real)(1 / fmax(sqrt(squares), args->epsilon))});
}

static void combine_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct combine_args *a = args;
    const size_t from = task * PARAM_CHUNK, end = smaller(from + PARAM_CHUNK, a->count);
    const real share_x = (real)a->a, share_y = (real)a->b;
    const storage *x = a->x;
    storage *y = a->y;
#pragma omp simd
    for (size_t i = from; i < end; i++)
        y[i] = STORE(share_x * LOAD(x[i]) + share_y * LOAD(y[i]));
}

static void combine(struct device *device, const struct combine_args *args)
{
    (void)device;
    parallel(blocks_of(args->count, PARAM_CHUNK), combine_block, args);
}

static void shift_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct shift_args *a = args;
    const struct chunk_range chunks = task_chunks(a->matrix->chunks, task);
    const real keep = (real)a->keep, scale = (real)a->scale;
    const storage *x = a->x;
    for (size_t chunk = chunks.from; chunk < chunks.to; chunk++) {
        real *p = (real *)a->memory->params + a->work->chunks[chunk].offset;
        const size_t count = (size_t)a->work->chunks[chunk].count;
        const size_t first = (chunk - a->matrix->chunks.from) * PARAM_CHUNK;
        for (size_t begin = 0; begin < count;) {
            const struct stretch s = stretch_of(a->matrix, first, begin, count);
            for (size_t i = s.begin; i < s.end; i++)
                p[i] = keep * p[i] - scale * LOAD(x[s.at + (i - s.begin) * s.step]);
            begin = s.end;
        }
    }
}

static void shift(struct device *device, const struct shift_args *args)
{
    (void)device;
    if (!args->work->record->skipped)
        each_task(args->matrix->chunks, shift_block, args);
}

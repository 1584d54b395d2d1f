/* LayerNorm of dropout(x) + residual, in blocks of rows. z is kept for the backward pass as it is stored, rounded, and
 * the statistics are those of the rounded z. The backward pass leaves each block's part of the sums over rows in
 * scratch; the parts are added in the order of the blocks afterwards. */
#pragma once

#include "trainer/cpu/keep.h"
#include "trainer/cpu/lanes.h"
#include "trainer/cpu/partials.h"
#include "trainer/cpu/real.h"

/* z = x * keep + residual of one row. */
static void add_row(storage *z, const storage *x, const storage *residual, const struct norm_args *a, size_t row)
{
    const size_t hidden = (size_t)a->hidden;
    const bool drops = dropout_acts(a->dropout);
    real keep[KEEP_COLUMNS];
    for (size_t i = 0; i < KEEP_COLUMNS; i++)
        keep[i] = 1;
    for (size_t first = 0; first < hidden; first += KEEP_COLUMNS) {
        const size_t count = smaller(KEEP_COLUMNS, hidden - first);
        if (drops)
            keep_columns(keep, a->dropout, a->dropout->name, a->batch->numbers[a->batch->sequence_of[row]],
                         (uint32_t)a->batch->positions[row], (int32_t)first, (int32_t)count);
        if (residual)
#pragma omp simd
            for (size_t i = 0; i < count; i++)
                z[first + i] = STORE(LOAD(x[first + i]) * keep[i] + LOAD(residual[first + i]));
        else
#pragma omp simd
            for (size_t i = 0; i < count; i++)
                z[first + i] = STORE(LOAD(x[first + i]) * keep[i]);
    }
}

static void norm_row(storage *y, const storage *z, real *statistics, const struct norm_args *a)
{
    const real *gain = a->gain, *bias = a->bias;
    const size_t hidden = (size_t)a->hidden;
    real sums[LANES] = {0}, squares[LANES] = {0};
    EACH_LANE(i, lane, hidden, sums[lane] += LOAD(z[i]));
    const real mean = sum_lanes(sums) / (real)hidden;
    EACH_LANE(i, lane, hidden, squares[lane] += (LOAD(z[i]) - mean) * (LOAD(z[i]) - mean));
    const real scale = (real)(1 / sqrt((double)sum_lanes(squares) / (double)hidden + a->epsilon));
    if (bias)
#pragma omp simd
        for (size_t i = 0; i < hidden; i++)
            y[i] = STORE((LOAD(z[i]) - mean) * scale * gain[i] + bias[i]);
    else
#pragma omp simd
        for (size_t i = 0; i < hidden; i++)
            y[i] = STORE((LOAD(z[i]) - mean) * scale * gain[i]);
    statistics[0] = mean;
    statistics[1] = scale;
}

static void norm_rows(const void *args, size_t first, size_t end)
{
    const struct norm_args *a = args;
    const size_t hidden = (size_t)a->hidden;
    for (size_t row = first; row < end; row++) {
        const size_t at = row * hidden;
        storage *y = (storage *)a->y + at, *z = (storage *)a->z + at;
        real *statistics = (real *)a->statistics + row * 2;
        if (row >= (size_t)a->rows.live) {
            memset(y, 0, hidden * sizeof *y);
            memset(z, 0, hidden * sizeof *z);
            memset(statistics, 0, 2 * sizeof *statistics);
            continue;
        }
        const storage *residual = a->residual ? (const storage *)a->residual + at : NULL;
        if (a->z != a->x || residual || dropout_acts(a->dropout))
            add_row(z, (const storage *)a->x + at, residual, a, row);
        norm_row(y, z, statistics, a);
    }
}

static void norm(struct device *device, const struct norm_args *args)
{
    each_rows(device, (size_t)args->rows.total, BLOCK_ROWS, norm_rows, args);
}

/* With n = (z - mean) * scale and g = dy * gain: dz (+)= scale * (g - mean of g - n * mean of g n), over the row; dx =
 * dz * keep. */
static void norm_backward_row(const struct norm_backward_args *a, size_t row, real *dgain, real *dbias)
{
    const size_t hidden = (size_t)a->hidden, at = row * hidden;
    const bool drops = dropout_acts(a->dropout);
    const storage *dy = (const storage *)a->dy + at, *z = (const storage *)a->z + at;
    storage *dz = (storage *)a->dz + at, *dx = a->dx ? (storage *)a->dx + at : NULL;
    const real *gain = a->gain, *statistics = (const real *)a->statistics + row * 2;
    const real mean = statistics[0], scale = statistics[1];
    real sums[LANES] = {0}, products[LANES] = {0};
    EACH_LANE(i, lane, hidden, const real normal = (LOAD(z[i]) - mean) * scale; const real dout = LOAD(dy[i]);
              dgain[i] += dout * normal; dbias[i] += dout; sums[lane] += dout * gain[i];
              products[lane] += dout * gain[i] * normal);
    const real sum = sum_lanes(sums) / (real)hidden, product = sum_lanes(products) / (real)hidden;
    /* The means need the whole row, so it is read a second time. Block by block, so that several short loops, each of
     * which is vectorized, share what is still in the cache. */
    real keep[KEEP_COLUMNS], dsum[KEEP_COLUMNS];
    for (size_t i = 0; i < KEEP_COLUMNS; i++)
        keep[i] = 1;
    for (size_t first = 0; first < hidden; first += KEEP_COLUMNS) {
        const size_t count = smaller(KEEP_COLUMNS, hidden - first);
#pragma omp simd
        for (size_t i = 0; i < count; i++) {
            const real normal = (LOAD(z[first + i]) - mean) * scale;
            dsum[i] = scale * (LOAD(dy[first + i]) * gain[first + i] - sum - normal * product);
        }
        if (a->adds)
#pragma omp simd
            for (size_t i = 0; i < count; i++)
                dsum[i] += LOAD(dz[first + i]);
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            dz[first + i] = STORE(dsum[i]);
        if (!dx)
            continue;
        if (drops)
            keep_columns(keep, a->dropout, a->dropout->name, a->batch->numbers[a->batch->sequence_of[row]],
                         (uint32_t)a->batch->positions[row], (int32_t)first, (int32_t)count);
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            dx[first + i] = STORE(dsum[i] * keep[i]);
    }
}

static void norm_backward_part(const struct norm_backward_args *a, size_t first, size_t end, real *dgain, real *dbias)
{
    const size_t hidden = (size_t)a->hidden;
    for (size_t row = first; row < end; row++) {
        const size_t at = row * hidden;
        storage *dz = (storage *)a->dz + at, *dx = a->dx ? (storage *)a->dx + at : NULL;
        if (row >= (size_t)a->rows.live) {
            memset(dz, 0, hidden * sizeof *dz);
            if (dx)
                memset(dx, 0, hidden * sizeof *dx);
            continue;
        }
        norm_backward_row(a, row, dgain, dbias);
    }
}

static void norm_backward_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct norm_backward_args *a = args;
    const size_t hidden = (size_t)a->hidden, first = task * BLOCK_ROWS;
    real *dgain = (real *)a->scratch + task * 2 * hidden;
    memset(dgain, 0, 2 * hidden * sizeof *dgain);
    norm_backward_part(a, first, smaller(first + BLOCK_ROWS, (size_t)a->rows.total), dgain, dgain + hidden);
}

/* With many threads, the same in two passes of more tasks each: first the sums over rows, by blocks of rows and slices
 * of columns, while dy is still there (dx may overwrite it); then the rows, whose sums are discarded. */
struct norm_passes {
    const struct norm_backward_args *args;
    size_t slice, across; /* columns of a slice, and the number of slices */
    size_t block;         /* rows of a task of the second pass */
};

static void norm_sums_task(const void *args, size_t task, int thread)
{
    const struct norm_passes *p = args;
    const struct norm_backward_args *a = p->args;
    const size_t hidden = (size_t)a->hidden, part = task / p->across, from = task % p->across * p->slice;
    const size_t count = smaller(p->slice, hidden - from), end = smaller((part + 1) * BLOCK_ROWS, (size_t)a->rows.live);
    real *dgain = (real *)a->scratch + part * 2 * hidden + from, *dbias = dgain + hidden;
    (void)thread;
    memset(dgain, 0, count * sizeof *dgain);
    memset(dbias, 0, count * sizeof *dbias);
    for (size_t row = part * BLOCK_ROWS; row < end; row++) {
        const storage *dy = (const storage *)a->dy + row * hidden + from,
                      *z = (const storage *)a->z + row * hidden + from;
        const real *statistics = (const real *)a->statistics + row * 2;
        const real mean = statistics[0], scale = statistics[1];
#pragma omp simd
        for (size_t i = 0; i < count; i++) {
            const real normal = (LOAD(z[i]) - mean) * scale, dout = LOAD(dy[i]);
            dgain[i] += dout * normal;
            dbias[i] += dout;
        }
    }
}

static void norm_rows_task(const void *args, size_t task, int thread)
{
    const struct norm_passes *p = args;
    const size_t hidden = (size_t)p->args->hidden, first = task * p->block;
    real *unread = (real *)p->args->scratch + (size_t)thread * 2 * hidden;
    norm_backward_part(p->args, first, smaller(first + p->block, (size_t)p->args->rows.total), unread, unread + hidden);
}

static void norm_backward(struct device *device, const struct norm_backward_args *args)
{
    const size_t rows = (size_t)args->rows.total, hidden = (size_t)args->hidden, blocks = blocks_of(rows, BLOCK_ROWS);
    const bool once = is_enough(device, blocks);
    const size_t slice = column_slice(device, blocks, hidden);
    const struct norm_passes passes = {args, slice, blocks_of(hidden, slice), row_block(device, rows, BLOCK_ROWS)};
    const real *partials = args->scratch; /* [blocks][2][hidden] of dgain, dbias */
    if (once)
        parallel(blocks, norm_backward_block, args);
    else
        parallel(blocks * passes.across, norm_sums_task, &passes);
    add_partials(args->dgain, partials, blocks, 2 * hidden, hidden);
    if (args->dbias)
        add_partials(args->dbias, partials + hidden, blocks, 2 * hidden, hidden);
    if (!once)
        parallel(blocks_of(rows, passes.block), norm_rows_task, &passes);
}

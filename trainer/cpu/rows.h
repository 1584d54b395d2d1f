/* Work on whole rows and on flat numbers: picking and adding rows, means of sequences, tanh, gated units, rotary
 * positions, GELU's slope, conversion to storage, zeros. */
#pragma once

#include "trainer/cpu/functions.h"
#include "trainer/cpu/real.h"

#define CONVERT_BLOCK 65536             /* numbers of one task */
#define CLEAR_BLOCK   ((size_t)1 << 20) /* bytes of one task */
#define MEAN_COLUMNS  64                /* summed at a time */

static void gather_rows(const void *args, size_t first, size_t end)
{
    const struct gather_args *a = args;
    const size_t hidden = (size_t)a->hidden;
    for (size_t row = first; row < end; row++) {
        storage *y = (storage *)a->y + row * hidden;
        if (row < (size_t)a->rows.live)
            memcpy(y, (const storage *)a->x + (size_t)a->index[row] * hidden, hidden * sizeof *y);
        else
            memset(y, 0, hidden * sizeof *y);
    }
}

static void gather(struct device *device, const struct gather_args *args)
{
    each_rows(device, (size_t)args->rows.total, BLOCK_ROWS, gather_rows, args);
}

static void scatter_rows(const void *args, size_t first, size_t end)
{
    const struct scatter_args *a = args;
    const size_t hidden = (size_t)a->hidden;
    for (size_t row = first; row < end; row++) {
        storage *y = (storage *)a->y + (size_t)a->index[row] * hidden;
        const storage *x = (const storage *)a->x + row * hidden;
#pragma omp simd
        for (size_t i = 0; i < hidden; i++)
            y[i] = STORE(LOAD(y[i]) + LOAD(x[i]));
    }
}

static void scatter(struct device *device, const struct scatter_args *args)
{
    each_rows(device, (size_t)args->rows.live, BLOCK_ROWS, scatter_rows, args);
}

static void sequence_mean_rows(const void *args, size_t first, size_t end)
{
    const struct sequence_mean_args *a = args;
    const size_t hidden = (size_t)a->hidden;
    for (size_t row = first; row < end; row++) {
        storage *y = (storage *)a->y + row * hidden;
        memset(y, 0, hidden * sizeof *y);
        if (row >= (size_t)a->rows.live)
            continue;
        const int32_t *starts = a->batch->starts + a->batch->sequence_of[a->index[row]];
        for (size_t at = 0; at < hidden; at += MEAN_COLUMNS) {
            const size_t count = smaller(hidden - at, MEAN_COLUMNS);
            double sums[MEAN_COLUMNS] = {0};
            for (size_t r = (size_t)starts[0]; r < (size_t)starts[1]; r++) {
                const storage *x = (const storage *)a->x + r * hidden + at;
                for (size_t i = 0; i < count; i++)
                    sums[i] += (double)LOAD(x[i]);
            }
            for (size_t i = 0; i < count; i++)
                y[at + i] = STORE((real)(sums[i] / (starts[1] - starts[0])));
        }
    }
}

static void sequence_mean(struct device *device, const struct sequence_mean_args *args)
{
    each_rows(device, (size_t)args->rows.total, 1, sequence_mean_rows, args);
}

static void sequence_mean_backward_rows(const void *args, size_t first, size_t end)
{
    const struct sequence_mean_backward_args *a = args;
    const size_t hidden = (size_t)a->hidden;
    for (size_t row = first; row < end; row++) {
        const int32_t *starts = a->batch->starts + a->batch->sequence_of[a->index[row]];
        const storage *dy = (const storage *)a->dy + row * hidden;
        const real length = (real)(starts[1] - starts[0]);
        for (size_t r = (size_t)starts[0]; r < (size_t)starts[1]; r++) {
            storage *dx = (storage *)a->dx + r * hidden;
#pragma omp simd
            for (size_t i = 0; i < hidden; i++)
                dx[i] = STORE(LOAD(dx[i]) + LOAD(dy[i]) / length);
        }
    }
}

static void sequence_mean_backward(struct device *device, const struct sequence_mean_backward_args *args)
{
    each_rows(device, (size_t)args->rows.live, 1, sequence_mean_backward_rows, args);
}

/* The pooler has one row per sequence, so this tanh is fast enough; tanh(0) = 0 keeps dead rows zero. */
static void tanh_rows(struct device *device, const struct tanh_rows_args *args)
{
    (void)device;
    const size_t columns = (size_t)args->columns, live = (size_t)args->rows.live, total = (size_t)args->rows.total;
    storage *x = args->x;
    for (size_t i = 0; i < live * columns; i++)
        x[i] = STORE((real)same_tanh((double)LOAD(x[i])));
    memset(x + live * columns, 0, (total - live) * columns * sizeof *x);
}

static void tanh_backward(struct device *device, const struct tanh_backward_args *args)
{
    (void)device;
    storage *dy = args->dy;
    const storage *y = args->y;
    for (size_t i = 0; i < (size_t)args->rows.total * (size_t)args->columns; i++)
        dy[i] = STORE(LOAD(dy[i]) * (1 - LOAD(y[i]) * LOAD(y[i])));
}

static void gelu_backward_rows(const void *args, size_t first, size_t end)
{
    const struct gelu_backward_args *a = args;
    const size_t columns = (size_t)a->columns;
    gelu_slope_all((storage *)a->dy + first * columns, (const storage *)a->pre + first * columns,
                   (end - first) * columns, a->gelu == GELU_ERF);
}

static void gelu_backward(struct device *device, const struct gelu_backward_args *args)
{
    each_rows(device, (size_t)args->rows.total, BLOCK_ROWS, gelu_backward_rows, args);
}

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* With a constant `kind`, so that each has a loop of its own, which is vectorized. */
ALWAYS_INLINE real activation_of(real x, const enum gelu kind)
{
    return kind == SILU ? x / (1 + exponential(-x)) : kind == GELU_ERF ? gelu_erf(x) : gelu_tanh(x);
}

ALWAYS_INLINE real activation_slope(real x, const enum gelu kind)
{
    const real s = 1 / (1 + exponential(-x));
    return kind == SILU ? s * (1 + x * (1 - s)) : kind == GELU_ERF ? gelu_erf_slope(x) : gelu_tanh_slope(x);
}

ALWAYS_INLINE void glu_row(storage *restrict y, const storage *restrict x, size_t columns, const enum gelu kind)
{
#pragma omp simd
    for (size_t i = 0; i < columns; i++)
        y[i] = STORE(activation_of(LOAD(x[i]), kind) * LOAD(x[columns + i]));
}

static void glu_rows(const void *args, size_t first, size_t end)
{
    const struct glu_args *a = args;
    const size_t columns = (size_t)a->columns;
    for (size_t row = first; row < end; row++) {
        storage *y = (storage *)a->y + row * columns;
        const storage *x = (const storage *)a->x + row * 2 * columns;
        if (a->gelu == SILU)
            glu_row(y, x, columns, SILU);
        else if (a->gelu == GELU_ERF)
            glu_row(y, x, columns, GELU_ERF);
        else
            glu_row(y, x, columns, GELU_TANH);
    }
}

static void glu(struct device *device, const struct glu_args *args)
{
    each_rows(device, (size_t)args->rows.total, BLOCK_ROWS, glu_rows, args);
}

ALWAYS_INLINE void glu_backward_row(storage *restrict dx, const storage *restrict dy, const storage *restrict x,
                                    size_t columns, const enum gelu kind)
{
#pragma omp simd
    for (size_t i = 0; i < columns; i++) {
        const real d = LOAD(dy[i]), u = LOAD(x[i]);
        dx[i] = STORE(d * LOAD(x[columns + i]) * activation_slope(u, kind));
        dx[columns + i] = STORE(d * activation_of(u, kind));
    }
}

static void glu_backward_rows(const void *args, size_t first, size_t end)
{
    const struct glu_backward_args *a = args;
    const size_t columns = (size_t)a->columns;
    for (size_t row = first; row < end; row++) {
        const storage *dy = (const storage *)a->dy + row * columns, *x = (const storage *)a->x + row * 2 * columns;
        storage *dx = (storage *)a->dx + row * 2 * columns;
        if (a->gelu == SILU)
            glu_backward_row(dx, dy, x, columns, SILU);
        else if (a->gelu == GELU_ERF)
            glu_backward_row(dx, dy, x, columns, GELU_ERF);
        else
            glu_backward_row(dx, dy, x, columns, GELU_TANH);
    }
}

static void glu_backward(struct device *device, const struct glu_backward_args *args)
{
    each_rows(device, (size_t)args->rows.total, BLOCK_ROWS, glu_backward_rows, args);
}

static void rotate_rows(const void *args, size_t first, size_t end)
{
    const struct rotate_args *a = args;
    const size_t half = (size_t)a->head_size / 2;
    const real back = a->back ? -1 : 1;
    for (size_t row = first; row < smaller(end, (size_t)a->batch->tokens); row++) {
        const real *turns = (const real *)a->turns + (size_t)a->batch->positions[row] * 2 * half;
        for (size_t head = 0; head < (size_t)a->heads; head++) {
            storage *x = (storage *)a->x + row * (size_t)a->stride + head * 2 * half;
#pragma omp simd
            for (size_t j = 0; j < half; j++) {
                const real p = LOAD(x[j]), q = LOAD(x[j + half]), c = turns[2 * j], s = back * turns[2 * j + 1];
                x[j] = STORE(p * c - q * s);
                x[j + half] = STORE(q * c + p * s);
            }
        }
    }
}

static void rotate(struct device *device, const struct rotate_args *args)
{
    each_rows(device, (size_t)args->batch->token_rows, BLOCK_ROWS, rotate_rows, args);
}

static void convert_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct convert_args *a = args;
    const size_t first = task * CONVERT_BLOCK, end = smaller(first + CONVERT_BLOCK, a->count);
    storage *y = a->y;
    const real *x = a->x;
#pragma omp simd
    for (size_t i = first; i < end; i++)
        y[i] = STORE(x[i]);
}

static void convert(struct device *device, const struct convert_args *args)
{
    (void)device;
    parallel(blocks_of(args->count, CONVERT_BLOCK), convert_block, args);
}

static void clear_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct clear_args *a = args;
    memset((char *)a->memory + task * CLEAR_BLOCK, 0, smaller(CLEAR_BLOCK, a->bytes - task * CLEAR_BLOCK));
}

static void clear(struct device *device, const struct clear_args *args)
{
    (void)device;
    parallel(blocks_of(args->bytes, CLEAR_BLOCK), clear_block, args);
}

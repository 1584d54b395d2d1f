/* Work on whole rows and on flat numbers that needs no mathematics: picking and adding rows, tanh, GELU's slope,
 * conversion to storage, zeros. */
#ifndef TRAINER_CPU_ROWS_H
#define TRAINER_CPU_ROWS_H

#include "trainer/cpu/functions.h"
#include "trainer/cpu/real.h"

#define CONVERT_BLOCK 65536             /* numbers of one task */
#define CLEAR_BLOCK   ((size_t)1 << 20) /* bytes of one task */

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

/* The pooler has one row per sequence, so the C library's tanh is fast enough; tanh(0) = 0 keeps dead rows zero. */
static void tanh_rows(struct device *device, const struct tanh_rows_args *args)
{
    (void)device;
    const size_t columns = (size_t)args->columns, live = (size_t)args->rows.live, total = (size_t)args->rows.total;
    storage *x = args->x;
    for (size_t i = 0; i < live * columns; i++)
        x[i] = STORE((real)tanh((double)LOAD(x[i])));
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

#endif

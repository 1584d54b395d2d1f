/* Work on whole rows and on flat numbers that needs no mathematics: picking and adding rows, tanh, GELU's slope,
 * conversion to storage, zeros. */
#ifndef TRAINER_CPU_ROWS_H
#define TRAINER_CPU_ROWS_H

#include "trainer/cpu/functions.h"
#include "trainer/cpu/real.h"

#define CONVERT_BLOCK 65536             /* numbers of one task */
#define CLEAR_BLOCK   ((size_t)1 << 20) /* bytes of one task */

struct rows_args {
    void *y;
    const void *x;
    const int32_t *index;
    struct rows rows;
    size_t columns;
    bool erf_form;
};

static void gather_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct rows_args *a = args;
    const size_t end = smaller((task + 1) * BLOCK_ROWS, (size_t)a->rows.total);
    for (size_t row = task * BLOCK_ROWS; row < end; row++) {
        storage *y = (storage *)a->y + row * a->columns;
        if (row < (size_t)a->rows.live)
            memcpy(y, (const storage *)a->x + (size_t)a->index[row] * a->columns, a->columns * sizeof *y);
        else
            memset(y, 0, a->columns * sizeof *y);
    }
}

static void gather(struct device *device, void *y, const void *x, const int32_t *index, struct rows rows,
                   int32_t hidden)
{
    (void)device;
    const struct rows_args args = {.y = y, .x = x, .index = index, .rows = rows, .columns = (size_t)hidden};
    parallel(blocks_of((size_t)rows.total, BLOCK_ROWS), gather_block, &args);
}

static void scatter_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct rows_args *a = args;
    const size_t end = smaller((task + 1) * BLOCK_ROWS, (size_t)a->rows.live);
    for (size_t row = task * BLOCK_ROWS; row < end; row++) {
        storage *y = (storage *)a->y + (size_t)a->index[row] * a->columns;
        const storage *x = (const storage *)a->x + row * a->columns;
#pragma omp simd
        for (size_t i = 0; i < a->columns; i++)
            y[i] = STORE(LOAD(y[i]) + LOAD(x[i]));
    }
}

static void scatter(struct device *device, void *y, const void *x, const int32_t *index, struct rows rows,
                    int32_t hidden)
{
    (void)device;
    const struct rows_args args = {.y = y, .x = x, .index = index, .rows = rows, .columns = (size_t)hidden};
    parallel(blocks_of((size_t)rows.live, BLOCK_ROWS), scatter_block, &args);
}

/* The pooler is one row a sequence, so the C library's tanh is fast enough; tanh(0) = 0 keeps dead rows zero. */
static void tanh_rows(struct device *device, void *x, struct rows rows, int32_t columns)
{
    (void)device;
    storage *values = x;
    for (size_t i = 0; i < (size_t)rows.live * (size_t)columns; i++)
        values[i] = STORE((real)tanh((double)LOAD(values[i])));
    memset(values + (size_t)rows.live * (size_t)columns, 0,
           (size_t)(rows.total - rows.live) * (size_t)columns * sizeof *values);
}

static void tanh_backward(struct device *device, void *dy, const void *y, struct rows rows, int32_t columns)
{
    (void)device;
    storage *slopes = dy;
    const storage *values = y;
    for (size_t i = 0; i < (size_t)rows.total * (size_t)columns; i++)
        slopes[i] = STORE(LOAD(slopes[i]) * (1 - LOAD(values[i]) * LOAD(values[i])));
}

static void gelu_backward_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct rows_args *a = args;
    const size_t first = task * BLOCK_ROWS, end = smaller(first + BLOCK_ROWS, (size_t)a->rows.total);
    gelu_slope_all((storage *)a->y + first * a->columns, (const storage *)a->x + first * a->columns,
                   (end - first) * a->columns, a->erf_form);
}

static void gelu_backward(struct device *device, void *dy, const void *pre, struct rows rows, int32_t columns,
                          enum gelu gelu)
{
    (void)device;
    const struct rows_args args = {
        .y = dy, .x = pre, .rows = rows, .columns = (size_t)columns, .erf_form = gelu == GELU_ERF};
    parallel(blocks_of((size_t)rows.total, BLOCK_ROWS), gelu_backward_block, &args);
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

/* The products of a linear layer. A product is cut into blocks of C, one task each. Blocks are multiplied by product.h
 * and finished (bias, sum, dead rows, GELU) while they are in the cache. In a task k runs in blocks of DEPTH units:
 * the block of B is packed into panels once, rows of A are read in place where possible, and sums stay in the thread's
 * memory between blocks. The loops, from the outside in, and what stays where while the next one runs:
 *
 *     tasks       block_m x block_n of C      one thread; threads share nothing but what they read
 *     k0          DEPTH units of k            panels of B, in the second-level cache
 *     i           STRIP rows of A             in the first-level cache
 *     j           PANEL columns of B          STRIP x PANEL sums, in registers (product.h) */
#pragma once

#include "trainer/cpu/functions.h"
#include "trainer/cpu/partials.h"
#include "trainer/cpu/product.h"
#include "trainer/cpu/real.h"

#define DEPTH        384          /* units of k at a time: a panel of them takes a tenth of a second-level cache */
#define ROWS         WEIGHT_BLOCK /* rows of C in a task, at most: enough that packing B costs little */
#define COLUMNS      256          /* columns of C in a task, at most: enough that packing A costs little */
#define TALL_ROWS    768          /* both where A is read in place */
#define TALL_COLUMNS 64
#define PACKED_ROWS  96                /* rows of A that are packed at once */
#define LEAST        (TILES ? 96 : 24) /* rows of C in a task where threads are many, at least: whole strips */
#define TASKS        6                 /* tasks per thread: enough that the wait for the last one is short */

enum finish { FINISH_NONE, FINISH_GELU, FINISH_GELU_BACKWARD };

/* The shape of a product C [m, n] (+)= A [m, k] B [k, n]; strides in numbers, one of each operand's is 1. */
struct product_shape {
    int64_t m, n, k;
    int64_t a_row, a_column, b_row, b_column, c_row;
    bool add;    /* C += */
    bool bias;   /* a row [n] in `real` is added */
    bool real_c; /* C is in `real`, not in storage; then it is always added to */
    bool upper;  /* below the diagonal C need not be computed */
};

struct linear_product {
    struct product_shape shape; /* of the whole */
    void *c;
    const void *a, *b, *bias;
    enum finish finish;
    void *activation; /* FINISH_GELU: [m, n], gelu(C) */
    const void *pre;  /* FINISH_GELU_BACKWARD: [m, n] */
    bool erf_form;
    size_t live;  /* rows of C from here on become zero; SIZE_MAX: none */
    size_t whole; /* if C is a part of a matrix's rows: the number of these; it is cut as that would be. Otherwise 0 */
    size_t block_m, block_n, across; /* how C is cut: rows and columns of a task, tasks beside each other */
    char *work;
    size_t work_thread;
};

struct sum_args {
    void *partials; /* [blocks][columns] */
    const void *x;
    size_t rows, columns, row; /* `row`: numbers from one row to the next */
    size_t slice, across;      /* columns of a task, and tasks of a block */
};

/* The memory of one thread. */
struct work {
    unit panels[DEPTH * COLUMNS];
    unit left[DEPTH * PACKED_ROWS];
    real sums[ROWS * COLUMNS]; /* blocks of STRIP x PANEL, one after the other */
};

/* Finishes a row of a strip's sums, at most PANEL numbers, and stores it in C. */
static inline __attribute__((always_inline)) void store_row(const struct linear_product *p, real *sum, size_t row,
                                                            size_t first, size_t count)
{
    const size_t at = row * (size_t)p->shape.c_row + first;
    if (p->shape.real_c) {
        real *c = (real *)p->c + at;
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            c[i] += sum[i];
        return;
    }
    storage *c = (storage *)p->c + at;
    if (row >= p->live) {
        memset(c, 0, count * sizeof *c);
        if (p->activation)
            memset((storage *)p->activation + at, 0, count * sizeof *c);
        return;
    }
    if (p->shape.bias)
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            sum[i] += ((const real *)p->bias)[first + i];
    if (p->shape.add)
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            sum[i] += LOAD(c[i]);
    if (p->finish == FINISH_GELU_BACKWARD)
        gelu_slope_real(sum, (const storage *)p->pre + at, count, p->erf_form);
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        c[i] = STORE(sum[i]);
    if (p->finish == FINISH_GELU)
        gelu_all((storage *)p->activation + at, c, count, p->erf_form);
}

/* Fetches what store_row will read or write, while strip() multiplies: hardware does not prefetch across rows. (With
 * GELU's two outputs it made a product slower.) */
static void prefetch_rows(const struct linear_product *p, size_t row, size_t rows, size_t first)
{
    const size_t size = p->shape.real_c ? sizeof(real) : sizeof(storage);
    const char *from = p->finish == FINISH_GELU_BACKWARD ? p->pre : p->c;
    if (p->finish == FINISH_GELU)
        return;
    for (size_t i = row; i < row + rows; i++)
        for (size_t byte = 0; byte < PANEL * size; byte += 64)
            __builtin_prefetch(from + (i * (size_t)p->shape.c_row + first) * size + byte);
}

/* True if the rows of A consist of whole steps of units already, so that they can be read in place. */
static bool is_packed(const struct product_shape *s, const void *a, size_t k)
{
    return AS_STORED && s->a_column == 1 && k % (PER_UNIT * STEP_UNITS) == 0 && s->a_row % PER_UNIT == 0 &&
           (uintptr_t)a % sizeof(unit) == 0;
}

/* Rows of A in place where that is possible, else packed in `left`: a strip's units are adjacent, because at a longer
 * distance each would take a line of the first-level cache. */
static struct strips rows_of(const struct product_shape *s, const storage *a, unit *left, size_t rows, size_t k)
{
    const size_t units = units_of(k), a_row = (size_t)s->a_row / PER_UNIT;
    if (s->a_column != 1)
        return pack_columns(left, a, (size_t)s->a_column, k, rows);
    if (is_packed(s, a, k))
        return strips_of_rows((const unit *)(const void *)a, a_row);
    pack_rows(left, a, (size_t)s->a_row, rows, k);
    return strips_of_rows(left, units);
}

/* Computes block (i0, j0) of C, m x n. */
static void product_block(const struct linear_product *p, size_t i0, size_t j0, size_t m, size_t n, int thread)
{
    const struct product_shape *s = &p->shape;
    struct work *work = (struct work *)(p->work + (size_t)thread * p->work_thread);
    const size_t k = (size_t)s->k, deep = DEPTH * PER_UNIT, across = blocks_of(n, PANEL);
    for (size_t k0 = 0; k0 < k; k0 += deep) {
        const size_t depth = smaller(deep, k - k0), units = units_of(depth);
        const storage *b = (const storage *)p->b + k0 * (size_t)s->b_row + j0 * (size_t)s->b_column;
        const storage *a = (const storage *)p->a + k0 * (size_t)s->a_column + i0 * (size_t)s->a_row;
        struct strips left = {0};
        pack_panels(work->panels, PANEL, b, (size_t)s->b_row, (size_t)s->b_column, depth, n);
        for (size_t i = 0; i < m; i += STRIP) {
            const size_t rows = smaller(STRIP, m - i);
            if (i % PACKED_ROWS == 0)
                left = rows_of(s, a + i * (size_t)s->a_row, work->left, smaller(PACKED_ROWS, m - i), depth);
            for (size_t j = 0; j < across; j++) {
                real *sum = work->sums + (k > deep ? (i / STRIP * across + j) * STRIP * PANEL : 0);
                if (k0 + depth == k)
                    prefetch_rows(p, i0 + i, rows, j0 + j * PANEL);
                strip(sum, PANEL, left, work->panels + j * PANEL * units, units, rows, k0 > 0);
                const size_t columns = smaller(PANEL, n - j * PANEL);
                for (size_t row = 0; row < rows && k0 + depth == k; row++)
                    if (columns == PANEL) /* a constant count needs no loop */
                        store_row(p, sum + row * PANEL, i0 + i + row, j0 + j * PANEL, PANEL);
                    else
                        store_row(p, sum + row * PANEL, i0 + i + row, j0 + j * PANEL, columns);
            }
            left.at += left.next;
        }
    }
}

static void product_task(const void *args, size_t task, int thread)
{
    const struct linear_product *p = args;
    const size_t i0 = task / p->across * p->block_m, j0 = task % p->across * p->block_n;
    const size_t n = smaller(p->block_n, (size_t)p->shape.n - j0);
    size_t m = smaller(p->block_m, (size_t)p->shape.m - i0);
    if (p->shape.upper)
        m = j0 + n > i0 ? smaller(m, j0 + n - i0) : 0;
    if (m == 0)
        return;
    tiles_open();
    product_block(p, i0, j0, m, n, thread);
    tiles_close();
}

/* Cuts the product into the largest blocks that give every thread TASKS of them, and runs it. */
static void multiply(struct device *device, struct linear_product *p)
{
    const size_t own = (size_t)p->shape.m, m = p->whole ? p->whole : own, n = (size_t)p->shape.n,
                 wanted = TASKS * (size_t)device->threads;
    const bool tall = !TILES && is_packed(&p->shape, p->a, (size_t)p->shape.k);
    size_t rows = tall ? TALL_ROWS : ROWS, columns = tall ? TALL_COLUMNS : COLUMNS;
    while (rows > PACKED_ROWS && blocks_of(m, rows) * blocks_of(n, columns) < wanted)
        rows /= 2;
    while (columns > PANEL_MAX && blocks_of(m, rows) * blocks_of(n, columns) < wanted)
        columns /= 2;
    while (rows > LEAST && !is_enough(device, blocks_of(m, rows) * blocks_of(n, columns)))
        rows /= 2;
    while (columns > PANEL && !is_enough(device, blocks_of(m, rows) * blocks_of(n, columns)))
        columns /= 2;
    p->block_m = rows;
    p->block_n = columns;
    p->across = blocks_of(n, columns);
    p->work = device->work;
    p->work_thread = device->work_thread;
    assert(parallel_threads() <= device->threads);
    parallel(blocks_of(own, rows) * p->across, product_task, p);
}

#define MIRROR_ROWS 16 /* of C in a task; C is read along its rows */

struct mirror_args {
    storage *c; /* [n, n] */
    size_t n;
};

/* Copies what is above the diagonal below it. */
static void mirror_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct mirror_args *a = args;
    const size_t from = task * MIRROR_ROWS, to = smaller(from + MIRROR_ROWS, a->n);
    for (size_t j = 0; j < to; j++)
        for (size_t i = j < from ? from : j; i < to; i++)
            a->c[i * a->n + j] = a->c[j * a->n + i];
}

static void mirror(void *c, size_t n)
{
    const struct mirror_args args = {c, n};
    parallel(blocks_of(n, MIRROR_ROWS), mirror_block, &args);
}

/* True for y = x x^T: the sums on both sides of the diagonal are the same, bit for bit, so nearly half are copied. */
static bool is_square(const struct linear_args *a)
{
    return a->x == a->w && !a->b && a->rows.live == a->out && a->rows.total == a->out;
}

/* With `activation`, also computes the GELU of the result. */
static void forward(struct device *device, const struct linear_args *a, void *activation, enum gelu gelu)
{
    struct linear_product product = {
        .shape = {.m = a->rows.total,
                  .n = a->out,
                  .k = a->in,
                  .a_row = a->in,
                  .a_column = 1,
                  .b_row = 1,
                  .b_column = a->in,
                  .c_row = a->out,
                  .bias = a->b != NULL,
                  .upper = is_square(a)},
        .c = a->y,
        .a = a->x,
        .b = a->w,
        .bias = a->b,
        .finish = activation ? FINISH_GELU : FINISH_NONE,
        .activation = activation,
        .erf_form = gelu == GELU_ERF,
        .live = (size_t)a->rows.live,
    };
    multiply(device, &product);
}

static void linear(struct device *device, const struct linear_args *args)
{
    forward(device, args, NULL, GELU_TANH);
    if (is_square(args))
        mirror(args->y, (size_t)args->out);
}

static void linear_gelu(struct device *device, const struct linear_gelu_args *args)
{
    const struct linear_args before = {
        .y = args->pre, .x = args->x, .w = args->w, .b = args->b, .rows = args->rows, .out = args->out, .in = args->in};
    forward(device, &before, args->y, args->gelu);
}

static void linear_backward_input(struct device *device, const struct linear_backward_input_args *args)
{
    struct linear_product product = {
        .shape = {.m = args->rows.total,
                  .n = args->in,
                  .k = args->out,
                  .a_row = args->out,
                  .a_column = 1,
                  .b_row = args->in,
                  .b_column = 1,
                  .c_row = args->in,
                  .add = args->adds},
        .c = args->dx,
        .a = args->dy,
        .b = args->w,
        .finish = args->pre ? FINISH_GELU_BACKWARD : FINISH_NONE,
        .pre = args->pre,
        .erf_form = args->gelu == GELU_ERF,
        .live = SIZE_MAX, /* dead rows of dy are zero, so those of dx are too */
    };
    multiply(device, &product);
}

static void sum_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct sum_args *a = args;
    const size_t block = task / a->across, from = task % a->across * a->slice;
    const size_t count = smaller(a->slice, a->columns - from), end = smaller((block + 1) * BLOCK_ROWS, a->rows);
    real *sum = (real *)a->partials + block * a->columns + from;
    memset(sum, 0, count * sizeof *sum);
    for (size_t row = block * BLOCK_ROWS; row < end; row++) {
        const storage *x = (const storage *)a->x + row * a->row + from;
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            sum[i] += LOAD(x[i]);
    }
}

static void linear_backward_weight(struct device *device, const struct linear_backward_weight_args *args)
{
    const int32_t columns = args->columns ? args->columns : args->out;
    struct linear_product product = {
        .shape = {.m = args->out,
                  .n = args->in,
                  .k = args->rows.total,
                  .a_row = 1,
                  .a_column = columns,
                  .b_row = args->in,
                  .b_column = 1,
                  .c_row = args->in,
                  .add = 1,
                  .real_c = 1},
        .c = args->dw,
        .a = args->dy,
        .b = args->x,
        .live = SIZE_MAX,
        .whole = (size_t)columns,
    };
    multiply(device, &product);
    if (!args->db)
        return;
    const size_t rows = (size_t)args->rows.live, out = (size_t)args->out, blocks = blocks_of(rows, BLOCK_ROWS);
    const size_t slice = column_slice(device, blocks, out);
    const struct sum_args sums = {args->scratch, args->dy, rows, out, (size_t)columns, slice, blocks_of(out, slice)};
    parallel(blocks * sums.across, sum_block, &sums);
    add_partials(args->db, args->scratch, blocks, out, out);
}

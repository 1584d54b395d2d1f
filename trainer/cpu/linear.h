/* The products of a linear layer. A product is cut into blocks of C, one task each. A block is computed by product.h
 * or, where the processor has tiles (AMX), by oneDNN in one thread, and finished (dead rows, GELU) while it is in the
 * cache. In a task k runs in pieces of DEPTH units: the piece of B is packed into panels once, rows of A are read in
 * place where possible, and sums stay in the thread's memory between pieces. */
#ifndef TRAINER_CPU_LINEAR_H
#define TRAINER_CPU_LINEAR_H

#include "trainer/cpu/functions.h"
#include "trainer/cpu/onednn.h"
#include "trainer/cpu/partials.h"
#include "trainer/cpu/product.h"
#include "trainer/cpu/real.h"

#define DEPTH        384          /* units of k at a time: a panel of them takes a tenth of a second-level cache */
#define ROWS         WEIGHT_BLOCK /* rows of C in a task, at most: enough that packing B costs little */
#define COLUMNS      256          /* columns of C in a task, at most: enough that packing A costs little */
#define TALL_ROWS    768          /* both where A is read in place */
#define TALL_COLUMNS 64
#define LAID         96 /* rows of A that are packed at once */
#define LEAST        24 /* rows of C in a task where threads are many, at least: a whole number of strips */
#define TASKS        6  /* tasks per thread: enough that the wait for the last one is short */

enum finish { FINISH_NONE, FINISH_GELU, FINISH_GELU_BACKWARD };

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
    /* how C is cut */
    int64_t block_m, block_n, block_k;           /* block_k is for oneDNN only (prepare) */
    size_t across;                               /* blocks in a row of blocks */
    const struct onednn_product *ready[2][2][2]; /* indexed by: the last, shorter block of m, of n, of k? */
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
    unit left[DEPTH * LAID];
    real sums[ROWS * COLUMNS]; /* tiles of STRIP x PANEL, one after the other */
};

/* Finishes a row of C that oneDNN wrote. */
static void finish_row(const struct linear_product *p, size_t row, size_t first, size_t count)
{
    const size_t at = row * (size_t)p->shape.c_row + first;
    storage *c = (storage *)p->c + at;
    storage *activation = p->activation ? (storage *)p->activation + at : NULL;
    if (row >= p->live) {
        memset(c, 0, count * sizeof *c);
        if (activation)
            memset(activation, 0, count * sizeof *activation);
    } else if (p->finish == FINISH_GELU) {
        gelu_all(activation, c, count, p->erf_form);
    } else if (p->finish == FINISH_GELU_BACKWARD) {
        gelu_slope_all(c, (const storage *)p->pre + at, count, p->erf_form);
    }
}

/* Finishes a row of a tile, at most PANEL numbers, and stores it in C. */
static void store_row(const struct linear_product *p, real *sum, size_t row, size_t first, size_t count)
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
        finish_row(p, row, first, count);
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

/* Do the rows of A consist of units already, so that they can be read in place? */
static bool lies_ready(const struct product_shape *s, const void *a, size_t k)
{
    return AS_STORED && s->a_column == 1 && k % PER_UNIT == 0 && s->a_row % PER_UNIT == 0 &&
           (uintptr_t)a % sizeof(unit) == 0;
}

/* Rows of A as strip() reads them: A(i, l) of a strip = at[i * row + l * step]; the next strip is `next` units on. */
struct strips {
    const unit *at;
    size_t row, step, next;
};

/* Rows of A in place where that is possible, else packed in `left`: a strip's units are adjacent, because at a longer
 * distance each would take a line of the first-level cache. */
static struct strips rows_of(const struct product_shape *s, const storage *a, unit *left, size_t rows, size_t k)
{
    const size_t units = blocks_of(k, PER_UNIT), a_row = (size_t)s->a_row / PER_UNIT;
    if (s->a_column != 1) {
        lay_steps(left, STRIP, a, (size_t)s->a_column, (size_t)s->a_row, k, rows);
        return (struct strips){left, 1, STRIP, STRIP * units};
    }
    if (lies_ready(s, a, k))
        return (struct strips){(const unit *)(const void *)a, a_row, 1, STRIP * a_row};
    lay_rows(left, a, (size_t)s->a_row, rows, k);
    return (struct strips){left, units, 1, STRIP * units};
}

/* Computes block (i0, j0) of C, m x n, with our own loops. */
static void own_block(const struct linear_product *p, size_t i0, size_t j0, size_t m, size_t n, int thread)
{
    const struct product_shape *s = &p->shape;
    struct work *work = (struct work *)(p->work + (size_t)thread * p->work_thread);
    const size_t k = (size_t)s->k, deep = DEPTH * PER_UNIT, across = blocks_of(n, PANEL);
    for (size_t k0 = 0; k0 < k; k0 += deep) {
        const size_t piece = smaller(deep, k - k0), units = blocks_of(piece, PER_UNIT);
        const storage *b = (const storage *)p->b + k0 * (size_t)s->b_row + j0 * (size_t)s->b_column;
        const storage *a = (const storage *)p->a + k0 * (size_t)s->a_column + i0 * (size_t)s->a_row;
        struct strips left = {0};
        lay_steps(work->panels, PANEL, b, (size_t)s->b_row, (size_t)s->b_column, piece, n);
        for (size_t i = 0; i < m; i += STRIP) {
            const size_t rows = smaller(STRIP, m - i);
            if (i % LAID == 0)
                left = rows_of(s, a + i * (size_t)s->a_row, work->left, smaller(LAID, m - i), piece);
            for (size_t j = 0; j < across; j++) {
                real *sum = work->sums + (k > deep ? (i / STRIP * across + j) * STRIP * PANEL : 0);
                strip(sum, PANEL, left.at + i % LAID / STRIP * left.next, left.row, left.step,
                      work->panels + j * PANEL * units, units, rows, k0 > 0);
                for (size_t row = 0; row < rows && k0 + piece == k; row++)
                    store_row(p, sum + row * PANEL, i0 + i + row, j0 + j * PANEL, smaller(PANEL, n - j * PANEL));
            }
        }
    }
}

/* The same with oneDNN; false where it has no such product. */
static bool library_block(const struct linear_product *p, size_t i0, size_t j0, size_t m, size_t n, int thread)
{
    const struct product_shape *s = &p->shape;
    const bool last_m = (int64_t)m < p->block_m, last_n = (int64_t)n < p->block_n;
    if (!p->ready[last_m][last_n][0] && !p->ready[last_m][last_n][1])
        return false;
    for (int64_t k0 = 0; k0 < s->k; k0 += p->block_k)
        onednn_multiply(p->ready[last_m][last_n][s->k - k0 < p->block_k],
                        (char *)p->c + (i0 * (size_t)s->c_row + j0) * (s->real_c ? sizeof(real) : sizeof(storage)),
                        (const storage *)p->a + i0 * (size_t)s->a_row + (size_t)(k0 * s->a_column),
                        (const storage *)p->b + j0 * (size_t)s->b_column + (size_t)(k0 * s->b_row),
                        s->bias ? (const real *)p->bias + j0 : NULL, thread);
    return true;
}

static void product_task(const void *args, size_t task, int thread)
{
    const struct linear_product *p = args;
    const size_t i0 = task / p->across * (size_t)p->block_m, j0 = task % p->across * (size_t)p->block_n;
    const size_t m = smaller((size_t)p->block_m, (size_t)p->shape.m - i0);
    const size_t n = smaller((size_t)p->block_n, (size_t)p->shape.n - j0);
    if (!library_block(p, i0, j0, m, n, thread)) {
        own_block(p, i0, j0, m, n, thread);
        return;
    }
    if (p->finish != FINISH_NONE || i0 + m > p->live)
        for (size_t i = i0; i < i0 + m; i++)
            finish_row(p, i, j0, n);
}

/* Prepares oneDNN's products, for whole and for last, shorter pieces of m, n and k. */
static void prepare(struct device *device, struct linear_product *p)
{
    const struct product_shape *s = &p->shape;
    p->block_k = s->real_c ? DEPTH * 2 : s->k; /* pieces added to 16-bit numbers would each be rounded */
    for (int last = 0; last < 8; last++) {
        struct product_shape piece = *s;
        piece.m = last & 4 ? s->m % p->block_m : p->block_m;
        piece.n = last & 2 ? s->n % p->block_n : p->block_n;
        piece.k = last & 1 ? s->k % p->block_k : p->block_k;
        const bool occurs = piece.m && piece.n && piece.k && piece.m <= s->m && piece.n <= s->n && piece.k <= s->k;
        p->ready[last >> 2][last >> 1 & 1][last & 1] = occurs ? onednn_prepare(device->onednn, &piece) : NULL;
    }
}

/* Cuts the product into the largest blocks that give every thread TASKS of them, and runs it. oneDNN's order of
 * summation may depend on the shape of a block, so with it the blocks do not depend on the number of threads. */
static void multiply(struct device *device, struct linear_product *p)
{
    const size_t own = (size_t)p->shape.m, m = p->whole ? p->whole : own, n = (size_t)p->shape.n,
                 wanted = TASKS * (size_t)(device->onednn ? 4 : device->threads);
    const bool tall = !device->onednn && lies_ready(&p->shape, p->a, (size_t)p->shape.k);
    size_t rows = tall ? TALL_ROWS : ROWS, columns = tall ? TALL_COLUMNS : COLUMNS;
    while (rows > LAID && blocks_of(m, rows) * blocks_of(n, columns) < wanted)
        rows /= 2;
    while (columns > PANEL_MAX && blocks_of(m, rows) * blocks_of(n, columns) < wanted)
        columns /= 2;
    while (!device->onednn && rows > LEAST && !is_enough(device, blocks_of(m, rows) * blocks_of(n, columns)))
        rows /= 2;
    while (!device->onednn && columns > PANEL && !is_enough(device, blocks_of(m, rows) * blocks_of(n, columns)))
        columns /= 2;
    p->block_m = (int64_t)rows;
    p->block_n = (int64_t)columns;
    p->across = blocks_of(n, columns);
    p->work = device->work;
    p->work_thread = device->work_thread;
    if (device->onednn)
        prepare(device, p);
    assert(parallel_threads() <= device->threads);
    parallel(blocks_of(own, rows) * p->across, product_task, p);
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
                  .bias = a->b != NULL},
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

#endif

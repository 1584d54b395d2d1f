/* The four products of a linear layer. A product is cut into blocks of C by shape alone; each block is one task,
 * computed by oneDNN in one thread, or by our own loops where the library lacks the type, and finished (dead rows,
 * GELU) while it is in the cache. Products over rows (gradients of weights) also run in fixed pieces of k, in order. */
#ifndef LEVEL

#include "trainer/cpu/device.h"
#include "trainer/cpu/onednn.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define BLOCK_M     256  /* rows of C in a task: enough that unpacking B costs little */
#define BLOCK_N     1024 /* columns of C in a task, at most */
#define BLOCK_N_MIN 128
#define BLOCK_K     1024 /* rows that a gradient of weights adds at a time */
#define TASKS       16   /* fewer than this: narrower blocks */
#define OWN         64   /* own products: a block of C that stays in the cache, and … */
#define OWN_K       256  /* … how much of k is unpacked at a time */

enum finish { FINISH_NONE, FINISH_GELU, FINISH_GELU_BACKWARD };

struct linear_product {
    struct product_shape shape; /* of the whole */
    void *c;
    const void *a, *b, *bias;
    enum finish finish;
    void *activation; /* FINISH_GELU: [m, n], gelu(C) */
    const void *pre;  /* FINISH_GELU_BACKWARD: [m, n] */
    bool erf_form;
    size_t live; /* rows of C from here on become zero; SIZE_MAX: none */
    /* the cut */
    int64_t block_n, block_k;
    size_t across;                               /* blocks of n */
    const struct onednn_product *ready[2][2][2]; /* by: last of m, last of n, last of k */
};

struct sum_args {
    void *partials; /* [blocks][columns] */
    const void *x;
    size_t rows, columns;
};

#define EACH "trainer/cpu/linear.c"
#include "trainer/cpu/each.h"
#else
#include "trainer/cpu/functions.h"
#include "trainer/cpu/partials.h"
#include "trainer/cpu/product.h"

/* A block of at most OWN x OWN of C, unpacking A and B to `real` as k goes. */
static void NAME(own_block)(const struct linear_product *p, int64_t i0, int64_t j0, int64_t m, int64_t n, int64_t k0,
                            int64_t k)
{
    const struct product_shape *s = &p->shape;
    real sum[OWN * OWN], left[OWN * OWN_K], right[OWN_K * OWN];
    const size_t tall = padded((size_t)m, TILE_ROWS), wide = padded((size_t)n, TILE_COLUMNS);
    for (int64_t l0 = k0; l0 < k0 + k; l0 += OWN_K) {
        const size_t deep = (size_t)(k0 + k - l0 < OWN_K ? k0 + k - l0 : OWN_K);
        const storage *a = (const storage *)p->a + i0 * s->a_row + l0 * s->a_column;
        const storage *b = (const storage *)p->b + l0 * s->b_row + j0 * s->b_column;
        const bool across = s->a_row == 1; /* then A is unpacked as it lies, [k, m] */
        if (across)
            NAME(unpack)(left, deep, tall, a, (size_t)s->a_column, 1, deep, (size_t)m, 1);
        else
            NAME(unpack)(left, tall, deep, a, (size_t)s->a_row, 1, (size_t)m, deep, 1);
        NAME(unpack)(right, deep, wide, b, (size_t)s->b_row, (size_t)s->b_column, deep, (size_t)n, 1);
        NAME(small_product)
        (sum, wide, left, across ? 1 : deep, across ? tall : 1, right, wide, tall, wide, deep, l0 > k0);
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const size_t at = (size_t)((i0 + i) * s->c_row + j0 + j);
            const real value = sum[i * (int64_t)wide + j] + (s->bias ? ((const real *)p->bias)[j0 + j] : 0);
            if (s->real_c) {
                ((real *)p->c)[at] = s->add ? ((real *)p->c)[at] + value : value;
            } else {
                storage *c = (storage *)p->c + at;
                *c = STORE(s->add ? LOAD(*c) + value : value);
            }
        }
}

static void NAME(own_product)(const struct linear_product *p, int64_t i0, int64_t j0, int64_t m, int64_t n, int64_t k0,
                              int64_t k)
{
    for (int64_t i = 0; i < m; i += OWN)
        for (int64_t j = 0; j < n; j += OWN)
            NAME(own_block)(p, i0 + i, j0 + j, m - i < OWN ? m - i : OWN, n - j < OWN ? n - j : OWN, k0, k);
}

static void NAME(finish_row)(const struct linear_product *p, size_t row, size_t first, size_t count)
{
    const size_t at = row * (size_t)p->shape.c_row + first;
    storage *c = (storage *)p->c + at;
    storage *activation = p->activation ? (storage *)p->activation + at : NULL;
    if (row >= p->live) {
        memset(c, 0, count * sizeof *c);
        if (activation)
            memset(activation, 0, count * sizeof *activation);
    } else if (p->finish == FINISH_GELU) {
        NAME(gelu_all)(activation, c, count, p->erf_form);
    } else if (p->finish == FINISH_GELU_BACKWARD) {
        NAME(gelu_slope_all)(c, (const storage *)p->pre + at, count, p->erf_form);
    }
}

static void NAME(product_task)(const void *args, size_t task, int thread)
{
    const struct linear_product *p = args;
    const struct product_shape *s = &p->shape;
    const int64_t i0 = (int64_t)(task / p->across) * BLOCK_M, j0 = (int64_t)(task % p->across) * p->block_n;
    const int64_t m = s->m - i0 < BLOCK_M ? s->m - i0 : BLOCK_M, n = s->n - j0 < p->block_n ? s->n - j0 : p->block_n;
    for (int64_t l0 = 0; l0 < s->k; l0 += p->block_k) {
        const int64_t k = s->k - l0 < p->block_k ? s->k - l0 : p->block_k;
        const struct onednn_product *ready = p->ready[m < BLOCK_M][n < p->block_n][k < p->block_k];
        if (!ready) {
            NAME(own_product)(p, i0, j0, m, n, l0, k);
            continue;
        }
        const size_t c_size = s->real_c ? sizeof(real) : sizeof(storage);
        onednn_multiply(ready, (char *)p->c + (size_t)(i0 * s->c_row + j0) * c_size,
                        (const storage *)p->a + i0 * s->a_row + l0 * s->a_column,
                        (const storage *)p->b + l0 * s->b_row + j0 * s->b_column,
                        s->bias ? (const real *)p->bias + j0 : NULL, thread);
    }
    if (p->finish != FINISH_NONE || (size_t)(i0 + m) > p->live)
        for (int64_t i = i0; i < i0 + m; i++)
            NAME(finish_row)(p, (size_t)i, (size_t)j0, (size_t)n);
}

/* Cuts the product and runs it. k is cut only where C is real: pieces added to 16-bit numbers would each be rounded. */
static void NAME(multiply)(struct device *device, struct linear_product *p)
{
    const struct product_shape *s = &p->shape;
    const int64_t down = (s->m + BLOCK_M - 1) / BLOCK_M;
    p->block_n = BLOCK_N;
    while (p->block_n > BLOCK_N_MIN && down * ((s->n + p->block_n - 1) / p->block_n) < TASKS)
        p->block_n /= 2;
    p->block_k = s->real_c ? BLOCK_K : s->k;
    p->across = (size_t)((s->n + p->block_n - 1) / p->block_n);
    for (int last = 0; last < 8; last++) {
        struct product_shape piece = *s;
        piece.m = last & 4 ? s->m % BLOCK_M : BLOCK_M;
        piece.n = last & 2 ? s->n % p->block_n : p->block_n;
        piece.k = last & 1 ? s->k % p->block_k : p->block_k;
        const bool occurs = piece.m && piece.n && piece.k && piece.m <= s->m && piece.n <= s->n && piece.k <= s->k;
        p->ready[last >> 2][last >> 1 & 1][last & 1] = occurs ? onednn_prepare(device->onednn, &piece) : NULL;
    }
    assert(parallel_threads() <= device->threads);
    parallel((size_t)down * p->across, NAME(product_task), p);
}

static void NAME(linear_finish)(struct device *device, void *y, void *activation, const void *x, const void *w,
                                const void *b, struct rows rows, int32_t out, int32_t in, enum gelu gelu)
{
    struct linear_product product = {
        .shape = {.m = rows.total,
                  .n = out,
                  .k = in,
                  .a_row = in,
                  .a_column = 1,
                  .b_row = 1,
                  .b_column = in,
                  .c_row = out,
                  .bias = b != NULL},
        .c = y,
        .a = x,
        .b = w,
        .bias = b,
        .finish = activation ? FINISH_GELU : FINISH_NONE,
        .activation = activation,
        .erf_form = gelu == GELU_ERF,
        .live = (size_t)rows.live,
    };
    NAME(multiply)(device, &product);
}

static void NAME(linear)(struct device *device, void *y, const void *x, const void *w, const void *b, struct rows rows,
                         int32_t out, int32_t in)
{
    NAME(linear_finish)(device, y, NULL, x, w, b, rows, out, in, GELU_TANH);
}

static void NAME(linear_gelu)(struct device *device, void *pre, void *y, const void *x, const void *w, const void *b,
                              struct rows rows, int32_t out, int32_t in, enum gelu gelu)
{
    NAME(linear_finish)(device, pre, y, x, w, b, rows, out, in, gelu);
}

static void NAME(linear_backward_input)(struct device *device, void *dx, int beta, const void *dy, const void *w,
                                        const void *pre, struct rows rows, int32_t out, int32_t in, enum gelu gelu)
{
    struct linear_product product = {
        .shape = {.m = rows.total,
                  .n = in,
                  .k = out,
                  .a_row = out,
                  .a_column = 1,
                  .b_row = in,
                  .b_column = 1,
                  .c_row = in,
                  .add = beta},
        .c = dx,
        .a = dy,
        .b = w,
        .finish = pre ? FINISH_GELU_BACKWARD : FINISH_NONE,
        .pre = pre,
        .erf_form = gelu == GELU_ERF,
        .live = SIZE_MAX, /* dead rows of dy are zero, so those of dx are */
    };
    NAME(multiply)(device, &product);
}

static void NAME(sum_block)(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct sum_args *a = args;
    real *sum = (real *)a->partials + task * a->columns;
    memset(sum, 0, a->columns * sizeof *sum);
    const size_t end = smaller((task + 1) * BLOCK_ROWS, a->rows);
    for (size_t row = task * BLOCK_ROWS; row < end; row++) {
        const storage *x = (const storage *)a->x + row * a->columns;
#pragma omp simd
        for (size_t i = 0; i < a->columns; i++)
            sum[i] += LOAD(x[i]);
    }
}

static void NAME(linear_backward_weight)(struct device *device, void *dw, void *db, const void *dy, const void *x,
                                         struct rows rows, int32_t out, int32_t in, void *scratch)
{
    struct linear_product product = {
        .shape = {.m = out,
                  .n = in,
                  .k = rows.total,
                  .a_row = 1,
                  .a_column = out,
                  .b_row = in,
                  .b_column = 1,
                  .c_row = in,
                  .add = 1,
                  .real_c = 1},
        .c = dw,
        .a = dy,
        .b = x,
        .live = SIZE_MAX,
    };
    NAME(multiply)(device, &product);
    if (!db)
        return;
    const struct sum_args args = {scratch, dy, (size_t)rows.live, (size_t)out};
    const size_t blocks = blocks_of((size_t)rows.live, BLOCK_ROWS);
    parallel(blocks, NAME(sum_block), &args);
    NAME(add_partials)(db, scratch, blocks, (size_t)out, (size_t)out);
}

void NAME(install_linear)(struct ops *ops)
{
    ops->linear = NAME(linear);
    ops->linear_gelu = NAME(linear_gelu);
    ops->linear_backward_input = NAME(linear_backward_input);
    ops->linear_backward_weight = NAME(linear_backward_weight);
}

#endif

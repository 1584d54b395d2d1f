/* One update by Muon. Products are the linear layers'; S and its square are symmetric, so either side of a product may
 * be transposed. */
#include "trainer/optim/muon.h"

#include <math.h>

#define STEPS   5
#define EPSILON 1e-7
#define ALIGN   64 /* numbers */

static size_t padded(int64_t numbers)
{
    return ((size_t)numbers + ALIGN - 1) / ALIGN * ALIGN;
}

/* Memory of X and the next X; of S, and of its square, which becomes the polynomial's other factor. */
static size_t numbers(int64_t rows, int64_t columns)
{
    const int64_t narrow = rows < columns ? rows : columns;
    return 2 * padded(rows * columns) + 2 * padded(narrow * narrow);
}

static char *take(char **memory, const struct ops *ops, int64_t count)
{
    char *taken = *memory;
    *memory += padded(count) * ops->storage_size;
    return taken;
}

static void step(const struct ops *ops, void *next, const void *x, void *s, void *square, int32_t narrow, int32_t wide)
{
    const struct rows rows = {narrow, narrow};
    const size_t narrow_count = (size_t)narrow * (size_t)narrow, count = (size_t)narrow * (size_t)wide;
    CALL(ops, linear, .y = s, .x = x, .w = x, .rows = rows, .out = narrow, .in = wide);
    CALL(ops, linear, .y = square, .x = s, .w = s, .rows = rows, .out = narrow, .in = narrow);
    CALL(ops, combine, .y = square, .x = s, .count = narrow_count, .a = -4.7750, .b = 2.0315);
    CALL(ops, linear_backward_input, .dx = next, .dy = square, .w = x, .rows = rows, .out = narrow, .in = wide);
    CALL(ops, combine, .y = next, .x = x, .count = count, .a = 3.4445, .b = 1);
}

static void update(const struct optimizer *optimizer, const struct ops *ops, const struct update_memory *memory,
                   const struct update_work *work, const struct update *update, const struct update_matrix *matrix)
{
    const int32_t rows = matrix->rows, columns = matrix->columns;
    const int32_t narrow = rows < columns ? rows : columns, wide = rows < columns ? columns : rows;
    const double adjust = optimizer->match_rms ? 0.2 * sqrt(wide) : sqrt(fmax(1, (double)rows / columns));
    const struct momentum_args momentum = {memory, work, matrix, optimizer->momentum, optimizer->nesterov};
    char *lent = work->lent;
    char *x = take(&lent, ops, (int64_t)narrow * wide), *next = take(&lent, ops, (int64_t)narrow * wide);
    char *s = take(&lent, ops, (int64_t)narrow * narrow), *square = lent;
    ops->momentum(ops->device, &momentum);
    CALL(ops, direction, .momentum = momentum, .x = x, .epsilon = EPSILON);
    for (int i = 0; i < STEPS; i++) {
        char *before = x;
        step(ops, next, before, s, square, narrow, wide);
        x = next;
        next = before;
    }
    CALL(ops, shift, .memory = memory, .work = work, .matrix = matrix, .x = x,
         .keep = 1 - update->rate * optimizer->weight_decay, .scale = update->rate * adjust);
}

const struct matrix_method muon = {numbers, update};

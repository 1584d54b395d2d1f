/* Embedding rows, the gradients of their tables, and dropout. In: a batch; out: [T, hidden]. A table's
 * gradient may get several rows at one place, so that pass is cut by columns: each task owns its columns and adds rows
 * in order. */
#ifndef TRAINER_CPU_EMBED_H
#define TRAINER_CPU_EMBED_H

#include "trainer/cpu/keep.h"
#include "trainer/cpu/real.h"

#define SLICE 64 /* columns of one task of embed_backward */

static void embed_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct embed_args *a = args;
    const struct batch *batch = a->batch;
    const size_t hidden = (size_t)a->hidden, end = smaller((task + 1) * BLOCK_ROWS, (size_t)batch->token_rows);
    for (size_t row = task * BLOCK_ROWS; row < end; row++) {
        storage *y = (storage *)a->y + row * hidden;
        if (row >= (size_t)batch->tokens) {
            memset(y, 0, hidden * sizeof *y);
            continue;
        }
        const storage *word = (const storage *)a->word + (size_t)batch->ids[row] * hidden;
        const storage *position = (const storage *)a->position + (size_t)batch->positions[row] * hidden;
        const storage *type = (const storage *)a->type + (size_t)batch->segments[row] * hidden;
        for (size_t i = 0; i < hidden; i++)
            y[i] = STORE(LOAD(word[i]) + LOAD(position[i]) + LOAD(type[i]));
    }
}

static void embed(struct device *device, const struct embed_args *args)
{
    (void)device;
    parallel(blocks_of((size_t)args->batch->token_rows, BLOCK_ROWS), embed_block, args);
}

static void embed_backward_slice(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct embed_backward_args *a = args;
    const struct batch *batch = a->batch;
    const size_t hidden = (size_t)a->hidden, first = task * SLICE, columns = smaller(SLICE, hidden - first);
    for (size_t row = 0; row < (size_t)batch->tokens; row++) {
        const storage *dy = (const storage *)a->dy + row * hidden + first;
        real *word = (real *)a->dword + (size_t)batch->ids[row] * hidden + first;
        real *position = (real *)a->dposition + (size_t)batch->positions[row] * hidden + first;
        real *type = (real *)a->dtype + (size_t)batch->segments[row] * hidden + first;
#pragma omp simd
        for (size_t i = 0; i < columns; i++) {
            const real value = LOAD(dy[i]);
            word[i] += value;
            position[i] += value;
            type[i] += value;
        }
    }
}

static void embed_backward(struct device *device, const struct embed_backward_args *args)
{
    (void)device;
    parallel(blocks_of((size_t)args->hidden, SLICE), embed_backward_slice, args);
}

static void dropout_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct dropout_args *a = args;
    const struct batch *batch = a->batch;
    const size_t begin = task * BLOCK_ROWS, end = smaller(begin + BLOCK_ROWS, (size_t)a->rows.total);
    const size_t hidden = (size_t)a->hidden, live = (size_t)a->rows.live, dead = live > begin ? live : begin;
    real keep[KEEP_PIECE];
    for (size_t row = begin; row < smaller(end, live); row++) {
        const int32_t token = a->index ? a->index[row] : (int32_t)row;
        for (size_t first = 0; first < hidden; first += KEEP_PIECE) {
            const storage *x = (const storage *)a->x + row * hidden + first;
            storage *y = (storage *)a->y + row * hidden + first;
            const size_t count = smaller(KEEP_PIECE, hidden - first);
            keep_piece(keep, a->dropout, a->dropout->name, batch->numbers[batch->sequence_of[token]],
                       (uint32_t)batch->positions[token], (int32_t)first, (int32_t)count);
            for (size_t i = 0; i < count; i++)
                y[i] = STORE(LOAD(x[i]) * keep[i]);
        }
    }
    if (a->y != a->x && dead < end) /* else they are zero already */
        memset((storage *)a->y + dead * hidden, 0, (end - dead) * hidden * sizeof(storage));
}

static void dropout(struct device *device, const struct dropout_args *args)
{
    (void)device;
    if (args->dropout->threshold > 0 || args->y != args->x)
        parallel(blocks_of((size_t)args->rows.total, BLOCK_ROWS), dropout_block, args);
}

#endif

/* Embedding rows [T, hidden], the gradients of their tables, and dropout. Several tokens may add to one row of a
 * table's gradient, so that pass is cut by columns and by rows of the tables: each task adds the gradients of its own
 * columns and rows, in order. */
#pragma once

#include "trainer/cpu/keep.h"
#include "trainer/cpu/real.h"

#define TASK_COLUMNS 64 /* columns of one task of embed_backward */
#define GROUPS_MAX   64 /* groups of a table's rows, at most */

static void embed_rows(const void *args, size_t first, size_t end)
{
    const struct embed_args *a = args;
    const struct batch *batch = a->batch;
    const size_t hidden = (size_t)a->hidden;
    for (size_t row = first; row < end; row++) {
        storage *y = (storage *)a->y + row * hidden;
        if (row >= (size_t)batch->tokens) {
            memset(y, 0, hidden * sizeof *y);
            continue;
        }
        const storage *word = (const storage *)a->word + (size_t)batch->ids[row] * hidden;
        if (!a->position) {
            memcpy(y, word, hidden * sizeof *y);
            continue;
        }
        const storage *position = (const storage *)a->position + (size_t)batch->positions[row] * hidden;
        const storage *type = (const storage *)a->type + (size_t)batch->segments[row] * hidden;
        for (size_t i = 0; i < hidden; i++)
            y[i] = STORE(LOAD(word[i]) + LOAD(position[i]) + LOAD(type[i]));
    }
}

static void embed(struct device *device, const struct embed_args *args)
{
    each_rows(device, (size_t)args->batch->token_rows, BLOCK_ROWS, embed_rows, args);
}

struct embed_backward_tasks {
    const struct embed_backward_args *args;
    size_t groups; /* of table rows: row r belongs to group r % groups */
};

static void embed_backward_task(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct embed_backward_tasks *tasks = args;
    const struct embed_backward_args *a = tasks->args;
    const struct batch *batch = a->batch;
    const size_t groups = tasks->groups, group = task % groups;
    const size_t hidden = (size_t)a->hidden, first = task / groups * TASK_COLUMNS,
                 columns = smaller(TASK_COLUMNS, hidden - first);
    for (size_t row = 0; row < (size_t)batch->tokens; row++) {
        const storage *dy = (const storage *)a->dy + row * hidden + first;
        const size_t places[] = {(size_t)batch->ids[row], (size_t)batch->positions[row], (size_t)batch->segments[row]};
        real *const tables[] = {a->dword, a->dposition, a->dtype};
        for (size_t t = 0; t < 3; t++) {
            if (!tables[t] || places[t] % groups != group)
                continue;
            real *to = tables[t] + places[t] * hidden + first;
#pragma omp simd
            for (size_t i = 0; i < columns; i++)
                to[i] += LOAD(dy[i]);
        }
    }
}

static void embed_backward(struct device *device, const struct embed_backward_args *args)
{
    struct embed_backward_tasks tasks = {args, 1};
    const size_t across = blocks_of((size_t)args->hidden, TASK_COLUMNS);
    while (tasks.groups < GROUPS_MAX && !is_enough(device, across * tasks.groups))
        tasks.groups *= 2;
    parallel(across * tasks.groups, embed_backward_task, &tasks);
}

static void dropout_rows(const void *args, size_t begin, size_t end)
{
    const struct dropout_args *a = args;
    const struct batch *batch = a->batch;
    const size_t hidden = (size_t)a->hidden, live = (size_t)a->rows.live, dead = live > begin ? live : begin;
    real keep[KEEP_COLUMNS];
    for (size_t row = begin; row < smaller(end, live); row++) {
        const int32_t token = a->index ? a->index[row] : (int32_t)row;
        for (size_t first = 0; first < hidden; first += KEEP_COLUMNS) {
            const storage *x = (const storage *)a->x + row * hidden + first;
            storage *y = (storage *)a->y + row * hidden + first;
            const size_t count = smaller(KEEP_COLUMNS, hidden - first);
            keep_columns(keep, a->dropout, a->dropout->name, batch->numbers[batch->sequence_of[token]],
                         (uint32_t)batch->positions[token], (int32_t)first, (int32_t)count);
            for (size_t i = 0; i < count; i++)
                y[i] = STORE(LOAD(x[i]) * keep[i]);
        }
    }
    if (a->y != a->x && dead < end) /* in place, they are zero already */
        memset((storage *)a->y + dead * hidden, 0, (end - dead) * hidden * sizeof(storage));
}

static void dropout(struct device *device, const struct dropout_args *args)
{
    if (args->dropout->threshold > 0 || args->y != args->x)
        each_rows(device, (size_t)args->rows.total, BLOCK_ROWS, dropout_rows, args);
}

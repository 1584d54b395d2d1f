/* The state of the CPU backend, and what all its files share. */
#pragma once

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/parallel.h"
#include "trainer/backend/bf16.h"
#include "trainer/cpu/cpu_backend.h"
#include "trainer/backend/fp16.h"
#include "trainer/backend/ops.h"

#define BLOCK_ROWS   64  /* rows of one partial sum over rows; rows of one row-wise task, at most */
#define SLICE_LEAST  16  /* columns of a task that sums over rows, at least */
#define TASKS_EACH   4   /* tasks of a parallel region per thread, at least, where the shape allows */
#define KEEP_COLUMNS 256 /* columns whose dropout is computed at once (keep.h) */
#define PANEL_MAX    64  /* columns of B that a product processes at once, at most */
#define AHEAD        8   /* prefetch distance while a matrix is packed, in units */

struct device {
    int threads;        /* of the process when the backend was opened; scratch is sized for them */
    char *work;         /* scratch of products, each thread has its own */
    size_t work_thread; /* bytes of one thread's */
    char sent[2][SENT_BYTES_MAX];
};

static inline bool is_enough(const struct device *device, size_t tasks)
{
    return tasks >= TASKS_EACH * (size_t)device->threads;
}

/* Rows of a task that sums nothing over rows: its size changes no bit of the results. */
static inline size_t row_block(const struct device *device, size_t rows, size_t most)
{
    size_t block = most;
    while (block > 1 && !is_enough(device, blocks_of(rows, block)))
        block /= 2;
    return block;
}

/* Columns of a task, where the sums over each of `parts` parts of the rows are also cut by columns. */
static inline size_t column_slice(const struct device *device, size_t parts, size_t columns)
{
    size_t slice = columns;
    while (slice > SLICE_LEAST && !is_enough(device, parts * blocks_of(columns, slice)))
        slice = slice / 2 < SLICE_LEAST ? SLICE_LEAST : slice / 2;
    return slice;
}

struct row_work {
    void (*run)(const void *args, size_t first, size_t end);
    const void *args;
    size_t rows, block;
};

static inline void row_task(const void *args, size_t task, int thread)
{
    const struct row_work *work = args;
    (void)thread;
    work->run(work->args, task * work->block, smaller((task + 1) * work->block, work->rows));
}

/* Runs run(args, first, end) for blocks that together cover all rows. */
static inline void each_rows(const struct device *device, size_t rows, size_t most,
                             void (*run)(const void *args, size_t first, size_t end), const void *args)
{
    const struct row_work work = {run, args, rows, row_block(device, rows, most)};
    parallel(blocks_of(rows, work.block), row_task, &work);
}

static inline size_t padded(size_t count, size_t multiple)
{
    return (count + multiple - 1) / multiple * multiple;
}

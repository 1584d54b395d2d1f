/* A loop whose iterations are distributed over threads. Divide the work into tasks by its shape alone, never by the
 * number of threads, and let every sum belong to one task or be made of the tasks' parts in their order: then results
 * are bit-exact for any number of threads. (For a stream of jobs that several steps work on, use a belt: belt.h.) */
#pragma once

#include <stddef.h>

/* Runs run(args, task, thread) once for every task below `tasks`, in any order; 0 <= thread < parallel_threads(). Must
 * not be nested; one caller at a time. */
void parallel(size_t tasks, void (*run)(const void *args, size_t task, int thread), const void *args);

int parallel_threads(void);             /* of the process; before they are set, as many as the cores it may use */
void parallel_set_threads(int threads); /* >= 1; while no region is open */
/* The number of tasks of the smallest region since the last call; SIZE_MAX: there was none. */
size_t parallel_least(void);

static inline size_t blocks_of(size_t count, size_t block)
{
    return (count + block - 1) / block;
}

static inline size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

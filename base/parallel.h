/* A loop whose rounds are shared out among threads. Cut the work into tasks by its shape alone, never by the number of
 * threads, and let every sum belong to one task or be made of tasks' parts in their order: then no bit depends on
 * threads. (A stream of jobs that several steps work on is a belt's, belt.h.) */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include <stddef.h>

/* Runs run(args, task, thread) for every task below `tasks`, each once, in any order; 0 <= thread < parallel_threads().
 * Not to be nested; one caller at a time. */
void parallel(size_t tasks, void (*run)(const void *args, size_t task, int thread), const void *args);

int parallel_threads(void);             /* of the process; before they are set, as many as the cores it may use */
void parallel_set_threads(int threads); /* >= 1; while no region is open */
/* Tasks of the smallest region since the last call; SIZE_MAX: there was none. */
size_t parallel_least(void);

static inline size_t blocks_of(size_t count, size_t block)
{
    return (count + block - 1) / block;
}

static inline size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif

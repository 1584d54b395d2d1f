/* The one place where this backend uses several threads. Work is cut into tasks by shape alone, never by the number of
 * threads, and every sum belongs to one task or is made of tasks' parts in their order: no bit depends on threads. */
#ifndef TRAINER_CPU_PARALLEL_H
#define TRAINER_CPU_PARALLEL_H

#include <stddef.h>
#include <stdint.h>

/* Rows of one task of row-wise work, and of one part of a sum over rows. */
#define BLOCK_ROWS 64

/* Runs run(args, task, thread) for every task below `tasks`, each once, in any order; 0 <= thread < parallel_threads().
 * Not to be nested. */
void parallel(size_t tasks, void (*run)(const void *args, size_t task, int thread), const void *args);

int parallel_threads(void);
void parallel_set_threads(int threads); /* >= 1 */

static inline size_t blocks_of(size_t count, size_t block)
{
    return (count + block - 1) / block;
}

static inline size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif

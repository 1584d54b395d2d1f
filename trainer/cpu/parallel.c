/* Threads come from OpenMP, because oneDNN's do: inside our region it computes each product in the calling thread. */
#include "trainer/cpu/parallel.h"

#ifdef _OPENMP
#include <omp.h>

void parallel(size_t tasks, void (*run)(const void *args, size_t task, int thread), const void *args)
{
#pragma omp parallel for schedule(dynamic, 1) if (tasks > 1)
    for (size_t task = 0; task < tasks; task++)
        run(args, task, omp_get_thread_num());
}

int parallel_threads(void)
{
    return omp_get_max_threads();
}

void parallel_set_threads(int threads)
{
    omp_set_num_threads(threads);
}

#else

void parallel(size_t tasks, void (*run)(const void *args, size_t task, int thread), const void *args)
{
    for (size_t task = 0; task < tasks; task++)
        run(args, task, 0);
}

int parallel_threads(void)
{
    return 1;
}

void parallel_set_threads(int threads)
{
    (void)threads;
}

#endif

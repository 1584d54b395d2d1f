/* A pool of threads that sleep between regions. In: a region, tasks of one function. Out: all of them done. The caller
 * works too, and waits for nobody who has not begun: where another program has a core, the rest is done on the others.
 * (OpenMP's threads all come to the end of a region, and spin while they wait: on two cores with a load of 6 to 11 a
 * training made a half to a quarter of the steps.) */
#include "base/parallel.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cores.h"
#include "base/thread.h"

#define THREADS_MAX 1024
#define SPINS       1000 /* looks before sleep, some tens of microseconds: most regions come closer upon another */

struct region {
    void (*run)(const void *args, size_t task, int thread);
    const void *args;
    size_t tasks;
};

static struct pool {
    pthread_mutex_t lock;
    pthread_cond_t opened, left;
    int wanted;                      /* threads of a region, the caller's among them; 0: not said yet */
    int workers;                     /* threads that were started, for ever */
    struct region region;            /* the one that is open, or was last */
    bool open;                       /* more workers may enter it */
    atomic_uint regions;             /* opened so far */
    atomic_int inside;               /* workers in the region; changed under the lock */
    _Alignas(64) atomic_size_t next; /* task; all write it */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};

static void pause_briefly(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

static void take_tasks(const struct region *region, int thread)
{
    for (size_t task; (task = atomic_fetch_add(&pool.next, 1)) < region->tasks;)
        region->run(region->args, task, thread);
}

/* A worker's life: it enters each region it comes in time for. */
static void *serve(void *context)
{
    const int thread = (int)(intptr_t)context;
    unsigned seen = 0;
    for (;;) {
        for (int i = 0; i < SPINS && atomic_load(&pool.regions) == seen; i++)
            pause_briefly();
        pthread_mutex_lock(&pool.lock);
        while (atomic_load(&pool.regions) == seen)
            pthread_cond_wait(&pool.opened, &pool.lock);
        seen = atomic_load(&pool.regions);
        if (pool.open && thread < pool.wanted) {
            const struct region region = pool.region;
            atomic_fetch_add(&pool.inside, 1);
            pthread_mutex_unlock(&pool.lock);
            take_tasks(&region, thread);
            pthread_mutex_lock(&pool.lock);
            if (atomic_fetch_sub(&pool.inside, 1) == 1)
                pthread_cond_signal(&pool.left);
        }
        pthread_mutex_unlock(&pool.lock);
    }
    return NULL;
}

/* Where the system gives no more threads, those that are there do the work. */
static void start_workers(void)
{
    while (pool.workers + 1 < parallel_threads()) {
        pthread_t thread;
        if (thread_start(&thread, serve, (void *)(intptr_t)(pool.workers + 1)) != 0)
            break;
        pthread_detach(thread);
        pool.workers++;
    }
}

void parallel(size_t tasks, void (*run)(const void *args, size_t task, int thread), const void *args)
{
    const struct region region = {run, args, tasks};
    if (tasks <= 1 || parallel_threads() == 1) {
        for (size_t task = 0; task < tasks; task++)
            run(args, task, 0);
        return;
    }
    start_workers();
    pthread_mutex_lock(&pool.lock);
    assert(!pool.open); /* one caller at a time */
    pool.region = region;
    pool.open = true;
    atomic_store(&pool.next, 0);
    atomic_fetch_add(&pool.regions, 1);
    pthread_cond_broadcast(&pool.opened);
    pthread_mutex_unlock(&pool.lock);

    take_tasks(&region, 0);
    for (int i = 0; i < SPINS && atomic_load(&pool.inside) > 0; i++)
        pause_briefly();
    pthread_mutex_lock(&pool.lock);
    pool.open = false;
    while (atomic_load(&pool.inside) > 0)
        pthread_cond_wait(&pool.left, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

int parallel_threads(void)
{
    if (pool.wanted == 0)
        parallel_set_threads((int)cores_allowed());
    return pool.wanted;
}

void parallel_set_threads(int threads)
{
    assert(threads >= 1);
    pthread_mutex_lock(&pool.lock);
    pool.wanted = threads < THREADS_MAX ? threads : THREADS_MAX;
    pthread_mutex_unlock(&pool.lock);
}

/* A pool of threads that sleep between regions. In: a region, tasks of one function. Out: all of them done. The caller
 * works too, and waits for nobody who has not begun: where another program has a core, the rest is done on the others.
 * (OpenMP's threads all come to the end of a region, and spin while they wait: on two cores with a load of 6 to 11 a
 * training made a half to a quarter of the steps.)
 *
 * Nobody takes a lock. A worker counts itself in, and only then looks whether the region is open; the caller closes the
 * region, and only then looks who is in: one of the two sees the other. Who has nothing to do looks for a while, then
 * sleeps on the word that it looked at (futex(2)). */
#include "base/parallel.h"

#include <assert.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cores.h"
#include "base/thread.h"

#define THREADS_MAX 1024
#define SPINS       1000 /* looks before sleep, some tens of microseconds: most regions come closer upon another */

struct region {
    void (*run)(const void *args, size_t task, int thread);
    const void *args;
    size_t tasks;
};

/* Words that different threads write lie on lines of their own. */
static struct pool {
    atomic_int wanted;               /* threads of a region, the caller's among them; 0: not said yet */
    int workers;                     /* threads that were started, for ever */
    bool pinned;                     /* each keeps a core */
    size_t least;                    /* tasks of the smallest region (parallel_least) */
    struct region region;            /* written while none is open and nobody is in */
    _Alignas(64) atomic_uint opened; /* number of the last region, never 0 */
    atomic_uint open;                /* its number, or 0: nobody may enter any more */
    atomic_int sleepers;             /* workers that sleep on `opened` */
    _Alignas(64) atomic_uint inside; /* workers that count themselves in */
    atomic_bool waits;               /* the caller sleeps on `inside` */
    _Alignas(64) atomic_size_t next; /* task */
} pool = {.least = SIZE_MAX};

static void pause_briefly(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

/* Sleeps while the word has this value, until it is woken; may come back for no reason. */
static void sleep_on(atomic_uint *word, unsigned value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(atomic_uint *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static void take_tasks(const struct region *region, int thread)
{
    for (size_t task; (task = atomic_fetch_add(&pool.next, 1)) < region->tasks;)
        region->run(region->args, task, thread);
}

/* Returns the number of a region after `seen`. */
static unsigned await_region(unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&pool.opened) != seen)
            return atomic_load(&pool.opened);
        pause_briefly();
    }
    atomic_fetch_add(&pool.sleepers, 1);
    while (atomic_load(&pool.opened) == seen)
        sleep_on(&pool.opened, seen);
    atomic_fetch_sub(&pool.sleepers, 1);
    return atomic_load(&pool.opened);
}

/* A worker's life: it enters each region it comes in time for. */
static void *serve(void *context)
{
    const int thread = (int)(intptr_t)context;
    if (pool.pinned)
        cores_keep((unsigned)thread);
    for (unsigned seen = 0;;) {
        seen = await_region(seen);
        atomic_fetch_add(&pool.inside, 1);
        if (atomic_load(&pool.open) != 0) { /* and it cannot close while we are in; nor are others `wanted` meanwhile */
            seen = atomic_load(&pool.open);
            if (thread < atomic_load(&pool.wanted))
                take_tasks(&pool.region, thread);
        }
        if (atomic_fetch_sub(&pool.inside, 1) == 1 && atomic_load(&pool.waits))
            wake(&pool.inside, 1);
    }
    return NULL;
}

/* Where the system gives no more threads, those that are there do the work. */
static void start_workers(void)
{
    if (pool.workers == 0)
        pool.pinned = cores_are_ours((unsigned)parallel_threads());
    while (pool.workers + 1 < parallel_threads()) {
        pthread_t thread;
        if (thread_start(&thread, serve, (void *)(intptr_t)(pool.workers + 1)) != 0)
            break;
        pthread_detach(thread);
        pool.workers++;
    }
}

static void open_region(const struct region *region)
{
    unsigned number = atomic_load(&pool.opened) + 1;
    number += number == 0;
    pool.region = *region;
    atomic_store(&pool.next, 0);
    atomic_store(&pool.open, number);
    atomic_store(&pool.opened, number);
    if (atomic_load(&pool.sleepers) > 0)
        wake(&pool.opened, INT_MAX);
}

/* Nobody enters any more; waits for those who are in. */
static void close_region(void)
{
    atomic_store(&pool.open, 0);
    for (int i = 0; i < SPINS && atomic_load(&pool.inside) > 0; i++)
        pause_briefly();
    atomic_store(&pool.waits, true);
    for (unsigned inside; (inside = atomic_load(&pool.inside)) > 0;)
        sleep_on(&pool.inside, inside);
    atomic_store(&pool.waits, false);
}

void parallel(size_t tasks, void (*run)(const void *args, size_t task, int thread), const void *args)
{
    const struct region region = {run, args, tasks};
    if (tasks > 0 && tasks < pool.least)
        pool.least = tasks;
    if (tasks <= 1 || parallel_threads() == 1) {
        for (size_t task = 0; task < tasks; task++)
            run(args, task, 0);
        return;
    }
    assert(atomic_load(&pool.open) == 0); /* one caller at a time */
    start_workers();
    open_region(&region);
    take_tasks(&region, 0);
    close_region();
}

size_t parallel_least(void)
{
    const size_t least = pool.least;
    pool.least = SIZE_MAX;
    return least;
}

int parallel_threads(void)
{
    if (atomic_load(&pool.wanted) == 0)
        parallel_set_threads((int)cores_allowed());
    return atomic_load(&pool.wanted);
}

void parallel_set_threads(int threads)
{
    assert(threads >= 1);
    atomic_store(&pool.wanted, threads < THREADS_MAX ? threads : THREADS_MAX);
}

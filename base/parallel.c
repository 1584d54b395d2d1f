/* A pool of threads that sleep between regions; a region is a set of tasks of one function. The caller works too, and
 * does not wait for workers that have not begun: if another program occupies a core, the other threads do its share.
 * (OpenMP's threads must all reach the end of a region, and spin while they wait: on two cores with a load of 6 to 11,
 * training made a quarter to a half of the steps.)
 *
 * There are no locks. A worker first increments `inside` and then checks whether the region is open; the caller first
 * closes the region and then checks `inside`. So one of the two always sees the other. A thread without work spins for
 * a while, then sleeps on the word that it watched (futex(2)). */
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
#define SPINS       1000 /* some tens of microseconds, then sleep: most regions follow each other faster */

struct region {
    void (*run)(const void *args, size_t task, int thread);
    const void *args;
    size_t tasks;
};

/* Words that different threads write are on separate cache lines. */
static struct pool {
    atomic_int wanted;               /* threads of a region, including the caller; 0: not set yet */
    int workers;                     /* threads that were started; they never end */
    bool pinned;                     /* each thread is pinned to a core */
    size_t least;                    /* tasks of the smallest region (parallel_least) */
    struct region region;            /* written only while no region is open and `inside` is 0 */
    _Alignas(64) atomic_uint opened; /* number of the last region, never 0 */
    atomic_uint open;                /* its number, or 0: no worker may enter any more */
    atomic_int sleepers;             /* workers that sleep on `opened` */
    _Alignas(64) atomic_uint inside; /* workers between entering and leaving */
    atomic_bool waits;               /* the caller sleeps on `inside` */
    _Alignas(64) atomic_size_t next; /* the next task */
} pool = {.least = SIZE_MAX};

static void pause_briefly(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

/* Sleeps while the word has this value, until it is woken; spurious wake-ups are possible. */
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

/* Waits for a region other than `seen`; returns its number. */
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

/* A worker's loop: it works on every region that is still open when it arrives. */
static void *serve(void *context)
{
    const int thread = (int)(intptr_t)context;
    if (pool.pinned)
        cores_keep((unsigned)thread);
    for (unsigned seen = 0;;) {
        seen = await_region(seen);
        atomic_fetch_add(&pool.inside, 1);
        if (atomic_load(&pool.open) != 0) { /* while this worker is inside, the region cannot close and `wanted` does
                                             * not change */
            seen = atomic_load(&pool.open);
            if (thread < atomic_load(&pool.wanted))
                take_tasks(&pool.region, thread);
        }
        if (atomic_fetch_sub(&pool.inside, 1) == 1 && atomic_load(&pool.waits))
            wake(&pool.inside, 1);
    }
    return NULL;
}

/* If the system gives no more threads, the existing ones do the work. */
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

/* Keeps further workers out and waits for those inside. */
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
    assert(atomic_load(&pool.next) >= tasks && atomic_load(&pool.open) == 0);
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
    assert(threads >= 1 && atomic_load(&pool.open) == 0); /* a region's threads are fixed */
    atomic_store(&pool.wanted, threads < THREADS_MAX ? threads : THREADS_MAX);
}

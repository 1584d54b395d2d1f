// labels: threads
/* Parallel loops: every task runs once, on a thread of its region, for any number of threads and however soon one
 * region follows another. */
#include "tests/base/help.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/parallel.h"

#define TASKS_MAX 300

struct counted {
    atomic_int *done; /* [tasks] */
    int threads;
    atomic_int strays;
    size_t work; /* per task */
};

static void count(const void *args, size_t task, int thread)
{
    struct counted *counted = (struct counted *)args;
    volatile size_t turned = 0;
    while (turned < counted->work)
        turned = turned + 1;
    if (thread < 0 || thread >= counted->threads)
        atomic_fetch_add(&counted->strays, 1);
    atomic_fetch_add(&counted->done[task], 1);
}

static void run_region(size_t tasks, size_t work)
{
    atomic_int done[TASKS_MAX + 1] = {0};
    struct counted counted = {done, parallel_threads(), 0, work};
    parallel(tasks, count, &counted);
    assert_int_equal(counted.strays, 0);
    for (size_t task = 0; task <= TASKS_MAX; task++)
        assert_int_equal(done[task], task < tasks);
}

TEST(every_task_is_run_once)
{
    static const int threads[] = {1, 2, 7, 3, 64, 2};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        parallel_set_threads(threads[i]);
        assert_int_equal(parallel_threads(), threads[i]);
        for (size_t tasks = 0; tasks <= TASKS_MAX; tasks = 2 * tasks + 1)
            run_region(tasks, 100);
    }
}

/* Workers that reach a region after it has closed must not take its tasks, nor miss the next region. */
TEST(regions_follow_one_another)
{
    parallel_set_threads(4);
    for (size_t i = 0; i < 3000; i++)
        run_region(2 + i % 9, i % 50 == 0 ? 20000 : i % 7);
}

/* Thread numbers select scratch memory, so no two tasks that run at the same time may have the same number. */
static atomic_int holders[8];

static void hold(const void *args, size_t task, int thread)
{
    (void)task;
    volatile int turned = 0;
    if (atomic_fetch_add(&holders[thread], 1) != 0)
        atomic_fetch_add((atomic_int *)args, 1);
    while (turned < 1000)
        turned = turned + 1;
    atomic_fetch_sub(&holders[thread], 1);
}

TEST(threads_share_no_number)
{
    atomic_int clashes = 0;
    parallel_set_threads(8);
    for (int i = 0; i < 50; i++)
        parallel(TASKS_MAX, hold, &clashes);
    assert_int_equal(clashes, 0);
}

/* A caller that pauses between regions wakes its sleeping workers; the number of threads changes each time. */
TEST(sleepers_are_woken)
{
    const struct timespec while_ = {.tv_nsec = 2 * 1000 * 1000};
    for (int i = 0; i < 100; i++) {
        parallel_set_threads(2 + i % 20);
        nanosleep(&while_, NULL);
        run_region(TASKS_MAX, 1000);
    }
}

/* Every thread gets a task where there are enough long ones: tasks wait here until all threads run one. */
static void meet(const void *args, size_t task, int thread)
{
    atomic_int *there = (atomic_int *)args;
    (void)task, (void)thread;
    atomic_fetch_add(there, 1);
    while (atomic_load(there) < parallel_threads())
        sched_yield();
}

TEST(all_threads_come)
{
    for (int threads = 2; threads <= 32; threads *= 2) {
        atomic_int there = 0;
        parallel_set_threads(threads);
        parallel((size_t)threads, meet, &there);
        assert_int_equal(there, threads);
    }
}

TEST(the_smallest_region_is_reported)
{
    parallel_least();
    assert_true(parallel_least() == SIZE_MAX);
    run_region(12, 1);
    run_region(7, 1);
    run_region(0, 1);
    run_region(30, 1);
    assert_int_equal(parallel_least(), 7);
    assert_true(parallel_least() == SIZE_MAX);
}

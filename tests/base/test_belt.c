// labels: threads
/* The contract of the belt at every pool size and depth: order, first error, an end set by the source or a later step,
 * several loads per job. */
#include "tests/base/help.h"

#include "base/belt.h"
#include "base/random.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

enum { JOBS = 60, PASSES_MAX = 4, LOG_MAX = JOBS * PASSES_MAX + 1 };

static const size_t pools[] = {1, 2, 8};
static const size_t depths[] = {1, 2, 5, 16};

/* What the steps have to do, and what they recorded. UINT64_MAX means never. */
struct world {
    uint64_t jobs;            /* the source ends after this many */
    uint64_t fail_at[5];      /* per step: the job that fails */
    uint64_t end_at[5];       /* per step: the job at which it returns BELT_END */
    int with_passes;          /* the ordered middle step yields 1 + number % 4 loads per job */
    int with_nested;          /* the last ordered step yields two loads for each of those */
    int calm;                 /* no sleeps */
    atomic_int inside[5];     /* threads in each step now */
    atomic_int busy, busiest; /* threads in any step: now, and at most so far */
    atomic_uint_fast64_t all_ran[5];
    uint64_t order[5][LOG_MAX]; /* for ordered steps: number * 16 + pass * 2 + nested, in the order seen */
    size_t order_count[5];
};

struct item {
    uint64_t number, sum;
    int pass, nested; /* index of the current load */
    char *kept;       /* a buffer that stays with the ring slot */
};

static struct world world_of(uint64_t jobs)
{
    struct world world = {.jobs = jobs};
    for (int i = 0; i < 5; i++)
        world.fail_at[i] = world.end_at[i] = UINT64_MAX;
    return world;
}

static void dawdle(uint64_t number, size_t step)
{
    const struct random_stream stream = random_stream(7, RANDOM_PAIR, step, 0, 0, 0, 0);
    const uint32_t r = random_at(&stream, (uint32_t)number, 0);
    if (r % 4 == 0)
        nanosleep(&(struct timespec){.tv_nsec = (long)(r % 200000)}, NULL);
    else if (r % 4 == 1)
        sched_yield();
}

static void enter(struct world *world, size_t step, int ordered)
{
    const int others = atomic_fetch_add(&world->inside[step], 1);
    const int busy = atomic_fetch_add(&world->busy, 1) + 1;
    int most = atomic_load(&world->busiest);
    while (busy > most && !atomic_compare_exchange_weak(&world->busiest, &most, busy))
        ;
    if (ordered && others)
        abort(); /* two threads in one ordered step */
    atomic_fetch_add(&world->all_ran[step], 1);
}

static int leave(struct world *world, size_t step, uint64_t number, int result, struct error *err)
{
    if (!world->calm)
        dawdle(number, step);
    atomic_fetch_sub(&world->busy, 1);
    atomic_fetch_sub(&world->inside[step], 1);
    if (number == world->fail_at[step])
        return (fail)(err, ERR_INPUT, "step %zu failed in job %d", step, (int)number);
    return number == world->end_at[step] ? BELT_END : result;
}

static void note(struct world *world, size_t step, const struct item *item)
{
    if (world->order_count[step] < LOG_MAX)
        world->order[step][world->order_count[step]++] = item->number * 16 + (uint64_t)(item->pass * 2 + item->nested);
}

static int run_source(void *context, void *job, uint64_t number, struct error *err)
{
    struct world *world = context;
    struct item *item = job;
    enter(world, 0, 1);
    if (!item->kept)
        item->kept = mem_alloc(16);
    item->number = number;
    item->sum = 0;
    item->pass = item->nested = -1;
    if (number < world->jobs) {
        item->pass = item->nested = 0;
        note(world, 0, item);
    }
    return leave(world, 0, number, number >= world->jobs ? BELT_END : BELT_NEXT, err);
}

static int run_first_parallel(void *context, void *job, uint64_t number, struct error *err)
{
    struct item *item = job;
    enter(context, 1, 0);
    item->sum = number * 3;
    item->pass = -1;
    return leave(context, 1, number, BELT_NEXT, err);
}

static int run_middle(void *context, void *job, uint64_t number, struct error *err)
{
    struct world *world = context;
    struct item *item = job;
    enter(context, 2, 1);
    item->pass++;
    item->nested = 0;
    note(world, 2, item);
    const int more = world->with_passes && (uint64_t)item->pass < number % PASSES_MAX;
    item->nested = -1;
    return leave(context, 2, number, more ? BELT_MORE : BELT_NEXT, err);
}

static int run_second_parallel(void *context, void *job, uint64_t number, struct error *err)
{
    struct item *item = job;
    enter(context, 3, 0);
    if (item->number != number || item->sum != number * 3)
        abort(); /* the memory belongs to another job */
    return leave(context, 3, number, BELT_NEXT, err);
}

static int run_collect(void *context, void *job, uint64_t number, struct error *err)
{
    struct world *world = context;
    struct item *item = job;
    enter(context, 4, 1);
    item->nested++;
    if (number != world->fail_at[4])
        note(world, 4, item);
    const int more = world->with_nested && item->nested == 0;
    return leave(context, 4, number, more ? BELT_MORE : BELT_NEXT, err);
}

static atomic_int released;

static void release_item(void *job)
{
    struct item *item = job;
    mem_free(item->kept);
    atomic_fetch_add(&released, 1);
}

static const struct belt_step steps[] = {
    {"source", 1, run_source},          {"first", 0, run_first_parallel}, {"middle", 1, run_middle},
    {"second", 0, run_second_parallel}, {"collect", 1, run_collect},
};

static struct belt_options options_of(struct world *world, size_t threads, size_t depth)
{
    return (struct belt_options){
        .steps = steps,
        .step_count = 5,
        .depth = depth,
        .threads = threads,
        .job_size = sizeof(struct item),
        .job_release = release_item,
        .context = world,
    };
}

/* Asserts that an ordered step saw every load of the jobs before `end`, job by job and pass by pass. */
static void expect_order(const struct world *world, size_t step, uint64_t end)
{
    size_t at = 0;
    for (uint64_t number = 0; number < end; number++)
        for (int pass = 0; pass <= (world->with_passes ? (int)(number % PASSES_MAX) : 0); pass++)
            for (int nested = 0; nested <= (world->with_nested && step == 4); nested++) {
                assert_true(at < world->order_count[step]);
                assert_int_equal(world->order[step][at++], number * 16 + (uint64_t)(pass * 2 + nested));
            }
    if (step == 4)
        assert_int_equal(world->order_count[step], at);
}

/* Runs with every pool size and depth; all must give the same result. `end` is the first job that does not reach the
 * end of the belt. */
static void expect(const struct world *wanted, uint64_t end, const char *error)
{
    for (size_t pool = 0; pool < COUNT(pools); pool++)
        for (size_t depth = 0; depth < COUNT(depths); depth++) {
            struct world world = *wanted;
            struct error err = {0};
            struct belt_load loads[5];
            const struct belt_options options = options_of(&world, pools[pool], depths[depth]);
            atomic_store(&released, 0);
            assert_int_equal(belt_run(&options, loads, &err), error ? -1 : 0);
            assert_string_equal(err.text, error ? error : "");
            expect_order(&world, 2, end);
            expect_order(&world, 4, end);
            assert_int_equal(atomic_load(&released), depths[depth]);
            assert_true((size_t)atomic_load(&world.busiest) <= pools[pool]);
            for (size_t step = 0; step < 5; step++) {
                assert_string_equal(loads[step].name, steps[step].name);
                assert_int_equal(loads[step].runs, atomic_load(&world.all_ran[step]));
                assert_true(belt_seconds(&loads[step]) >= 0);
            }
        }
}

TEST(every_job_goes_through_in_order)
{
    struct world world = world_of(JOBS);
    expect(&world, JOBS, NULL);
    world = world_of(0);
    expect(&world, 0, NULL);
    world = world_of(1);
    expect(&world, 1, NULL);
}

TEST(the_first_error_in_order_wins)
{
    /* Later jobs fail in earlier steps, so their errors come first in time. */
    struct world world = world_of(JOBS);
    world.fail_at[1] = 30;
    world.fail_at[3] = 25;
    world.fail_at[4] = 20;
    expect(&world, 20, "step 4 failed in job 20");
    world = world_of(JOBS);
    world.fail_at[3] = 17;
    world.fail_at[1] = 18;
    world.fail_at[0] = 19;
    expect(&world, 17, "step 3 failed in job 17");
    for (size_t step = 0; step < 5; step++) {
        char text[40];
        snprintf(text, sizeof(text), "step %zu failed in job 9", step);
        world = world_of(JOBS);
        world.fail_at[step] = 9;
        world.fail_at[1] = step == 1 ? 9 : 11;
        expect(&world, 9, text);
    }
}

TEST(an_end_drops_what_comes_later)
{
    struct world world = world_of(UINT64_MAX);
    world.end_at[4] = 10;
    expect(&world, 11, NULL);
    world.end_at[2] = 0;
    expect(&world, 1, NULL);
    /* Errors after the end do not count, however early they come. */
    world = world_of(UINT64_MAX);
    world.end_at[4] = 10;
    world.fail_at[1] = 11;
    world.fail_at[0] = 13;
    expect(&world, 11, NULL);
    /* Errors before the end do. */
    world.fail_at[3] = 10;
    world.end_at[2] = 10;
    world.end_at[4] = UINT64_MAX;
    expect(&world, 10, "step 3 failed in job 10");
}

TEST(a_job_may_yield_several_loads)
{
    struct world world = world_of(JOBS);
    world.with_passes = 1;
    expect(&world, JOBS, NULL);
    world.with_nested = 1;
    world.jobs = 20;
    expect(&world, 20, NULL);
    world.with_nested = 0;
    world.fail_at[1] = 15;
    expect(&world, 15, "step 1 failed in job 15");
}

TEST(an_end_among_loads_is_the_last_load)
{
    for (size_t pool = 0; pool < COUNT(pools); pool++) {
        struct world world = world_of(UINT64_MAX);
        struct error err;
        world.with_passes = 1;
        world.end_at[4] = 3; /* this job would have four loads */
        const struct belt_options options = options_of(&world, pools[pool], 4);
        assert_int_equal(belt_run(&options, NULL, &err), 0);
        assert_int_equal(world.order_count[4], 1 + 2 + 3 + 1);
    }
}

/* ---------------------------------------------------------------------------------- which thread runs what */

TEST(one_thread_finishes_a_job_before_it_reads_the_next)
{
    struct world world = world_of(5);
    struct error err;
    world.calm = 1;
    const struct belt_options options = options_of(&world, 1, 16);
    assert_int_equal(belt_run(&options, NULL, &err), 0);
    assert_int_equal(atomic_load(&world.busiest), 1);
    expect_order(&world, 4, 5);
}

struct trace {
    char text[100];
    size_t size;
    pthread_t thread;
    bool several;
};

static int run_trace(struct trace *trace, char name, uint64_t number)
{
    if (trace->size == 0)
        trace->thread = pthread_self();
    trace->several = trace->several || !pthread_equal(trace->thread, pthread_self());
    trace->text[trace->size++] = name;
    trace->text[trace->size++] = (char)('0' + number);
    return name == 'a' && number == 3 ? BELT_END : BELT_NEXT;
}

static int run_a(void *context, void *job, uint64_t number, struct error *err)
{
    (void)job;
    (void)err;
    return run_trace(context, 'a', number);
}

static int run_b(void *context, void *job, uint64_t number, struct error *err)
{
    (void)job;
    (void)err;
    return run_trace(context, 'b', number);
}

static int run_c(void *context, void *job, uint64_t number, struct error *err)
{
    (void)job;
    (void)err;
    return run_trace(context, 'c', number);
}

TEST(the_furthest_step_comes_first)
{
    static const struct belt_step three[] = {{"a", 1, run_a}, {"b", 0, run_b}, {"c", 1, run_c}};
    struct trace trace = {0};
    struct error err;
    const struct belt_options options = {.steps = three, .step_count = 3, .depth = 8, .threads = 1, .context = &trace};
    assert_int_equal(belt_run(&options, NULL, &err), 0);
    assert_string_equal(trace.text, "a0b0c0a1b1c1a2b2c2a3");
    assert_false(trace.several);
}

struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t all;
    size_t wanted, here;
};

static int run_number(void *context, void *job, uint64_t number, struct error *err)
{
    const struct meeting *meeting = context;
    (void)job;
    (void)err;
    return number < meeting->wanted ? BELT_NEXT : BELT_END;
}

/* Returns once `wanted` jobs are in this step at the same time. */
static int run_meet(void *context, void *job, uint64_t number, struct error *err)
{
    struct meeting *meeting = context;
    (void)job;
    struct timespec limit;
    int late = 0;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 10;
    pthread_mutex_lock(&meeting->lock);
    meeting->here++;
    pthread_cond_broadcast(&meeting->all);
    while (meeting->here < meeting->wanted && !late)
        late = pthread_cond_timedwait(&meeting->all, &meeting->lock, &limit);
    pthread_mutex_unlock(&meeting->lock);
    return late ? (fail)(err, ERR_BUG, "job %d waited alone", (int)number) : BELT_NEXT;
}

TEST(all_of_the_crew_can_be_in_a_parallel_step)
{
    static const struct belt_step two[] = {{"number", 1, run_number}, {"meet", 0, run_meet}};
    for (size_t pool = 0; pool < COUNT(pools); pool++) {
        struct meeting meeting = {
            .lock = PTHREAD_MUTEX_INITIALIZER, .all = PTHREAD_COND_INITIALIZER, .wanted = pools[pool]};
        struct error err;
        const struct belt_options options = {
            .steps = two, .step_count = 2, .depth = pools[pool], .threads = pools[pool], .context = &meeting};
        assert_int_equal(belt_run(&options, NULL, &err), 0);
    }
}

/* A gate before the meeting step: job 0 waits there until all other threads have run out of work. Once it continues,
 * one thread wakes the next until all of them meet. */
static atomic_int sourced;

static int run_count(void *context, void *job, uint64_t number, struct error *err)
{
    (void)job;
    (void)err;
    atomic_fetch_add(&sourced, 1);
    return number < ((const struct meeting *)context)->wanted ? BELT_NEXT : BELT_END;
}

static int run_gate(void *context, void *job, uint64_t number, struct error *err)
{
    (void)job;
    (void)err;
    while (number == 0 && (size_t)atomic_load(&sourced) < ((const struct meeting *)context)->wanted)
        sched_yield();
    if (number == 0)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    return BELT_NEXT;
}

TEST(no_thread_sleeps_while_work_is_ready)
{
    static const struct belt_step three[] = {{"count", 1, run_count}, {"gate", 1, run_gate}, {"meet", 0, run_meet}};
    struct meeting meeting = {.lock = PTHREAD_MUTEX_INITIALIZER, .all = PTHREAD_COND_INITIALIZER, .wanted = 8};
    struct error err;
    const struct belt_options options = {
        .steps = three, .step_count = 3, .depth = 8, .threads = 8, .context = &meeting};
    atomic_store(&sourced, 0);
    assert_int_equal(belt_run(&options, NULL, &err), 0);
}

/* Two threads: one holds job 0 in the gate while the other fills the ring. The thread that leaves the gate must carry
 * job 0 on to the next step and leave job 1, which waits at the gate, to the other thread. Each of the two waits until
 * both have begun. */
static pthread_t gate_keeper, last_worker;
static atomic_int begun;

static void wait_for_both(void)
{
    atomic_fetch_add(&begun, 1);
    for (int i = 0; i < 10000 && atomic_load(&begun) < 2; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static int run_gate_keeper(void *context, void *job, uint64_t number, struct error *err)
{
    if (number == 0)
        gate_keeper = pthread_self();
    if (number == 1)
        wait_for_both();
    return run_gate(context, job, number, err);
}

static int run_last(void *context, void *job, uint64_t number, struct error *err)
{
    (void)context;
    (void)job;
    (void)err;
    if (number == 0) {
        last_worker = pthread_self();
        wait_for_both();
    }
    return BELT_NEXT;
}

TEST(a_job_further_down_is_preferred)
{
    static const struct belt_step three[] = {
        {"count", 1, run_count}, {"gate", 1, run_gate_keeper}, {"last", 1, run_last}};
    struct meeting meeting = {.wanted = 8};
    struct error err;
    const struct belt_options options = {
        .steps = three, .step_count = 3, .depth = 8, .threads = 2, .context = &meeting};
    atomic_store(&sourced, 0);
    assert_int_equal(belt_run(&options, NULL, &err), 0);
    assert_true(pthread_equal(gate_keeper, last_worker));
}

/* Jobs 0 and 1 fail; `context` points to the number of the one that fails long after the other. */
static atomic_int failing;

static int run_fail(void *context, void *job, uint64_t number, struct error *err)
{
    (void)job;
    atomic_fetch_add(&failing, 1);
    while (atomic_load(&failing) < 2)
        sched_yield();
    if (number == *(const uint64_t *)context)
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    return (fail)(err, ERR_INPUT, "job %d", (int)number);
}

static int run_two(void *context, void *job, uint64_t number, struct error *err)
{
    (void)context;
    (void)job;
    (void)err;
    return number < 2 ? BELT_NEXT : BELT_END;
}

TEST(the_order_of_failing_does_not_matter)
{
    static const struct belt_step two[] = {{"two", 1, run_two}, {"fail", 0, run_fail}};
    for (uint64_t late = 0; late < 2; late++) {
        struct error err;
        const struct belt_options options = {.steps = two, .step_count = 2, .depth = 4, .threads = 2, .context = &late};
        atomic_store(&failing, 0);
        assert_int_equal(belt_run(&options, NULL, &err), -1);
        assert_string_equal(err.text, "job 0");
    }
}

TEST(a_single_step_is_a_belt_too)
{
    struct world world = world_of(7);
    struct error err;
    struct belt_options options = options_of(&world, 2, 2);
    options.step_count = 1;
    assert_int_equal(belt_run(&options, NULL, &err), 0);
    assert_int_equal(world.order_count[0], 7);
}

/* ---------------------------------------------------------------------------------- a consumer outside the belt */

TEST(a_consumer_takes_jobs_in_order)
{
    for (size_t pool = 0; pool < COUNT(pools); pool++)
        for (size_t depth = 0; depth < COUNT(depths); depth++)
            for (int passes = 0; passes < 2; passes++) {
                struct world world = world_of(JOBS);
                struct error err;
                void *job;
                world.with_passes = passes;
                const struct belt_options options = options_of(&world, pools[pool], depths[depth]);
                struct belt *belt = belt_open(&options);
                for (uint64_t number = 0; number < JOBS; number++)
                    for (int pass = 0; pass <= (passes ? (int)(number % PASSES_MAX) : 0); pass++) {
                        assert_int_equal(belt_next(belt, &job, &err), 1);
                        const struct item *item = job;
                        assert_int_equal(item->number, number);
                        assert_int_equal(item->pass, pass);
                        assert_int_equal(item->sum, number * 3);
                        dawdle(number, 5);
                        belt_done(belt);
                    }
                assert_int_equal(belt_next(belt, &job, &err), 0);
                assert_int_equal(belt_next(belt, &job, &err), 0);
                atomic_store(&released, 0);
                belt_close(belt);
                assert_int_equal(atomic_load(&released), depths[depth]);
            }
}

TEST(a_consumer_gets_the_jobs_before_an_error)
{
    for (size_t pool = 0; pool < COUNT(pools); pool++)
        for (size_t depth = 0; depth < COUNT(depths); depth++) {
            struct world world = world_of(UINT64_MAX);
            struct error err;
            void *job;
            world.fail_at[1] = 20;
            world.fail_at[0] = 23;
            world.fail_at[4] = 17;
            const struct belt_options options = options_of(&world, pools[pool], depths[depth]);
            struct belt *belt = belt_open(&options);
            for (uint64_t number = 0; number < 17; number++) {
                assert_int_equal(belt_next(belt, &job, &err), 1);
                assert_int_equal(((struct item *)job)->number, number);
                belt_done(belt);
            }
            for (int again = 0; again < 2; again++) {
                assert_int_equal(belt_next(belt, &job, &err), -1);
                assert_string_equal(err.text, "step 4 failed in job 17");
            }
            belt_close(belt);
        }
}

TEST(a_consumer_may_leave_at_any_time)
{
    for (size_t pool = 0; pool < COUNT(pools); pool++)
        for (int taken = 0; taken < 20; taken++) {
            struct world world = world_of(UINT64_MAX);
            struct error err;
            void *job;
            const struct belt_options options = options_of(&world, pools[pool], 4);
            struct belt *belt = belt_open(&options);
            for (int i = 0; i < taken; i++) {
                assert_int_equal(belt_next(belt, &job, &err), 1);
                if (i + 1 < taken || taken % 2) /* for even counts, the belt is closed while a job is held */
                    belt_done(belt);
            }
            atomic_store(&released, 0);
            belt_close(belt);
            assert_int_equal(atomic_load(&released), 4);
            assert_int_equal(atomic_load(&world.busy), 0);
        }
}

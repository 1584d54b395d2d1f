/* Runs every job through every step, and reports the first error in job order.
 *
 * One lock protects everything that the threads share, and three short functions make all decisions: find() picks work,
 * finish() moves a job on, is_over() ends it. Jobs tail <= j <= next[0] are alive:
 *
 *      tail           next[2]         next[1]         next[0]          end
 *       │               │               │               │ the next       │ does not count any more: the source
 *       ▼ the oldest    ▼ due there     ▼ due there     ▼ from the source▼ ended, it failed, or a step said END
 *
 * `end` only decreases. So the first failure in job order wins, however late it comes, and earlier jobs are not
 * disturbed. A thread that takes work wakes another one if more work is ready. So no thread sleeps while work is ready,
 * and none is woken without work. */
#include "base/belt.h"

#include "base/mem.h"
#include "base/progress.h"
#include "base/thread.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

#define STEPS_MAX 8

enum slot_state { SLOT_FREE, SLOT_WAITING, SLOT_RUNNING };

struct slot {
    enum slot_state state;
    size_t step;     /* the step it waits for or is in; step_count: it has passed all steps */
    uint8_t pending; /* bit s: step s returned BELT_MORE and gets the job back */
};

struct belt {
    struct belt_options options;
    size_t job_stride;
    char *jobs;         /* [depth] of job_stride bytes */
    bool has_consumer;  /* belt_open: the consumer is one more ordered step after the last */
    pthread_t *threads; /* [thread_count] */
    size_t thread_count;

    pthread_mutex_t lock; /* protects all that follows */
    pthread_cond_t workers;
    pthread_cond_t consumer;
    struct slot *slots;           /* [depth] */
    uint64_t tail, end;           /* see above */
    uint64_t next[STEPS_MAX + 1]; /* per ordered step: the next job it takes */
    bool stop;                    /* belt_close: end at once */
    bool held;                    /* the consumer has a job */
    struct error error;           /* of job `end`; kind ERR_NONE: no error */
    struct belt_load *loads;      /* the caller's, or NULL */
};

struct task {
    uint64_t number;
    size_t step;
};

static struct slot *slot_of(struct belt *belt, uint64_t number)
{
    return &belt->slots[number % belt->options.depth];
}

static void *job_of(struct belt *belt, uint64_t number)
{
    return belt->jobs + number % belt->options.depth * belt->job_stride;
}

static bool is_ordered(const struct belt *belt, size_t step)
{
    return step == belt->options.step_count ? belt->has_consumer : belt->options.steps[step].ordered;
}

static bool is_over(const struct belt *belt)
{
    return belt->stop || belt->tail == belt->end;
}

/* Finds the ready step that is furthest downstream, for the oldest job there. The source comes last. */
static bool find(struct belt *belt, struct task *task)
{
    bool found = false;
    assert(belt->tail <= belt->next[0] && belt->next[0] - belt->tail <= belt->options.depth);
    for (uint64_t number = belt->tail; number < belt->next[0] && number < belt->end; number++) {
        const struct slot *slot = slot_of(belt, number);
        if (slot->state != SLOT_WAITING || slot->step == belt->options.step_count)
            continue;
        if (is_ordered(belt, slot->step) && belt->next[slot->step] != number)
            continue;
        if (!found || slot->step > task->step)
            *task = (struct task){number, slot->step};
        found = true;
    }
    const uint64_t fresh = belt->next[0];
    if (!found && fresh < belt->end && fresh - belt->tail < belt->options.depth &&
        slot_of(belt, fresh)->state == SLOT_FREE) {
        *task = (struct task){fresh, 0};
        found = true;
    }
    return found;
}

/* Ends the belt at a failed job. An error of a later job is forgotten. */
static void fail_at_job(struct belt *belt, uint64_t number, const struct error *err)
{
    assert(number >= belt->tail); /* a job that has finished cannot fail */
    if (number >= belt->end)
        return;
    belt->end = number;
    belt->error = *err;
}

/* Ends the belt because there is no job from `end` on. Any error so far is from job `end` or a later one, and is
 * discarded. */
static void end_at(struct belt *belt, uint64_t end)
{
    assert(end >= belt->tail);
    if (end > belt->end)
        return;
    belt->end = end;
    belt->error = (struct error){.kind = ERR_NONE};
}

/* The job has passed `step`. While any step wants the job back, this step stays reserved for it. */
static void leave(struct belt *belt, uint64_t number, size_t step)
{
    if (!is_ordered(belt, step))
        return;
    assert(belt->next[step] == number); /* each job passes an ordered step in its turn */
    if (!slot_of(belt, number)->pending)
        belt->next[step] = number + 1;
}

/* The job has passed all steps: it returns to the step that wants it again, or its slot becomes free. */
static void come_home(struct belt *belt, uint64_t number)
{
    struct slot *slot = slot_of(belt, number);
    slot->state = SLOT_WAITING;
    if (slot->pending) {
        slot->step = 31 - (size_t)__builtin_clz(slot->pending);
        return;
    }
    slot->step = belt->options.step_count;
    leave(belt, number, slot->step);
    /* A parallel last step finishes jobs out of order; slots are given back in order. */
    while (belt->tail < belt->end && belt->tail < belt->next[0]) {
        slot = slot_of(belt, belt->tail);
        if (slot->state != SLOT_WAITING || slot->step != belt->options.step_count ||
            (belt->has_consumer && belt->tail >= belt->next[slot->step]))
            break;
        assert(!slot->pending);
        slot->state = SLOT_FREE;
        belt->tail++;
    }
}

static void finish(struct belt *belt, struct task task, int result, const struct error *err)
{
    struct slot *slot = slot_of(belt, task.number);
    const uint8_t bit = (uint8_t)(1u << task.step);
    const bool ordered = is_ordered(belt, task.step);
    assert(slot->state == SLOT_RUNNING && slot->step == task.step); /* nobody else took the slot meanwhile */
    slot->pending &= (uint8_t)~bit;
    if (result < 0) { /* earlier jobs still pass all steps: one of them may fail too, and its error wins */
        assert(err->kind != ERR_NONE);
        fail_at_job(belt, task.number, err);
    } else if (result == BELT_END && task.step == 0) { /* the source made no job */
        slot->state = SLOT_FREE;
        end_at(belt, task.number);
        return;
    } else if (result == BELT_END) { /* this job is the last */
        assert(ordered);
        slot->pending = 0;
        end_at(belt, task.number + 1);
    } else if (result == BELT_MORE) {
        assert(ordered && task.step > 0);
        slot->pending |= bit;
    } else {
        assert(result == BELT_NEXT);
    }
    leave(belt, task.number, task.step);
    slot->step = task.step + 1;
    slot->state = SLOT_WAITING;
    if (task.number < belt->end && slot->step == belt->options.step_count && !belt->has_consumer)
        come_home(belt, task.number);
}

static bool consumer_ready(struct belt *belt)
{
    const size_t last = belt->options.step_count;
    const uint64_t number = belt->next[last];
    const struct slot *slot = slot_of(belt, number);
    return is_over(belt) ||
           (number < belt->next[0] && number < belt->end && slot->state == SLOT_WAITING && slot->step == last);
}

/* Takes ready work and wakes another thread if there is more; false at the end. */
static bool take(struct belt *belt, struct task *task)
{
    struct task other;
    while (!is_over(belt) && !find(belt, task))
        pthread_cond_wait(&belt->workers, &belt->lock);
    if (is_over(belt))
        return false;
    *slot_of(belt, task->number) = (struct slot){
        .state = SLOT_RUNNING,
        .step = task->step,
        .pending = task->step ? slot_of(belt, task->number)->pending : 0,
    };
    if (find(belt, &other))
        pthread_cond_signal(&belt->workers);
    return true;
}

/* The loop of each thread of the pool. */
static void *serve(void *argument)
{
    struct belt *belt = argument;
    struct task task;
    pthread_mutex_lock(&belt->lock);
    while (take(belt, &task)) {
        pthread_mutex_unlock(&belt->lock);
        struct error err = {.kind = ERR_NONE};
        const double from = clock_now();
        const int result =
            belt->options.steps[task.step].run(belt->options.context, job_of(belt, task.number), task.number, &err);
        const double seconds = clock_now() - from;
        pthread_mutex_lock(&belt->lock);
        if (belt->loads) {
            belt->loads[task.step].runs++;
            belt->loads[task.step].nanoseconds += (uint64_t)(seconds * 1e9);
        }
        finish(belt, task, result, &err);
        if (belt->has_consumer && consumer_ready(belt))
            pthread_cond_signal(&belt->consumer);
    }
    pthread_cond_broadcast(&belt->workers);
    pthread_mutex_unlock(&belt->lock);
    return NULL;
}

static struct belt *open_with(const struct belt_options *options, struct belt_load *loads, bool has_consumer)
{
    assert(options->step_count >= 1 && options->step_count <= STEPS_MAX);
    assert(options->steps[0].ordered && options->depth >= 1 && options->threads >= 1);
    struct belt *belt = mem_clear(1, sizeof(*belt));
    belt->options = *options;
    belt->has_consumer = has_consumer;
    belt->job_stride = (options->job_size + 63) / 64 * 64; /* jobs share no cache line */
    belt->jobs = mem_aligned(belt->job_stride * options->depth);
    belt->slots = mem_clear(options->depth, sizeof(*belt->slots));
    belt->end = UINT64_MAX;
    belt->loads = loads;
    for (size_t i = 0; loads && i < options->step_count; i++)
        loads[i] = (struct belt_load){.name = options->steps[i].name};
    pthread_mutex_init(&belt->lock, NULL);
    pthread_cond_init(&belt->workers, NULL);
    pthread_cond_init(&belt->consumer, NULL);
    belt->threads = mem_clear(options->threads, sizeof(*belt->threads));
    for (; belt->thread_count < options->threads; belt->thread_count++)
        if (thread_start(&belt->threads[belt->thread_count], serve, belt) != 0)
            die(ERR_RESOURCE, "cannot start thread %zu of %zu", belt->thread_count + 1, options->threads);
    return belt;
}

struct belt *belt_open(const struct belt_options *options)
{
    return open_with(options, NULL, true);
}

int belt_next(struct belt *belt, void **job, struct error *err)
{
    int result = 1;
    pthread_mutex_lock(&belt->lock);
    assert(belt->has_consumer && !belt->held);
    while (!consumer_ready(belt))
        pthread_cond_wait(&belt->consumer, &belt->lock);
    if (is_over(belt)) {
        result = belt->error.kind == ERR_NONE ? 0 : -1;
        if (result < 0)
            *err = belt->error;
    } else {
        const uint64_t number = belt->next[belt->options.step_count];
        slot_of(belt, number)->state = SLOT_RUNNING;
        belt->held = true;
        *job = job_of(belt, number);
    }
    pthread_mutex_unlock(&belt->lock);
    return result;
}

void belt_done(struct belt *belt)
{
    struct task task;
    pthread_mutex_lock(&belt->lock);
    assert(belt->held);
    belt->held = false;
    come_home(belt, belt->next[belt->options.step_count]);
    if (is_over(belt))
        pthread_cond_broadcast(&belt->workers);
    else if (find(belt, &task))
        pthread_cond_signal(&belt->workers);
    pthread_mutex_unlock(&belt->lock);
}

/* The number of slots that a thread or the consumer is working on. */
static size_t running(const struct belt *belt)
{
    size_t count = 0;
    for (size_t i = 0; i < belt->options.depth; i++)
        count += belt->slots[i].state == SLOT_RUNNING;
    return count;
}

void belt_close(struct belt *belt)
{
    pthread_mutex_lock(&belt->lock);
    belt->stop = true;
    pthread_cond_broadcast(&belt->workers);
    pthread_mutex_unlock(&belt->lock);
    for (size_t i = 0; i < belt->thread_count; i++)
        pthread_join(belt->threads[i], NULL);
    assert(running(belt) == belt->held); /* every step that began has ended; the consumer may leave with a job */
    if (belt->options.job_release)
        for (size_t i = 0; i < belt->options.depth; i++)
            belt->options.job_release(belt->jobs + i * belt->job_stride);
    pthread_cond_destroy(&belt->consumer);
    pthread_cond_destroy(&belt->workers);
    pthread_mutex_destroy(&belt->lock);
    mem_free(belt->threads);
    mem_free(belt->slots);
    mem_free(belt->jobs);
    mem_free(belt);
}

double belt_seconds(const struct belt_load *load)
{
    return (double)load->nanoseconds * 1e-9;
}

int belt_run(const struct belt_options *options, struct belt_load *loads, struct error *err)
{
    struct belt *belt = open_with(options, loads, false);
    for (size_t i = 0; i < belt->thread_count; i++)
        pthread_join(belt->threads[i], NULL);
    belt->thread_count = 0;
    assert(belt->tail == belt->end); /* every job before the end has passed all steps and freed its slot */
    const int result = belt->error.kind == ERR_NONE ? 0 : -1;
    if (result < 0)
        *err = belt->error;
    belt_close(belt);
    return result;
}

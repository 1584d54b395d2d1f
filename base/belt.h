/* The one concurrency primitive: a pipeline of parallel and ordered steps over a bounded ring of numbered jobs.
 *
 *      ordered     parallel     ordered      parallel     ordered
 *     │ read │ ─► │ decode │ ─► │  cut  │ ─► │ digest │ ─► │ collect │
 *        ring of `depth` jobs, job j sits in slot j mod depth; a pool of exactly `threads` serves all steps
 *
 * A free thread takes the furthest-downstream step that is ready. An ordered step runs for job j only after job j-1, on
 * whichever thread finds it ready, one thread at a time. The first step is ordered and is the source. There is no
 * deadlock, because the oldest job can always move. Jobs keep their buffers, so the steady state allocates nothing.
 * Data and errors move downstream; only free slots and stop requests travel upstream. The error reported is the first
 * in job order, whatever the timing: jobs before a failed one still finish all their steps, jobs after it are
 * dropped. */
#pragma once

#include "base/error.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* What a step's run() returns, unless it failed (< 0, *err filled). */
enum belt_result {
    BELT_NEXT = 0, /* the job goes on to the next step */
    BELT_END = 1,  /* source: there is no job; ordered step: this job is the last one that goes on, later ones are
                    * dropped, and so are further loads of this one */
    BELT_MORE = 2, /* ordered, not the source: the job goes through the later steps and then comes back to this step,
                    * before the next job may enter it (one job that yields several loads). A consumer outside is
                    * the last of these steps: it sees each load */
};

struct belt_step {
    const char *name;
    int ordered; /* else parallel: may run for several jobs at once, in any order */
    /* Works on one job. `job` is the slot's memory, `number` counts from 0. A parallel step may only read
     * `context`. A job that is dropped gets no further call; its slot is released when the belt closes. */
    int (*run)(void *context, void *job, uint64_t number, struct error *err);
};

struct belt_options {
    const struct belt_step *steps;  /* must outlive the belt; the first is the source */
    size_t step_count;              /* 1 to 8 */
    size_t depth;                   /* slots, >= 1; 2 * threads hides one slow job */
    size_t threads;                 /* the pool, >= 1 */
    size_t job_size;                /* bytes per slot, zeroed at the start */
    void (*job_release)(void *job); /* frees what a slot holds, when the belt closes; may be NULL */
    void *context;
};

/* Per step, for progress and summaries. Updated while the belt runs; any thread may read it. */
struct belt_load {
    const char *name;
    atomic_uint_fast64_t runs, nanoseconds; /* summed over threads, monotonic clock */
};
double belt_seconds(const struct belt_load *load);

/* Runs the whole belt while the calling thread waits: the stack of a main thread may be too small for the steps.
 * Returns 0 when the last job has finished all steps, < 0 with the first error in job order. */
int belt_run(const struct belt_options *options, struct belt_load *loads /* [step_count] or NULL */, struct error *err);

/* The same with an external consumer: the pool runs in the background, the caller takes finished jobs in order.
 *     belt_open → { belt_next → use the job → belt_done } … → belt_close */
struct belt;
struct belt *belt_open(const struct belt_options *options);
/* Waits for the next job that has passed all steps: 1 and *job, 0 at the end, < 0 on the first error in job order. */
int belt_next(struct belt *belt, void **job, struct error *err);
void belt_done(struct belt *belt);  /* frees the job's slot, or returns the job to the step that said BELT_MORE */
void belt_close(struct belt *belt); /* stops at once, drops what is under way, joins the pool, frees everything */

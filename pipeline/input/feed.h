/* The belt of every command that reads inputs: windows → groups of records → the command's own work on each → the
 * command's own use of the results, in order.
 *
 *      ordered     parallel     ordered     parallel     ordered
 *     │ read │ ─► │ decode │ ─► │ cut │ ─► │ work │ ─► │ end │
 *       └────────── a feed ─────────┘        └── struct feed_work ──┘
 *
 *     feed_open → [ feed_begin → ] feed_run … → feed_close
 *
 * The context of the steps begins with a struct feed, a job with a struct feed_job. A feed covers all windows, or some
 * that were chosen. If it ends at a window inside an input, a second belt of depth 1 on the same feed reads on until
 * the groups before that window are complete, which they may be already. */
#pragma once

#include "base/belt.h"
#include "pipeline/input/inputs.h"
#include "pipeline/input/workers.h"

#define FEED_STEPS 5 /* of the belt, in the order of the picture */

/* A command's own two steps. */
struct feed_work {
    const char *work_name, *end_name;
    /* Works on a job's group, on any thread; `worker` is scratch of that thread alone. `context` is read-only. */
    void (*work)(const void *context, void *worker, void *job);
    /* BELT_NEXT, BELT_END after the last job that is wanted, or < 0. */
    int (*end)(void *context, void *job, struct error *err);
    size_t job_size;
    void (*job_release)(void *job); /* must call feed_job_release */
    void *(*worker_open)(const void *options);
    void (*worker_close)(void *worker);
    const void *worker_options; /* outlives the feed */
};

struct feed {
    const struct inputs *inputs;
    uint64_t limit;           /* records to pass on in total; 0: no limit */
    struct place end;         /* where to stop; {inputs->count}: at the end of all inputs */
    struct place next;        /* the source's place */
    uint64_t pages;           /* records cut so far */
    bool reads_on;            /* reading beyond the end */
    bool done;                /* all groups before the end have been cut */
    struct dump_state at_end; /* the state when the end was reached */

    /* Chosen windows, in their order; only records completely inside a window are read: [chosen_count]. NULL: all. */
    const struct place *chosen;
    size_t chosen_count, chosen_next;

    const struct feed_work *work; /* outlives the feed */
    struct workers workers;
};

/* All inputs, just opened, from beginning to end. */
struct feed feed_whole(const struct inputs *inputs, uint64_t limit);
/* For a sequence of belts: the workers stay open from one to the next. */
void feed_open(struct feed *feed, const struct feed_work *work);
void feed_close(struct feed *feed);
/* Runs the belt to its end; `feed` is the beginning of the context. The error is the first in the order of the windows;
 * a stop on request ends the belt without an error. */
int feed_run(struct feed *feed, size_t depth, size_t threads, struct belt_load *loads /* [FEED_STEPS] or NULL */,
             struct error *err);

/* Rewinds everything and continues at `next`; `state` is that of its input. */
int feed_begin(struct feed *feed, struct place next, const struct dump_state *state, struct error *err);

struct feed_job {
    uint32_t file; /* the input that the window is of */
    uint64_t window;
    struct dump_piece piece;
    struct group group;      /* what to work on; may be empty */
    bool used_up;            /* this window gives no further group; then: */
    struct dump_state state; /* where to continue (unless the limit ended it), */
    uint64_t hash;           /* dump_hash */
    uint64_t pages;          /* and records cut so far */
};

/* The first three steps, each on one job. */
int feed_read(void *context, void *slot, uint64_t number, struct error *err);
int feed_decode(void *context, void *slot, uint64_t number, struct error *err);
int feed_cut(void *context, void *slot, uint64_t number, struct error *err);
void feed_job_release(struct feed_job *job);

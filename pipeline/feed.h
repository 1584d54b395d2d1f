/* The belt of every command that reads inputs: windows → groups of records → what the command makes of each → what it
 * does with them, in order.
 *
 *      ordered     parallel     ordered     parallel     ordered
 *     │ read │ ─► │ decode │ ─► │ cut │ ─► │ work │ ─► │ end │
 *       └────────── a feed ─────────┘        └── struct feed_work ──┘
 *
 *     feed_open → [ feed_begin → ] feed_run … → feed_close
 *
 * The context of the steps begins with a struct feed, a job with a struct feed_job. A feed is of all windows, or of
 * some that were chosen. Where it is to end at a window in the middle of an input, a second belt over the same feed, of
 * depth 1, reads on until the groups before that window are whole; it has nothing to do if they are. */
#ifndef PIPELINE_FEED_H
#define PIPELINE_FEED_H

#include "base/belt.h"
#include "pipeline/inputs.h"
#include "pipeline/workers.h"

#define FEED_STEPS 5 /* of the belt, in the order of the picture */

/* A command's own two steps. */
struct feed_work {
    const char *work_name, *end_name;
    /* A job's group, by any thread; `worker` is scratch that no other thread has. It may not touch `context` but for
     * reading. */
    void (*work)(const void *context, void *worker, void *job);
    /* BELT_NEXT, BELT_END after the last job that is wanted, or < 0. */
    int (*end)(void *context, void *job, struct error *err);
    size_t job_size;
    void (*job_release)(void *job); /* which calls feed_job_release */
    void *(*worker_open)(const void *options);
    void (*worker_close)(void *worker);
    const void *worker_options; /* outlives the feed */
};

struct feed {
    const struct inputs *inputs;
    uint64_t limit;           /* records handed on in all; 0: no limit */
    struct place end;         /* where to stop; {inputs->count}: at the end of all */
    struct place next;        /* the source's place */
    uint64_t pages;           /* records cut so far */
    bool reads_on;            /* after the end */
    bool done;                /* all groups before the end have been cut */
    struct dump_state at_end; /* the state when the end was reached */

    /* Of chosen windows, each for the records that lie whole in it: [chosen_count], in their order. NULL: all. */
    const struct place *chosen;
    size_t chosen_count, chosen_next;

    const struct feed_work *work; /* outlives the feed */
    struct workers workers;
};

/* Over all inputs, just opened, from beginning to end. */
struct feed feed_whole(const struct inputs *inputs, uint64_t limit);
/* For belts: workers stay open from one to the next. */
void feed_open(struct feed *feed, const struct feed_work *work);
void feed_close(struct feed *feed);
/* The belt until its end; `feed` is the beginning of the context. The error is the first in the order of the windows;
 * a stop on request ends it without one. */
int feed_run(struct feed *feed, size_t depth, size_t threads, struct belt_load *loads /* [FEED_STEPS] or NULL */,
             struct error *err);

/* Everything is wound back, and the feed put to `next`; `state` is that of its input. */
int feed_begin(struct feed *feed, struct place next, const struct dump_state *state, struct error *err);

struct feed_job {
    uint32_t file; /* the input that the window is of */
    uint64_t window;
    struct dump_piece piece;
    struct group group;      /* what to work on; may be empty */
    bool used_up;            /* no further group comes of this window: */
    struct dump_state state; /* where to go on then (unless the limit ended it), */
    uint64_t hash;           /* dump_hash */
    uint64_t pages;          /* and records cut so far */
};

/* The first three steps, each on one job. */
int feed_read(void *context, void *slot, uint64_t number, struct error *err);
int feed_decode(void *context, void *slot, uint64_t number, struct error *err);
int feed_cut(void *context, void *slot, uint64_t number, struct error *err);
void feed_job_release(struct feed_job *job);

#endif

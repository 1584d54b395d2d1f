/* The first three steps of every belt that reads its inputs from end to end: the windows of all inputs → groups of
 * records, in order.
 *
 *     {"read", 1, feed_read}, {"decode", 0, feed_decode}, {"cut", 1, feed_cut}, …
 *
 * The belt's context begins with a struct feed, a job with a struct feed_job. Where it is to end at a window in the
 * middle of an input, a second belt over the same feed, of depth 1, reads on until the groups before that window are
 * whole; it has nothing to do if they are. */
#ifndef PIPELINE_FEED_H
#define PIPELINE_FEED_H

#include "pipeline/inputs.h"

struct feed {
    const struct inputs *inputs;
    uint64_t limit;           /* records handed on in all; 0: no limit */
    struct place end;         /* where to stop; {inputs->count}: at the end of all */
    struct place next;        /* the source's place */
    uint64_t pages;           /* records cut so far */
    bool reads_on;            /* after the end */
    bool done;                /* all groups before the end have been cut */
    struct dump_state at_end; /* the state when the end was reached */
};

/* Over all inputs, just opened, from beginning to end. */
struct feed feed_whole(const struct inputs *inputs, uint64_t limit);
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

int feed_read(void *context, void *slot, uint64_t number, struct error *err);
int feed_decode(void *context, void *slot, uint64_t number, struct error *err);
int feed_cut(void *context, void *slot, uint64_t number, struct error *err);
void feed_job_release(struct feed_job *job);

#endif

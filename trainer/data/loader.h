/* Micro-batches in the order of training, made ahead of time by one worker on a belt.
 *
 *     loader_open → { loader_next → use the micro-batch } … → loader_close
 *
 * The run's samples are a source's endless sequence (source.h). Batch s is samples [s·B, (s+1)·B) from `first` on; it
 * may straddle the end of an epoch. So a loader's whole position is one number, `first`; where batches grow, their plan
 * gives it for each step. A process may take a share of every batch, the places [share_from, share_to) in it, of a
 * smaller batch in proportion; a sequence's number is its place in the whole batch all the same. The share is loaded
 * before its first micro-batch is handed out, because gradients need the batch's counts (Law 4). */
#ifndef TRAINER_DATA_LOADER_H
#define TRAINER_DATA_LOADER_H

#include "base/error.h"
#include "trainer/data/batch.h"
#include "trainer/data/batch_plan.h"
#include "trainer/data/pack.h"
#include "trainer/data/source.h"

#include <stdbool.h>
#include <stdint.h>

struct loader_options {
    const struct source *source; /* at least one sample; outlives the loader */
    uint64_t first;              /* number of the first sample in the endless sequence */
    uint64_t count;              /* samples in all; the last batch may be shorter */
    uint32_t batch;              /* B, sequences per batch, >= 1 */
    struct batch_plan plan;      /* where batches grow up to B: `step` is that of the first; plan.last 0: all are B */
    uint64_t step;
    uint32_t share_from;       /* the part of each batch that is loaded: places from here … */
    uint32_t share_to;         /* … to here, above share_from and at most B; 0: to its end */
    struct pack_limits limits; /* of a micro-batch: room for at least one full sample */
};

struct micro_batch {
    struct batch batch;
    bool begins, ends; /* first or last micro-batch of its batch */
    /* Of the whole share of the batch, over all its micro-batches. */
    int64_t sequences, tokens;
    int64_t marks[HEAD_KINDS]; /* labels of each head */
};

/* Sequences of the first batch, and of those the place where a share begins that begins at `border` of B. */
uint32_t loader_batch_size(const struct loader_options *options);
uint32_t loader_place(const struct loader_options *options, uint32_t border);

struct loader;
/* No share that has a place may be without one in a smaller batch. */
struct loader *loader_open(const struct loader_options *options);
/* The next micro-batch, valid until the next call: 1, 0 after the last, < 0 on error (the source's). A last batch that
 * ends before the share begins has none. */
int loader_next(struct loader *loader, const struct micro_batch **micro_batch, struct error *err);
double loader_waited(const struct loader *loader); /* seconds that loader_next has waited so far */
void loader_close(struct loader *loader);          /* at any time; NULL is fine */

#endif

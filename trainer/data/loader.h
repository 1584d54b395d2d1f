/* Micro-batches in the order of training, prepared ahead of time by one worker on a belt.
 *
 *     loader_open → { loader_next → use the micro-batch } … → loader_close
 *
 * The run's samples are a source's endless sequence (source.h). Batch s is samples [s·B, (s+1)·B) from `first` on; it
 * may straddle the end of an epoch. So a loader's whole position is one number, `first`; when batches grow, their plan
 * gives it for each step. A process may take a share of every batch, the places [share_from, share_to), scaled in
 * proportion for a batch smaller than B; sequences are still numbered by their place in the whole batch. The share is
 * loaded before its first micro-batch is handed out, because gradients need the batch's counts (Law 4). */
#pragma once

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
    uint64_t count;              /* samples to load in total; the last batch may be shorter */
    uint32_t batch;              /* B, sequences per batch, >= 1 */
    struct batch_plan plan;      /* of batches that grow up to B; plan.last 0: every batch is B */
    uint64_t step;               /* of the first batch, for the plan */
    uint32_t share_from;         /* the part of each batch that is loaded: places [share_from, share_to) of B */
    uint32_t share_to;           /* above share_from, at most B; 0: B */
    struct pack_limits limits;   /* of a micro-batch: room for at least one full sample */
};

struct micro_batch {
    struct batch batch;
    bool begins, ends; /* first or last micro-batch of its batch */
    /* Totals of the share of the batch, over all its micro-batches. */
    int64_t sequences, tokens;
    int64_t marks[HEAD_KINDS]; /* labels of each head */
};

/* The size of the batch of step options->step, and the place in it that corresponds to place `border` of B. */
uint32_t loader_batch_size(const struct loader_options *options);
uint32_t loader_place(const struct loader_options *options, uint32_t border);

struct loader;
/* A share must have at least one place in every batch of the plan, the smallest too. */
struct loader *loader_open(const struct loader_options *options);
/* Gets the next micro-batch, valid until the next call. Returns 1, 0 after the last one, < 0 on an error of the source.
 * A last batch that ends before the share begins has no micro-batches. */
int loader_next(struct loader *loader, const struct micro_batch **micro_batch, struct error *err);
double loader_waited(const struct loader *loader); /* seconds that loader_next has spent waiting so far */
void loader_close(struct loader *loader);          /* at any time; NULL is fine */

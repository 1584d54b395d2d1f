/* Micro-batches in the order of training, made ahead of time by one worker on a belt.
 *
 *     loader_open → { loader_next → use the micro-batch } … → loader_close
 *
 * The run's samples are one endless sequence: sample k is place k mod n of epoch k / n (shards/order). Batch s is
 * samples [s·B, (s+1)·B); it may straddle the end of an epoch. So a loader's whole position is one number,
 * `first`. A whole batch is loaded before its first micro-batch is handed out, because gradients need the batch's
 * counts (Law 4). */
#ifndef TRAINER_DATA_LOADER_H
#define TRAINER_DATA_LOADER_H

#include "base/error.h"
#include "shards/dataset.h"
#include "shards/order.h"
#include "trainer/data/batch.h"
#include "trainer/data/pack.h"

#include <stdbool.h>
#include <stdint.h>

enum mask_policy {
    MASKS_AUTO,   /* stored in the first epoch, fresh afterwards */
    MASKS_STORED, /* as the records hold them */
    MASKS_FRESH,  /* laid anew, named by (seed, epoch, sample) */
    MASK_POLICIES,
};
extern const char *const mask_policies[]; /* [MASK_POLICIES], their names */

struct loader_options {
    const struct dataset *dataset; /* at least one sample; must outlive the loader */
    bool shuffled;
    enum mask_policy masks;
    uint64_t seed;             /* names order and fresh masks */
    uint64_t first;            /* number of the first sample in the endless sequence */
    uint64_t count;            /* samples in all; the last batch may be shorter */
    uint32_t batch;            /* B, sequences per batch, >= 1 */
    struct pack_limits limits; /* of a micro-batch: room for at least one full sample */
};

struct micro_batch {
    struct batch batch;
    bool begins, ends; /* first or last micro-batch of its batch */
    /* Of the whole batch, over all its micro-batches. */
    int64_t masked, sequences, tokens;
};

struct loader;
struct loader *loader_open(const struct loader_options *options);
/* The next micro-batch, valid until the next call: 1, 0 behind the last, < 0 on error (a damaged shard: ERR_VERIFY). */
int loader_next(struct loader *loader, const struct micro_batch **micro_batch, struct error *err);
double loader_waited(const struct loader *loader); /* seconds that loader_next has waited so far */
void loader_close(struct loader *loader);          /* at any time; NULL is fine */

/* Sample k of the endless sequence: its index in the dataset, as dsdata show --sample takes it; */
uint64_t loader_index(const struct loader_options *options, uint64_t k);
/* and the sample itself with its masks laid, into arrays made for the dataset's layout. */
int loader_sample(const struct loader_options *options, uint64_t k, struct sample *sample, struct error *err);

#endif

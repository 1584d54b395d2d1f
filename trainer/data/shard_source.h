/* The samples of a mapped dataset as a source: sample k is place k mod n of epoch k / n (shards/order), with stored or
 * fresh masks. Labels: the pieces of masked tokens, and, if the dataset's samples are pairs, whether B is random. */
#pragma once

#include "shards/dataset.h"
#include "shards/masking.h"
#include "trainer/data/source.h"

#include <stdbool.h>
#include <stdint.h>

enum mask_policy {
    MASKS_AUTO,   /* stored in the first epoch, fresh afterwards */
    MASKS_STORED, /* as the records hold them */
    MASKS_FRESH,  /* drawn again, from (seed, epoch, sample) */
    MASK_POLICIES,
};
extern const char *const mask_policies[]; /* [MASK_POLICIES], their names */

#define MASK_PHASES_MAX 8

struct mask_phase {
    uint32_t millionths; /* of pieces that fresh masks cover */
    uint64_t from;       /* the sample from which on they do */
};

struct shard_reading {
    const struct dataset *dataset; /* outlives the source */
    bool shuffled;
    enum mask_policy masks;
    uint64_t seed; /* of the order and of fresh masks */
    /* The share of pieces that fresh masks cover, in millionths. It goes linearly from mask_prob[0] at sample `first`
     * to mask_prob[1] `count` samples later and depends only on the sample's number. 0: the dataset's share. */
    uint32_t mask_prob[2];
    uint64_t first, count;
    struct mask_phase phases[MASK_PHASES_MAX]; /* in place of mask_prob, where there are any; `from` ascends */
    size_t phase_count;
    struct mask_split split; /* of fresh masks */
};

/* `reading` outlives the source. A damaged shard: ERR_VERIFY. source.number gives what dsdata show --sample takes. */
struct source shard_source(const struct shard_reading *reading);

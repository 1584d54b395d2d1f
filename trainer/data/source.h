/* A source of samples: an endless sequence in which sample k is in epoch k / samples. Which sample it is, and
 * everything that is drawn for it, depends only on k, so a reader's whole position is one number. */
#pragma once

#include "base/error.h"
#include "trainer/data/sequence.h"

#include <stdint.h>

struct source {
    uint64_t samples; /* of an epoch; 0: the source is empty, and nothing may be fetched */
    uint64_t tokens;  /* of an epoch */
    struct sequence_room room;
    const void *context; /* outlives the source */

    /* Reads sample k into a sequence made for `room`. Thread-safe if each thread has its own sequence. */
    int (*fetch)(const void *context, uint64_t k, struct sequence *sequence, struct error *err);
    /* Announces that samples from k on will be fetched in order, so that data can be read ahead. May be NULL. */
    void (*prefetch)(const void *context, uint64_t k);
    /* The number by which a user finds sample k in the files. */
    uint64_t (*number)(const void *context, uint64_t k);
    /* The dataset of sample k, from 0. NULL: there is only one. */
    uint32_t (*part)(const void *context, uint64_t k);
    /* If the samples of each dataset are contiguous, so that an evaluation can report them separately: the number of
     * datasets, and dataset p has samples [borders[p], borders[p + 1]). Else 0. */
    uint32_t parts;
    const uint64_t *borders; /* [parts + 1] outlives the source */
};

/* Where samples come from, as one endless sequence: sample k is in epoch k / samples. Which sample it is, and all that
 * is drawn for it, depends on k alone, so that a reader's whole position is one number. */
#ifndef TRAINER_DATA_SOURCE_H
#define TRAINER_DATA_SOURCE_H

#include "base/error.h"
#include "trainer/data/sequence.h"

#include <stdint.h>

struct source {
    uint64_t samples; /* of an epoch; 0: there are none, and nothing may be fetched */
    uint64_t tokens;  /* of all of them */
    struct sequence_room room;
    const void *context; /* outlives the source */

    /* Sample k into a sequence made for `room`. Any thread, each with its own sequence. Errors are the source's. */
    int (*fetch)(const void *context, uint64_t k, struct sequence *sequence, struct error *err);
    /* Samples from k on will be fetched in their order: something may be read ahead. NULL: there is nothing to. */
    void (*prefetch)(const void *context, uint64_t k);
    /* The number by which a user finds sample k in the files. */
    uint64_t (*number)(const void *context, uint64_t k);
    /* Of which of several datasets it is, from 0. NULL: there is one. */
    uint32_t (*part)(const void *context, uint64_t k);
    /* Where the samples of one dataset stand together, and an evaluation tells them apart: dataset p has [borders[p],
     * borders[p + 1]). 0: they do not. */
    uint32_t parts;
    const uint64_t *borders; /* [parts + 1] outlives the source */
};

#endif

/* The ordered end of the belt: writes results to the spills of an extent, and records the progress in its journal.
 * Also the beginning: it continues where the journal says. One extent at a time, one thread at a time. */
#pragma once

#include "pipeline/build/digest.h"
#include "pipeline/build/extents.h"
#include "pipeline/input/feed.h"

struct collector {
    const char *directory; /* the dataset's */
    const struct inputs *inputs;
    const struct spill_set *sets; /* of the spills */
    size_t set_count;
    double earlier_seconds; /* of earlier starts */
    double started;         /* clock: of this start */

    struct extent extent;
    struct spill spill;
    bool settled;        /* the spills hold nothing beyond the extent's place */
    double saved;        /* clock: the last journal */
    double save_seconds; /* how long that took */
};

/* Opens the extent that begins at `first`: truncates the spills to its journal. */
int collector_open(struct collector *collector, uint64_t first, struct error *err);
/* Takes what a job gave; writes the journal if it is due. */
int collector_add(struct collector *collector, const struct feed_job *job, const struct digested *digested,
                  struct error *err);
/* The same for jobs of another kind: collector_count, then what goes to collector->spill, then collector_advance. */
void collector_count(struct collector *collector, const struct feed_job *job, const struct counts *counts,
                     const struct missing *missing);
int collector_advance(struct collector *collector, const struct feed_job *job, struct error *err);
/* Makes everything so far durable. */
int collector_save(struct collector *collector, struct error *err);
void collector_close(struct collector *collector); /* closes the extent; fine if none is open */

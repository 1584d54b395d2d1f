/* Reads all inputs into the spills of all extents: runs the belt of a build for every extent that this process is
 * assigned, until the extents that the processes have read separately fit together. */
#pragma once

#include "base/ranks.h"
#include "pipeline/build/digest.h"
#include "pipeline/build/extents.h"
#include "pipeline/build/resource_plan.h"
#include "pipeline/build/summary.h"
#include "pipeline/input/feed.h"

/* The ordered end of the belt: writes results to the spills of an extent, and records the progress in its journal.
 * Also the beginning: it continues where the journal says. One extent at a time, one thread at a time. */
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
/* Takes what a job gave: collector_count, then what goes to collector->spill, then collector_advance, which writes the
 * journal if it is due. */
void collector_count(struct collector *collector, const struct feed_job *job, const struct counts *counts,
                     const struct missing *missing);
int collector_advance(struct collector *collector, const struct feed_job *job, struct error *err);
/* Makes everything so far durable. */
int collector_save(struct collector *collector, struct error *err);
void collector_close(struct collector *collector); /* closes the extent; fine if none is open */

struct reading_options {
    const char *directory;
    const struct inputs *inputs;
    const struct dataset_recipe *recipe;
    const struct resource_plan *plan;
    const struct vocab *vocab;
    const struct tokenizer *tokenizer;
    const struct repeats *repeats; /* as in struct digest_options */
    bool only_notes;
    const struct spill_set *sets;
    size_t set_count;
    const struct feed_work *work; /* what is done with each group where it is not digested: all but its end; or NULL */
    int (*collect)(struct collector *collector, void *job, struct error *err); /* its end: see collector_count */
    struct ranks *ranks;
};

/* The extents of such a reading; extents_read fills them. */
struct extents reading_extents(const struct reading_options *options);

/* 0: every window is in the spills. ERR_STOPPED: stopped on request. Sets facts->loads and the figures of earlier
 * starts. */
int reading_run(const struct reading_options *options, struct build_facts *facts, struct error *err);

/* The ordered end of the belt: harvests go into the spills of an extent, and its journal keeps how far that is. Also
 * the beginning: where the journal says that it was. One extent at a time, one thread at a time. */
#ifndef PIPELINE_COLLECTOR_H
#define PIPELINE_COLLECTOR_H

#include "pipeline/digest.h"
#include "pipeline/extent.h"
#include "pipeline/feed.h"
#include "pipeline/store/spill.h"

struct collector {
    const char *directory; /* the dataset's */
    const struct inputs *inputs;
    const struct spill_set *sets; /* of the spills */
    size_t set_count;
    double earlier_seconds; /* of the starts before this one */
    double started;         /* clock: of this one */

    struct extent extent;
    struct spill spill;
    bool every_window;   /* of tests, which set DS_JOURNAL_EVERY=window: a journal after each */
    bool settled;        /* the spills hold nothing after the extent's place */
    double saved;        /* clock: the last journal */
    double save_seconds; /* what it took */
};

/* Opens the extent that begins at `first`: spills are cut back to its journal. */
int collector_open(struct collector *collector, uint64_t first, struct error *err);
/* Takes a job's harvest; writes the journal when it is due. */
int collector_add(struct collector *collector, const struct feed_job *job, const struct harvest *harvest,
                  struct error *err);
/* Makes everything so far durable. */
int collector_save(struct collector *collector, struct error *err);
void collector_close(struct collector *collector); /* the extent; fine where none is open */

#endif

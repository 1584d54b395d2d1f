/* The ordered end of the belt: harvests go into the spills, and the journal keeps how far that is. Also the beginning of
 * a resumed build: where the journal says that it was. One thread at a time. */
#ifndef PIPELINE_COLLECTOR_H
#define PIPELINE_COLLECTOR_H

#include "pipeline/digest.h"
#include "pipeline/feed.h"
#include "pipeline/plan.h"
#include "pipeline/store/journal.h"
#include "pipeline/store/spill.h"

struct collector {
    const char *directory; /* the dataset's */
    const struct inputs *inputs;
    const struct recipe *recipe;
    struct journal journal; /* identity, counts and stage among it; released by collector_close */
    struct spill spill;

    /* The place: everything before it is in the spills. */
    uint32_t file;
    uint64_t pages;
    struct dump_state state;
    bool settled;     /* the spills hold nothing behind it */
    uint64_t *hashes; /* [inputs->count] of what was read of each input */

    double started, saved;  /* clock: this start; the last journal */
    double save_seconds;    /* what the last journal took */
    double earlier_seconds; /* of the starts before this one */
};

/* Empty spills and a first journal of stage JOURNAL_READING. journal.identity is set. */
int collector_start(struct collector *collector, const struct plan *plan, uint32_t vocab_size, struct error *err);
/* Goes on from collector->journal: spills are cut back to it, `feed` is put to its place. */
int collector_resume(struct collector *collector, uint32_t vocab_size, struct feed *feed, struct error *err);
/* Takes a job's harvest; writes the journal when it is due. */
int collector_add(struct collector *collector, const struct feed_job *job, const struct harvest *harvest,
                  struct error *err);
/* Are all inputs, or all pages that --limit asks for, in the spills? */
bool collector_whole(const struct collector *collector);
/* Makes everything so far durable. */
int collector_save(struct collector *collector, enum journal_stage stage, struct error *err);
void collector_close(struct collector *collector);

#endif

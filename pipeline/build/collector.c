#include "pipeline/build/collector.h"

#include "base/faults.h"
#include "base/progress.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The journal is written at least this often, but takes at most 1 % of the time. */
#define JOURNAL_SECONDS 30.0

int collector_open(struct collector *collector, uint64_t first, struct error *err)
{
    assert(!collector->spill.directory && !collector->extent.hashes); /* the extent before was closed */
    assert(collector->set_count <= SETS_MAX);
    TRY(extent_read(&collector->extent, first, collector->inputs,
                    spill_bucket_count(collector->sets, collector->set_count), collector->directory, err));
    collector->saved = clock_now();
    collector->save_seconds = 0;
    collector->settled = true;
    return spill_open(&collector->spill, collector->directory, first, collector->sets, collector->set_count,
                      collector->extent.spill_bytes, err);
}

int collector_save(struct collector *collector, struct error *err)
{
    const double begun = clock_now();
    assert(collector->spill.extent == collector->extent.first);
    assert(collector->settled); /* a journal stands between two windows, whose groups are whole */
    TRY(spill_sync(&collector->spill, collector->extent.spill_bytes, err));
    collector->extent.seconds = collector->earlier_seconds + (begun - collector->started);
    TRY(extent_write(&collector->extent, collector->inputs, collector->directory, err));
    collector->saved = clock_now();
    collector->save_seconds = collector->saved - begun;
    return 0;
}

static bool save_is_due(const struct collector *collector)
{
    if (fault_journal_every_window())
        return true;
    const double wait = 100 * collector->save_seconds;
    return clock_now() - collector->saved > (wait < JOURNAL_SECONDS ? wait : JOURNAL_SECONDS);
}

void collector_count(struct collector *collector, const struct feed_job *job, const struct counts *counts,
                     const struct missing *missing)
{
    assert(job->file < collector->inputs->count);
    assert(place_compare(extent_place(&collector->extent), (struct place){job->file, job->window}) <= 0); /* in order */
    collector->settled = false;
    counts_add(&collector->extent.counts, counts);
    missing_merge(&collector->extent.missing, missing);
}

int collector_advance(struct collector *collector, const struct feed_job *job, struct error *err)
{
    struct extent *extent = &collector->extent;
    const struct place before = extent_place(extent);
    if (!job->used_up)
        return 0;
    assert(job->pages >= extent->pages);
    if (job->file == inputs_place(collector->inputs, extent->first).file)
        extent->head = job->state.head;
    extent->hashes[job->file] = job->hash;
    extent->pages = job->pages;
    extent->file = job->piece.end ? job->file + 1 : job->file;
    extent->state = job->piece.end ? (struct dump_state){0} : job->state;
    assert(place_compare(before, extent_place(extent)) <= 0); /* what was journalled is never read again */
    collector->settled = true;
    return save_is_due(collector) ? collector_save(collector, err) : 0;
}

int collector_add(struct collector *collector, const struct feed_job *job, const struct digested *digested,
                  struct error *err)
{
    collector_count(collector, job, &digested->counts, &digested->missing);
    for (size_t set = 0; set < collector->set_count; set++)
        TRY(spill_add(&collector->spill, set, digested->samples[set].data, digested->samples[set].size, err));
    return collector_advance(collector, job, err);
}

void collector_close(struct collector *collector)
{
    spill_close(&collector->spill);
    extent_release(&collector->extent);
}

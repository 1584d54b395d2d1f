#include "pipeline/feed.h"

#include "base/belt.h"
#include "base/progress.h"

int feed_read(void *context, void *slot, uint64_t number, struct error *err)
{
    struct feed *feed = context;
    struct feed_job *job = slot;
    (void)number;
    if (stop_requested() || feed->file == feed->inputs->count)
        return BELT_END;
    job->file = feed->file;
    job->window = feed->window;
    int filled = dump_read(feed->inputs->dumps[job->file], job->window, &job->piece, err);
    if (filled < 0)
        return -1;
    feed->window++;
    if (filled == 0) { /* the END piece */
        feed->file++;
        feed->window = 0;
    }
    return BELT_NEXT;
}

int feed_decode(void *context, void *slot, uint64_t number, struct error *err)
{
    const struct feed *feed = context;
    struct feed_job *job = slot;
    (void)number;
    return dump_decode(feed->inputs->dumps[job->file], &job->piece, err);
}

int feed_cut(void *context, void *slot, uint64_t number, struct error *err)
{
    struct feed *feed = context;
    struct feed_job *job = slot;
    (void)number;
    struct dump *dump = feed->inputs->dumps[job->file];
    int more = dump_cut(dump, &job->piece, &job->group, err);
    if (more < 0)
        return -1;
    const bool last = feed->limit > 0 && feed->pages + job->group.record_count >= feed->limit;
    if (last)
        job->group.record_count = (size_t)(feed->limit - feed->pages);
    feed->pages += job->group.record_count;
    job->pages = feed->pages;
    job->used_up = more == 0 || last;
    job->hash = dump_hash(dump);
    if (more == 0)
        dump_state(dump, &job->state);
    return last ? BELT_END : more ? BELT_MORE : BELT_NEXT;
}

void feed_job_release(struct feed_job *job)
{
    piece_release(&job->piece);
    group_release(&job->group);
}

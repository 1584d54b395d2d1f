#include "pipeline/input/feed.h"

#include "base/progress.h"

#include <assert.h>

struct feed feed_whole(const struct inputs *inputs, uint64_t limit)
{
    return (struct feed){.inputs = inputs, .limit = limit, .end = inputs_place(inputs, UINT64_MAX)};
}

int feed_begin(struct feed *feed, struct place next, const struct dump_state *state, struct error *err)
{
    const struct inputs *inputs = feed->inputs;
    assert(!feed->chosen && feed->workers.taken == 0); /* between two belts */
    assert(next.file <= inputs->count);
    feed->next = next;
    feed->reads_on = feed->done = false;
    for (size_t i = 0; i < inputs->count; i++)
        dump_rewind(inputs->dumps[i]);
    if (next.file == inputs->count || (next.window == 0 && state->next_part == 0))
        return 0;
    return dump_restore(inputs->dumps[next.file], state, err);
}

static int read_chosen(struct feed *feed, struct feed_job *job, struct error *err)
{
    if (stop_requested() || feed->chosen_next == feed->chosen_count)
        return BELT_END;
    const struct place *place = &feed->chosen[feed->chosen_next++];
    assert(place->file < feed->inputs->count);
    job->file = place->file;
    job->window = place->window;
    return dump_read(feed->inputs->dumps[job->file], job->window, &job->piece, err) < 0 ? -1 : BELT_NEXT;
}

int feed_read(void *context, void *slot, uint64_t number, struct error *err)
{
    struct feed *feed = context;
    struct feed_job *job = slot;
    (void)number;
    if (feed->chosen)
        return read_chosen(feed, job, err);
    const bool reads_on = feed->reads_on && feed->end.window > 0 && feed->next.file == feed->end.file;
    if (stop_requested() || feed->done || feed->next.file == feed->inputs->count ||
        (place_compare(feed->next, feed->end) >= 0 && !reads_on))
        return BELT_END;
    assert(feed->next.file < feed->inputs->count);
    job->file = feed->next.file;
    job->window = feed->next.window;
    int filled = dump_read(feed->inputs->dumps[job->file], job->window, &job->piece, err);
    if (filled < 0)
        return -1;
    feed->next.window++;
    if (filled == 0) /* the END piece */
        feed->next = (struct place){.file = feed->next.file + 1};
    return BELT_NEXT;
}

int feed_decode(void *context, void *slot, uint64_t number, struct error *err)
{
    const struct feed *feed = context;
    struct feed_job *job = slot;
    const struct dump *dump = feed->inputs->dumps[job->file];
    (void)number;
    assert(job->piece.window == job->window); /* the slot holds what the source read for this job */
    TRY(dump_decode(dump, &job->piece, err));
    if (feed->chosen)
        TRY(dump_peek(dump, &job->piece, &job->group, err));
    return BELT_NEXT;
}

/* Checks whether the end inside this input is reached. True if the extent is complete with this job. */
static bool reaches_end(struct feed *feed, struct feed_job *job, const struct dump *dump, bool used_up)
{
    if (job->file != feed->end.file || job->piece.end)
        return false;
    if (job->group.window >= feed->end.window)
        group_reset(&job->group);
    if (used_up && job->window + 1 == feed->end.window)
        dump_entry(dump, &feed->at_end);
    feed->done = dump_settled(dump, feed->end.window);
    if (!feed->done)
        return false;
    assert(feed->at_end.next_window == feed->end.window); /* the state was taken when the window before was used up */
    feed->at_end.closed |= dump_closed(dump, feed->end.window);
    job->state = feed->at_end;
    job->hash = feed->at_end.hash;
    return true;
}

/* True: the limit is reached with this job. */
static bool keep_to_limit(struct feed *feed, struct feed_job *job)
{
    assert(feed->limit == 0 || feed->pages < feed->limit); /* no job comes after the one that reached it */
    const bool last = feed->limit > 0 && feed->pages + job->group.record_count >= feed->limit;
    if (last)
        job->group.record_count = (size_t)(feed->limit - feed->pages);
    feed->pages += job->group.record_count;
    assert(feed->limit == 0 || feed->pages <= feed->limit);
    job->pages = feed->pages;
    return last;
}

int feed_cut(void *context, void *slot, uint64_t number, struct error *err)
{
    struct feed *feed = context;
    struct feed_job *job = slot;
    (void)number;
    if (feed->chosen)
        return keep_to_limit(feed, job) ? BELT_END : BELT_NEXT;
    assert(!feed->done && job->piece.window == job->window);
    struct dump *dump = feed->inputs->dumps[job->file];
    int more = dump_cut(dump, &job->piece, &job->group, err);
    if (more < 0)
        return -1;
    /* A group is complete in its own window or a later one, never before. */
    assert(job->group.record_count == 0 || (job->group.file == job->file && job->group.window <= job->window));
    job->hash = dump_hash(dump);
    if (more == 0)
        dump_state(dump, &job->state);
    const bool ended = reaches_end(feed, job, dump, more == 0);
    const bool last = keep_to_limit(feed, job) || ended;
    /* Only the rest of a half-read tag is missing. Until it is known, this place must not be mistaken for the end. */
    const bool nearly =
        more == 0 && job->file == feed->end.file && !job->piece.end && job->state.next_window >= feed->end.window;
    job->used_up = last || (more == 0 && !nearly);
    return last ? BELT_END : more ? BELT_MORE : BELT_NEXT;
}

/* ---- the belt ---- */

static int work_step(void *context, void *slot, uint64_t number, struct error *err)
{
    struct feed *feed = context;
    (void)number;
    (void)err;
    void *worker = workers_take(&feed->workers);
    feed->work->work(context, worker, slot);
    workers_give(&feed->workers, worker);
    return BELT_NEXT;
}

static int end_step(void *context, void *slot, uint64_t number, struct error *err)
{
    const struct feed *feed = context;
    (void)number;
    return feed->work->end(context, slot, err);
}

void feed_open(struct feed *feed, const struct feed_work *work)
{
    feed->work = work;
    workers_open(&feed->workers, work->worker_open, work->worker_close, work->worker_options);
}

void feed_close(struct feed *feed)
{
    workers_close(&feed->workers);
}

int feed_run(struct feed *feed, size_t depth, size_t threads, struct belt_load *loads, struct error *err)
{
    const struct feed_work *work = feed->work;
    const struct belt_step steps[] = {
        {"read", 1, feed_read},          {"decode", 0, feed_decode},    {"cut", 1, feed_cut},
        {work->work_name, 0, work_step}, {work->end_name, 1, end_step},
    };
    _Static_assert(sizeof steps / sizeof *steps == FEED_STEPS, "as many as the header says");
    assert(work->job_size >= sizeof(struct feed_job));
    assert(feed->workers.taken == 0);
    const int result = belt_run(&(struct belt_options){.steps = steps,
                                                       .step_count = FEED_STEPS,
                                                       .depth = depth,
                                                       .threads = threads,
                                                       .job_size = work->job_size,
                                                       .job_release = work->job_release,
                                                       .context = feed},
                                loads, err);
    assert(feed->workers.taken == 0); /* also after an error: a step that has begun ends */
    return result;
}

void feed_job_release(struct feed_job *job)
{
    piece_release(&job->piece);
    group_release(&job->group);
}

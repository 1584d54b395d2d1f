/*              ordered        parallel         ordered          parallel          ordered
 *   dumps ─►  │  read  │ ─►  │  decode  │ ─►  │    cut    │ ─►  │  digest  │ ─►  │ collect │ ─► spills, journal of an extent */
#include "pipeline/build/build_reading.h"

#include "base/faults.h"
#include "base/log.h"

#include <assert.h>
#include <stdlib.h>

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

static int collect_digest(struct collector *collector, void *slot, struct error *err)
{
    const struct digest_job *job = slot;
    const struct digested *digested = &job->digested;
    collector_count(collector, &job->feed, &digested->counts, &digested->missing);
    for (size_t set = 0; set < collector->set_count; set++)
        TRY(spill_add(&collector->spill, set, digested->samples[set].data, digested->samples[set].size, err));
    return collector_advance(collector, &job->feed, err);
}

void collector_close(struct collector *collector)
{
    spill_close(&collector->spill);
    extent_release(&collector->extent);
}

struct reading {
    struct feed feed; /* first: see feed.h */
    const struct reading_options *options;
    struct build_facts *facts;
    struct collector collector;
    struct progress progress;
    struct extent_task task; /* the current task */
    double task_started;     /* clock */
};

/* How many bytes this process has to read, and how many of them precede a place: of everything for a single process,
 * else of its extent. `total` is 0 for a pipe. */
struct way {
    double done, total;
};

static struct way way_at(const struct reading *reading, struct place place)
{
    const struct reading_options *options = reading->options;
    const uint64_t row = inputs_windows(options->inputs);
    if (row == 0)
        return (struct way){(double)(place.window * dump_window_bytes(options->inputs->dumps[place.file])), 0};
    const bool alone = ranks_count(options->ranks) == 1;
    assert(alone || reading->task.first < reading->task.end);
    const uint64_t from = alone ? 0 : reading->task.first, end = alone ? row : reading->task.end;
    const uint64_t to = end < row ? end : row, at = inputs_row(options->inputs, place);
    const double bytes = (double)inputs_bytes(options->inputs) / (double)row;
    return (struct way){bytes * (double)((at < from ? from : at < to ? at : to) - from), bytes * (double)(to - from)};
}

static void show_progress(struct reading *reading, const struct feed_job *job)
{
    const struct way way = way_at(reading, (struct place){job->file, job->window + 1});
    summary_progress(&reading->progress, (uint64_t)way.done, (uint64_t)way.total, &reading->collector.extent.counts,
                     reading->facts, reading->options->plan, clock_now() - reading->task_started);
}

static int collect(void *context, void *slot, struct error *err)
{
    struct reading *reading = context;
    TRY(reading->options->work ? reading->options->collect(&reading->collector, slot, err)
                               : collect_digest(&reading->collector, slot, err));
    if (progress_due(&reading->progress))
        show_progress(reading, slot); /* a job begins with a struct feed_job */
    return BELT_NEXT;
}

/* A text stream can only be decoded from its first byte, so a start in its middle decodes it again. */
static void say_again(const struct feed *feed)
{
    char bytes[32];
    const struct place place = feed->next;
    const struct inputs *inputs = feed->inputs;
    if (place.window == 0 || place.file == inputs->count || !dump_is_made(inputs->dumps[place.file]))
        return;
    log_say("%s   is decoded again from its beginning; reading continues at %s of its text", inputs->paths[place.file],
            format_bytes(place.window * dump_window_bytes(inputs->dumps[place.file]), bytes));
}

/* Reads from the extent's place to its end. */
static int read_rest(struct reading *reading, struct place end, struct error *err)
{
    const struct extent *extent = &reading->collector.extent;
    struct feed *feed = &reading->feed;
    assert(place_compare(extent_place(extent), end) < 0); /* no task is made for a complete extent */
    feed->end = end;
    feed->pages = extent->pages;
    TRY(feed_begin(feed, extent_place(extent), &extent->state, err));
    say_again(feed);
    const struct resource_plan *plan = reading->options->plan;
    TRY(feed_run(feed, plan->depth, plan->threads, reading->facts->loads, err));
    feed->reads_on = true;
    if (!feed->done && feed->end.window > 0)
        TRY(feed_run(feed, 1, plan->threads, NULL, err));
    return 0;
}

/* Reads the current extent. Whatever ends it, the results so far are saved, as long as they end with complete groups of
 * a window. The first error is the one reported. */
static int read_extent(struct reading *reading, struct error *err)
{
    struct collector *collector = &reading->collector;
    const struct inputs *inputs = reading->options->inputs;
    const struct place end = inputs_place(inputs, reading->task.end);
    TRY(collector_open(collector, reading->task.first, err));
    reading->task_started = clock_now();
    const struct way way = way_at(reading, extent_place(&collector->extent));
    progress_begin(&reading->progress, way.total > 0 ? way.done / way.total : 0);
    reading->facts->read_share = 1 - reading->progress.first_share;
    reading->facts->bytes_before = collector->extent.counts.input_bytes;
    reading->facts->pages_before = counts_pages(&collector->extent.counts);
    int result = read_rest(reading, end, err);
    struct error ignored;
    if (collector->settled)
        result = collector_save(collector, result == 0 ? err : &ignored) < 0 ? -1 : result;
    if (result == 0 && !extent_whole(&collector->extent, end, reading->options->recipe->limit))
        return fail(err, ERR_STOPPED, "stopped on request");
    if (result == 0 || err->kind != ERR_INPUT || collector->extent.head.place == HEAD_TRUE)
        return result;
    /* The extent began with a guess, so the damage may not be real: the process that reads the extent before will find
     * out. */
    log_detail("the extent at window %llu was begun wrongly, or is damaged: read again from the one before",
               (unsigned long long)reading->task.first);
    *err = (struct error){0};
    return spill_remove(reading->options->directory, reading->task.first, err);
}

static int read_tasks(struct reading *reading, const struct buf *tasks, struct error *err)
{
    assert(tasks->size % sizeof reading->task == 0);
    for (size_t at = 0; at < tasks->size; at += sizeof reading->task) {
        memcpy(&reading->task, tasks->data + at, sizeof reading->task);
        if (reading->task.rank != ranks_rank(reading->options->ranks))
            continue;
        const int result = read_extent(reading, err);
        assert(result < 0 || reading->collector.settled);
        collector_close(&reading->collector);
        TRY(result);
    }
    return 0;
}

struct extents reading_extents(const struct reading_options *options)
{
    return (struct extents){.directory = options->directory,
                            .inputs = options->inputs,
                            .limit = options->recipe->limit,
                            .spill_count = spill_bucket_count(options->sets, options->set_count)};
}

/* Finds out what is done, and assigns the rest to processes. First process only. */
static int share_out(struct reading *reading, bool first_time, struct buf *tasks, struct error *err)
{
    const struct reading_options *options = reading->options;
    const uint32_t ranks = ranks_count(options->ranks);
    SCOPED(extents_release) struct extents extents = reading_extents(options);
    TRY(extents_read(&extents, err));
    const size_t before = extents.count;
    TRY(extents_join(&extents, err));
    if (before > 1)
        log_detail("%zu extents, %zu of them do not fit and are read again", before, before - extents.count);
    if (first_time) {
        SCOPED(extent_release) struct extent sum;
        extents_sum(&extents, &sum);
        reading->facts->earlier_seconds = reading->collector.earlier_seconds = sum.seconds;
        if (sum.counts.input_bytes > 0)
            log_say("continuing %s: reading", options->directory);
        TRY(extents_cut(&extents, ranks, err));
    }
    buf_reserve(tasks, extents.count * sizeof(struct extent_task));
    tasks->size = extents_share(&extents, ranks, (struct extent_task *)tasks->data) * sizeof(struct extent_task);
    assert(tasks->size <= tasks->capacity);
    return 0;
}

/* One round: 1 if there was something to do, 0 if all is done. */
static int read_round(struct reading *reading, bool first_time, struct error *err)
{
    struct ranks *ranks = reading->options->ranks;
    SCOPED(buf_release) struct buf tasks = {0};
    int result = ranks_rank(ranks) == 0 ? share_out(reading, first_time, &tasks, err) : 0;
    result = ranks_barrier(ranks, result, err);
    if (result == 0)
        result = ranks_broadcast(ranks, &tasks, err);
    const int some = tasks.size > 0;
    if (result == 0 && some)
        result = ranks_barrier(ranks, read_tasks(reading, &tasks, err), err);
    return result < 0 ? -1 : some;
}

int reading_run(const struct reading_options *options, struct build_facts *facts, struct error *err)
{
    const struct digest_options digest = {.recipe = options->recipe,
                                          .inputs = options->inputs,
                                          .tokenizer = options->tokenizer,
                                          .vocab = options->vocab,
                                          .repeats = options->repeats,
                                          .only_notes = options->only_notes};
    struct feed_work work = options->work ? *options->work : digest_work(&digest);
    work.end_name = "collect";
    work.end = collect;
    facts->again = facts->notes && !options->only_notes;
    facts->notes = options->only_notes;
    _Static_assert(FEED_STEPS == BUILD_STEPS, "the summary has a row for each");
    struct reading reading = {.options = options,
                              .facts = facts,
                              .feed = feed_whole(options->inputs, options->recipe->limit),
                              .collector = {.directory = options->directory,
                                            .inputs = options->inputs,
                                            .sets = options->sets,
                                            .set_count = options->set_count,
                                            .started = clock_now()}};
    feed_open(&reading.feed, &work);
    progress_open(&reading.progress);
    int more = read_round(&reading, true, err);
    while (more > 0)
        more = read_round(&reading, false, err);
    progress_close(&reading.progress);
    feed_close(&reading.feed);
    return more;
}

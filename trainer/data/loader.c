/* One background thread keeps LOADER_DEPTH micro-batches ready. What it computes depends only on the numbers of the
 * samples, never on timing. */
#include "trainer/data/loader.h"

#include <assert.h>
#include <string.h>

#include "base/belt.h"
#include "base/mem.h"
#include "base/progress.h"

#define LOADER_DEPTH 4

struct loader {
    struct loader_options options;
    struct belt *belt;
    bool lent; /* the caller holds a micro-batch */
    double waited;

    /* Used only by the worker. The current batch is the one being cut into micro-batches. */
    uint32_t share;             /* share_to - share_from */
    uint32_t from;              /* place in the current batch at which the share begins */
    struct sequence *sequences; /* [share] of the current batch */
    uint32_t loaded, cut;       /* how many of them are in memory, and already in micro-batches */
    uint64_t next;              /* number of the first sample after the batch */
    int64_t tokens, marks[HEAD_KINDS];
};

/* ---- the worker ---- */

static int load(struct loader *loader, uint64_t k, struct error *err)
{
    const struct source *source = loader->options.source;
    assert(loader->loaded < loader->share);
    struct sequence *sequence = &loader->sequences[loader->loaded++];
    TRY(source->fetch(source->context, k, sequence, err));
    assert(sequence->length > 0 && sequence->length <= source->room.length && sequence->a_length <= sequence->length);
    loader->tokens += sequence->length;
    for (int h = 0; h < HEAD_KINDS; h++) {
        assert(sequence->marks[h].count <= source->room.marks[h]);
        loader->marks[h] += sequence->marks[h].count;
    }
    return 0;
}

uint32_t loader_batch_size(const struct loader_options *options)
{
    return options->plan.last > 0 ? batch_plan_size(&options->plan, options->step) : options->batch;
}

uint32_t loader_place(const struct loader_options *options, uint32_t border)
{
    return (uint32_t)((uint64_t)border * loader_batch_size(options) / options->batch);
}

/* Loads the share of the next batch into memory and counts its tokens and labels. */
static int load_batch(struct loader *loader, struct error *err)
{
    struct loader_options *options = &loader->options;
    const struct source *source = options->source;
    const uint64_t end = options->first + options->count;
    const uint32_t size = loader_batch_size(options), to = loader_place(options, options->share_to);
    loader->from = loader_place(options, options->share_from);
    assert(loader->from <= to && to <= size && size <= options->batch);
    loader->loaded = loader->cut = 0;
    loader->tokens = 0;
    memset(loader->marks, 0, sizeof loader->marks);
    options->step++;
    for (uint32_t place = 0; place < size && loader->next < end; place++, loader->next++) {
        if (source->prefetch)
            source->prefetch(source->context, loader->next);
        if (place >= loader->from && place < to)
            TRY(load(loader, loader->next, err));
    }
    assert(loader->next <= end && loader->loaded <= to - loader->from);
    return 0;
}

/* The belt's source: one micro-batch per job. */
static int make(void *context, void *job, uint64_t number, struct error *err)
{
    struct loader *loader = context;
    struct micro_batch *micro = job;
    (void)number;
    if (loader->cut == loader->loaded)
        TRY(load_batch(loader, err));
    if (loader->loaded == 0)
        return BELT_END;

    if (!micro->batch.ids)
        pack_init(&micro->batch, &loader->options.limits);
    pack_clear(&micro->batch);
    micro->begins = loader->cut == 0;
    while (loader->cut < loader->loaded && pack_add(&micro->batch, &loader->options.limits,
                                                    &loader->sequences[loader->cut], loader->from + loader->cut))
        loader->cut++;
    assert(micro->batch.sequences > 0); /* limits have room for one sample */
    pack_finish(&micro->batch, &loader->options.limits);
    assert(loader->cut <= loader->loaded && micro->batch.tokens <= loader->tokens);
    micro->ends = loader->cut == loader->loaded;
    micro->sequences = loader->loaded;
    micro->tokens = loader->tokens;
    memcpy(micro->marks, loader->marks, sizeof micro->marks);
    return BELT_NEXT;
}

static void job_release(void *job)
{
    pack_release(&((struct micro_batch *)job)->batch);
}

/* ---- the consumer ---- */

struct loader *loader_open(const struct loader_options *options)
{
    static const struct belt_step steps[] = {{.name = "load", .ordered = 1, .run = make}};
    const struct sequence_room *room = &options->source->room;
    assert(options->source->samples > 0 && options->batch > 0);
    assert((uint32_t)options->limits.tokens >= room->length && options->limits.sequences > 0);
    for (int h = 0; h < HEAD_KINDS; h++)
        assert((uint32_t)options->limits.marks[h] >= room->marks[h]);

    struct loader *loader = mem_clear(1, sizeof *loader);
    loader->options = *options;
    if (options->share_to == 0)
        loader->options.share_to = options->batch;
    assert(options->share_from < loader->options.share_to && loader->options.share_to <= options->batch);
    loader->next = options->first;
    loader->share = loader->options.share_to - options->share_from;
    loader->sequences = mem_array(loader->share, sizeof *loader->sequences);
    for (uint32_t i = 0; i < loader->share; i++)
        loader->sequences[i] = sequence_make(room);
    loader->belt = belt_open(&(struct belt_options){
        .steps = steps,
        .step_count = 1,
        .depth = LOADER_DEPTH,
        .threads = 1,
        .job_size = sizeof(struct micro_batch),
        .job_release = job_release,
        .context = loader,
    });
    return loader;
}

int loader_next(struct loader *loader, const struct micro_batch **micro_batch, struct error *err)
{
    void *job = NULL;
    if (loader->lent)
        belt_done(loader->belt);
    const double from = clock_now();
    const int result = belt_next(loader->belt, &job, err);
    loader->waited += clock_now() - from;
    loader->lent = result == 1;
    *micro_batch = job;
    return result;
}

double loader_waited(const struct loader *loader)
{
    return loader->waited;
}

void loader_close(struct loader *loader)
{
    if (!loader)
        return;
    belt_close(loader->belt);
    for (uint32_t i = 0; i < loader->share; i++)
        sequence_release(&loader->sequences[i]);
    mem_free(loader->sequences);
    mem_free(loader);
}

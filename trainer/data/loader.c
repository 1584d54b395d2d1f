/* Comes in: records of a mapped dataset. Goes out: packed micro-batches. One background thread keeps LOADER_DEPTH of
 * them ready; everything it computes is named by the sample's number, so nothing depends on when it runs. */
#include "trainer/data/loader.h"

#include <assert.h>

#include "base/belt.h"
#include "base/mem.h"
#include "base/progress.h"
#include "shards/masking.h"

#define LOADER_DEPTH 4

const char *const mask_policies[] = {[MASKS_AUTO] = "auto", [MASKS_STORED] = "stored", [MASKS_FRESH] = "fresh"};
_Static_assert(sizeof mask_policies / sizeof *mask_policies == MASK_POLICIES, "a name for every policy");

struct loader {
    struct loader_options options;
    struct belt *belt;
    bool lent; /* the caller holds a micro-batch */
    double waited;

    /* The worker's own. */
    struct sample *samples; /* [options.batch] the batch that is being cut */
    uint32_t loaded, cut;   /* samples of it: in memory, handed out */
    uint64_t next;          /* number of the sample behind them */
    int64_t masked, tokens; /* of the batch */
};

/* ---- one sample ---- */

static void lay_masks(const struct loader_options *options, uint64_t epoch, uint64_t index, struct sample *sample)
{
    const struct dataset *dataset = options->dataset;
    const struct manifest *manifest = &dataset->manifest;
    const struct mask_rules rules = {
        .vocab_size = manifest->vocab_size,
        .cls = manifest->special.cls,
        .sep = manifest->special.sep,
        .mask = manifest->special.mask,
        .millionths = manifest->mask_millionths,
        .predictions = dataset->layout.predictions,
        .continues = dataset->continues,
    };
    const struct random_stream stream =
        random_stream(options->seed, RANDOM_FRESH, 0, epoch, index >> 32, dataset->layout.seq, 0);
    mask_restore(sample);
    mask_sample(&stream, (uint32_t)index, &rules, sample);
}

uint64_t loader_index(const struct loader_options *options, uint64_t k)
{
    const struct dataset *dataset = options->dataset;
    const struct order order = {
        .samples = dataset->samples,
        .shards = dataset->length->shards,
        .seed = options->seed,
        .shuffled = options->shuffled,
    };
    return order_sample(&order, k / dataset->samples, k % dataset->samples);
}

int loader_sample(const struct loader_options *options, uint64_t k, struct sample *sample, struct error *err)
{
    const struct dataset *dataset = options->dataset;
    const uint64_t epoch = k / dataset->samples, index = loader_index(options, k);
    TRY(dataset_sample(dataset, index, sample, err));
    if (options->masks == MASKS_FRESH || (options->masks == MASKS_AUTO && epoch > 0))
        lay_masks(options, epoch, index, sample);
    return 0;
}

/* ---- the worker ---- */

/* An epoch visits one shard after the other (shards/order.h), so the kernel may read a shard ahead where its turn
 * comes. The few records left over at the end of an epoch are spread over all shards: they are not worth that. */
static void prefetch(const struct loader_options *options, uint64_t k)
{
    const struct dataset *dataset = options->dataset;
    const uint64_t shards = dataset->length->shards, each = dataset->samples / shards, place = k % dataset->samples;
    if (place % each == 0 && place < shards * each)
        dataset_prefetch(dataset, loader_index(options, k));
}

/* The next batch into memory, with its counts. */
static int load_batch(struct loader *loader, struct error *err)
{
    const struct loader_options *options = &loader->options;
    const uint64_t end = options->first + options->count;
    loader->loaded = loader->cut = 0;
    loader->masked = loader->tokens = 0;
    while (loader->loaded < options->batch && loader->next < end) {
        struct sample *sample = &loader->samples[loader->loaded++];
        prefetch(options, loader->next);
        TRY(loader_sample(options, loader->next++, sample, err));
        loader->masked += sample->masked;
        loader->tokens += sample->length;
    }
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
    while (loader->cut < loader->loaded &&
           pack_add(&micro->batch, &loader->options.limits, &loader->samples[loader->cut], loader->cut))
        loader->cut++;
    assert(micro->batch.sequences > 0); /* limits have room for one sample */
    pack_finish(&micro->batch, &loader->options.limits);
    micro->ends = loader->cut == loader->loaded;
    micro->masked = loader->masked;
    micro->sequences = loader->loaded;
    micro->tokens = loader->tokens;
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
    const struct shard_layout *layout = &options->dataset->layout;
    assert(options->dataset->samples > 0 && options->batch > 0);
    assert((uint32_t)options->limits.tokens >= layout->seq && options->limits.sequences > 0);
    assert((uint32_t)options->limits.masked >= layout->predictions);

    struct loader *loader = mem_clear(1, sizeof *loader);
    loader->options = *options;
    loader->next = options->first;
    loader->samples = mem_array(options->batch, sizeof *loader->samples);
    for (uint32_t i = 0; i < options->batch; i++)
        loader->samples[i] = sample_make(layout);
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
    for (uint32_t i = 0; i < loader->options.batch; i++)
        sample_release(&loader->samples[i]);
    mem_free(loader->samples);
    mem_free(loader);
}

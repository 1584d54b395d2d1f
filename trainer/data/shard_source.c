#include "trainer/data/shard_source.h"

#include <math.h>

#include "shards/order.h"

const char *const mask_policies[] = {[MASKS_AUTO] = "auto", [MASKS_STORED] = "stored", [MASKS_FRESH] = "fresh"};
_Static_assert(sizeof mask_policies / sizeof *mask_policies == MASK_POLICIES, "a name for every policy");

/* The maximum number of masks in a sample. With --mask-prob it may exceed what the dataset's records have room for. */
static uint32_t predictions_of(const struct shard_reading *reading)
{
    const struct shard_layout *layout = &reading->dataset->layout;
    const uint32_t *prob = reading->mask_prob;
    uint32_t most = prob[0] > prob[1] ? prob[0] : prob[1];
    for (size_t i = 0; i < reading->phase_count; i++)
        most = reading->phases[i].millionths > most ? reading->phases[i].millionths : most;
    const uint32_t count = mask_count(layout->seq, most, layout->seq);
    return most > 0 && count > layout->predictions ? count : layout->predictions;
}

static uint32_t millionths_of(const struct shard_reading *reading, uint64_t k)
{
    const double from = reading->mask_prob[0], to = reading->mask_prob[1];
    for (size_t i = reading->phase_count; i-- > 0;)
        if (i == 0 || k >= reading->phases[i].from)
            return reading->phases[i].millionths;
    if (reading->mask_prob[0] == 0)
        return reading->dataset->manifest.mask_millionths;
    if (k < reading->first || k - reading->first >= reading->count)
        return reading->mask_prob[k >= reading->first];
    return (uint32_t)lround(from + (to - from) * ((double)(k - reading->first) / (double)reading->count));
}

static void lay_masks(const struct shard_reading *reading, uint64_t k, uint64_t epoch, uint64_t index,
                      struct sample *sample)
{
    const struct dataset *dataset = reading->dataset;
    const struct manifest *manifest = &dataset->manifest;
    const struct mask_rules rules = {
        .vocab_size = manifest->vocab_size,
        .cls = manifest->special.cls,
        .sep = manifest->special.sep,
        .mask = manifest->special.mask,
        .millionths = millionths_of(reading, k),
        .predictions = predictions_of(reading),
        .split = reading->split,
        .words = dataset->words,
    };
    mask_anew(reading->seed, epoch, index, dataset->layout.seq, &rules, sample);
}

static uint64_t index_of(const void *context, uint64_t k)
{
    const struct shard_reading *reading = context;
    const struct dataset *dataset = reading->dataset;
    const struct order order = {
        .samples = dataset->samples,
        .shards = dataset->length->shards,
        .seed = reading->seed,
        .shuffled = reading->shuffled,
    };
    return order_sample(&order, k / dataset->samples, k % dataset->samples);
}

/* Decodes and masks the record in place, in the sequence's own arrays. */
static int fetch(const void *context, uint64_t k, struct sequence *sequence, struct error *err)
{
    const struct shard_reading *reading = context;
    const struct dataset *dataset = reading->dataset;
    const uint64_t epoch = k / dataset->samples, index = index_of(reading, k);
    struct marks *masked = &sequence->marks[HEAD_MASKED], *next = &sequence->marks[HEAD_NEXT];
    struct sample sample = {.ids = sequence->ids, .positions = masked->tokens, .labels = masked->labels};
    TRY(dataset_sample(dataset, index, &sample, err));
    if (reading->masks == MASKS_FRESH || (reading->masks == MASKS_AUTO && epoch > 0))
        lay_masks(reading, k, epoch, index, &sample);
    sequence->length = sample.length;
    sequence->a_length = sample.a_length;
    masked->count = sample.masked;
    next->count = dataset->manifest.pairs != PAIRS_NONE;
    if (next->count > 0) {
        next->tokens[0] = 0;
        next->labels[0] = sample.is_random_next;
    }
    return 0;
}

/* An epoch visits one shard after another (shards/order.h), so the kernel is asked to read a shard ahead when its turn
 * comes. The few records left over at the end of an epoch are spread over all shards and not worth a prefetch. */
static void prefetch(const void *context, uint64_t k)
{
    const struct shard_reading *reading = context;
    const struct dataset *dataset = reading->dataset;
    const uint64_t shards = dataset->length->shards, each = dataset->samples / shards, place = k % dataset->samples;
    if (place % each == 0 && place < shards * each)
        dataset_prefetch(dataset, index_of(reading, k));
}

struct source shard_source(const struct shard_reading *reading)
{
    const struct dataset *dataset = reading->dataset;
    return (struct source){
        .samples = dataset->samples,
        .tokens = dataset->length ? dataset->length->tokens : 0,
        .room =
            {
                .length = dataset->layout.seq,
                .marks =
                    {
                        [HEAD_MASKED] = predictions_of(reading),
                        [HEAD_NEXT] = dataset->manifest.pairs != PAIRS_NONE,
                    },
            },
        .context = reading,
        .fetch = fetch,
        .prefetch = prefetch,
        .number = index_of,
    };
}

#include "trainer/pretraining.h"

#include "trainer/evaluate.h"

static const struct metric metrics[] = {
    {"mlm_loss", "mlm", METRIC_LOSS, HEAD_MASKED},
    {"nsp_loss", "nsp", METRIC_LOSS, HEAD_NEXT},
    {"mlm_accuracy", "mlm", METRIC_ACCURACY, HEAD_MASKED},
    {"nsp_accuracy", "nsp", METRIC_ACCURACY, HEAD_NEXT},
};
_Static_assert(sizeof metrics / sizeof *metrics <= METRICS_MAX, "room for every metric");
const struct metric_table pretraining_metrics = {metrics, sizeof metrics / sizeof *metrics};

int pretraining_heads(const struct manifest *manifest, struct model_config *config, struct error *err)
{
    const bool pairs = manifest->pairs != PAIRS_NONE;
    if (config->types < 2 && pairs)
        return fail(err, ERR_MISMATCH, "the model knows one segment, the dataset's samples have two");
    config->task_heads = 1u << HEAD_MASKED | (pairs ? 1u << HEAD_NEXT : 0);
    return 0;
}

/* In file order, with the masks that are stored: the same samples in every evaluation. */
static struct source split_source(struct shard_reading *reading, const struct dataset *dataset)
{
    *reading = (struct shard_reading){.dataset = dataset, .masks = MASKS_STORED};
    return shard_source(reading);
}

struct task pretraining_task(struct pretraining *pretraining, const struct dataset *train, const struct dataset *valid,
                             const struct recipe *recipe)
{
    pretraining->run = (struct shard_reading){
        .dataset = train,
        .shuffled = recipe->shuffled,
        .masks = recipe->masks,
        .seed = recipe->seed,
        .mask_prob = {recipe->mask_prob[0], recipe->mask_prob[1]},
        .first = recipe->samples_before,
        .count = recipe_samples(recipe, recipe->schedule.steps) - recipe->samples_before,
    };
    return (struct task){
        .heads = recipe->config.task_heads,
        .metrics = pretraining_metrics,
        .samples = shard_source(&pretraining->run),
        .splits =
            {
                [SPLIT_TRAIN] = split_source(&pretraining->splits[SPLIT_TRAIN], train),
                [SPLIT_VALID] = split_source(&pretraining->splits[SPLIT_VALID], valid),
            },
        .evaluate = evaluate_means,
    };
}

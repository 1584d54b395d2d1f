#include "trainer/task/pretraining.h"

static const struct metric metrics[] = {
    {"mlm_loss", "mlm", METRIC_LOSS, HEAD_MASKED, NULL},
    {"nsp_loss", "nsp", METRIC_LOSS, HEAD_NEXT, NULL},
    {"mlm_accuracy", "mlm", METRIC_ACCURACY, HEAD_MASKED, BASELINE_COMMONEST},
    {"nsp_accuracy", "nsp", METRIC_ACCURACY, HEAD_NEXT, BASELINE_MAJORITY},
};
_Static_assert(sizeof metrics / sizeof *metrics <= METRICS_MAX, "room for every metric");
const struct metric_table pretraining_metrics = {metrics, sizeof metrics / sizeof *metrics};

int pretraining_heads(const struct manifest *manifest, struct model_config *config, struct error *err)
{
    const bool pairs = manifest->pairs != PAIRS_NONE;
    if (config->types < 2 && pairs) {
        fail(err, ERR_MISMATCH, "the model knows one segment, the dataset's samples have two");
        return hint(err, "dsdata build --pairs none makes samples of one");
    }
    config->task_heads = 1u << HEAD_MASKED | (pairs ? 1u << HEAD_NEXT : 0);
    return 0;
}

/* How the run reads dataset d. `rule` says which samples of the run are from it; NULL: all. */
static struct shard_reading run_reading(const struct dataset *dataset, const struct mixture *rule, uint32_t d,
                                        const struct recipe *recipe)
{
    const uint64_t first = recipe->samples_before, end = recipe_samples(recipe, recipe->schedule.steps);
    const uint64_t own_first = rule ? mixture_count(rule, d, first) : first;
    struct shard_reading reading = {
        .dataset = dataset,
        .shuffled = recipe->shuffled,
        .masks = recipe->masks,
        .seed = recipe->seed | (uint64_t)d << 32,
        .mask_prob = {recipe->mask_prob[0], recipe->mask_prob[1]},
        .first = own_first,
        .count = (rule ? mixture_count(rule, d, end) : end) - own_first,
        .phase_count = recipe->phase_count,
        .split = recipe->split,
    };
    /* A phase begins with the first step that is not before its share of the steps of this run. */
    const uint64_t before = recipe->steps_before, steps = recipe->schedule.steps - before;
    for (size_t i = 0; i < recipe->phase_count; i++) {
        const uint64_t step = (recipe->phases[i].from * steps + MILLION - 1) / MILLION;
        const uint64_t sample = recipe_samples(recipe, before + step);
        reading.phases[i] =
            (struct mask_phase){recipe->phases[i].millionths, rule ? mixture_count(rule, d, sample) : sample};
    }
    return reading;
}

static struct source run_source(struct pretraining *p, const struct datasets *datasets, const struct recipe *recipe)
{
    const bool several = datasets->count > 1;
    if (several)
        mixture_init(&p->mixed.rule, datasets->weights, datasets->count);
    for (uint32_t d = 0; d < datasets->count; d++) {
        p->run[d] = run_reading(&datasets->train[d], several ? &p->mixed.rule : NULL, d, recipe);
        p->mixed.sources[d] = shard_source(&p->run[d]);
    }
    return several ? mixture_source(&p->mixed) : p->mixed.sources[0];
}

/* For evaluations: in file order with the stored masks, so that the samples are always the same. */
static struct source split_source(struct pretraining *p, const struct datasets *datasets, enum split split,
                                  uint64_t evaluated)
{
    struct chained_sources *chain = &p->chains[split];
    const struct dataset *of = split == SPLIT_TRAIN ? datasets->train : datasets->valid;
    *chain = (struct chained_sources){.count = datasets->count};
    for (uint32_t d = 0; d < datasets->count; d++) {
        p->splits[split][d] = (struct shard_reading){.dataset = &of[d], .masks = MASKS_STORED};
        chain->sources[d] = shard_source(&p->splits[split][d]);
    }
    return datasets->count > 1 ? chained_source(chain, evaluated) : chain->sources[0];
}

struct task pretraining_task(struct pretraining *pretraining, const struct datasets *datasets,
                             const struct recipe *recipe, uint64_t evaluated)
{
    return (struct task){
        .heads = recipe->config.task_heads,
        .metrics = pretraining_metrics,
        .samples = run_source(pretraining, datasets, recipe),
        .splits =
            {
                [SPLIT_TRAIN] = split_source(pretraining, datasets, SPLIT_TRAIN, evaluated),
                [SPLIT_VALID] = split_source(pretraining, datasets, SPLIT_VALID, evaluated),
            },
        .evaluate = evaluate_means,
    };
}

void pretraining_release(struct pretraining *pretraining)
{
    mixture_release(&pretraining->mixed.rule);
}

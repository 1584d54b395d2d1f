/* Where a training computes: the device, its backend, the micro-batch that suits both, and the memory of model and
 * updates there. */
#include "trainer/train.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "trainer/backend.h"
#include "trainer/record.h"
#include "trainer/timings.h"

int training_device(struct training *t, struct error *err)
{
    const struct settings *settings = t->settings;
    const struct model_config *config = &t->recipe.config;
    t->device = settings_given(settings, "device") ? (enum device_kind)settings->device : backend_default();
    TRY(backend_look(t->device, NULL, err));
    if (t->device == DEVICE_CPU && settings->tune)
        return fail(err, ERR_USAGE, "--tune names product algorithms of CUDA; this computes on the CPU");
    if (t->device == DEVICE_CUDA && config->hidden / config->heads != CUDA_HEAD_SIZE) {
        fail(err, ERR_USAGE, "attention on CUDA has heads of %d, this model has %" PRId32, CUDA_HEAD_SIZE,
             config->hidden / config->heads);
        return hint(err, "--device cpu takes any");
    }
    return 0;
}

struct model_budget training_budget(const struct training *t)
{
    const int64_t layers = t->recipe.config.layers, groups = (int64_t)t->recipe.checkpoints;
    return (struct model_budget){
        .token_rows_max = t->limits.tokens,
        .masked_rows_max = t->limits.masked,
        .sequences_max = t->limits.sequences,
        .length_max = (int32_t)t->recipe.seq,
        .recompute_every = groups == 0       ? 0
                           : groups < layers ? (int32_t)((layers + groups - 1) / groups)
                                             : 1,
    };
}

uint64_t training_bytes(const struct training *t, enum training_memory kind)
{
    struct model_plan *plan = mem_clear(1, sizeof *plan);
    const struct model_budget budget = training_budget(t);
    model_plan(&t->recipe.config, t->ops, &budget, plan);
    const uint64_t params = plan->rows[0].bytes; /* moments have its size */
    const uint64_t bytes = plan->bytes + (kind == MEMORY_TRAINING ? 2 * params : 0);
    mem_free(plan);
    return bytes;
}

/* The same, had t micro-batches of `micro` sequences; its limits stay at that. */
static uint64_t bytes_with(struct training *t, uint32_t micro, enum training_memory kind)
{
    t->limits = recipe_limits(micro, t->recipe.batch, &t->data.layout);
    return training_bytes(t, kind);
}

/* The budget of a micro-batch, in full sequences. The host's caches want few tokens, a GPU as many as its memory has
 * room for with a tenth to spare, in whole waves where a batch is more than one micro-batch, and up to WAVES of them:
 * beyond, nothing is gained. */
#define WAVES 4
static uint32_t micro_batch_of(struct training *t)
{
    const struct recipe *recipe = &t->recipe;
    if (recipe->micro_batch > 0 || t->ops->memory == 0)
        return recipe_micro_batch(recipe->micro_batch, recipe->batch, recipe->seq);
    const uint32_t wave = (uint32_t)t->ops->wave_rows / recipe->seq;
    uint32_t micro = WAVES * wave > 0 ? WAVES * wave : 1;
    for (micro = micro < recipe->batch ? micro : recipe->batch; micro > 1; micro -= micro / 16 + 1)
        if ((double)bytes_with(t, micro, MEMORY_TRAINING) < 0.9 * (double)t->ops->memory)
            break;
    return micro < recipe->batch && micro > wave && wave > 0 ? micro / wave * wave : micro;
}

/* Product algorithms: the table that is given, else the run's own; NULL: none yet. The caller mem_free's it. */
static char *tune_of(const struct training *t)
{
    if (t->settings->tune)
        return mem_copy_text(t->settings->tune);
    char *kept = t->device == DEVICE_CUDA && t->run.directory ? path_join(t->run.directory, TUNE_NAME) : NULL;
    if (kept && path_exists(kept))
        return kept;
    mem_free(kept);
    return NULL;
}

static int backend_begin(struct training *t, const struct cpu_options *options, struct error *err)
{
    char *tune = tune_of(t);
    t->ops = backend_open(t->device, options, tune, err);
    t->products_given = tune && t->ops;
    if (!t->ops && tune && !t->settings->tune && err->kind == ERR_MISMATCH) {
        log_warn("the run's %s is not used, its products are timed again: %s", TUNE_NAME, err->text);
        t->ops = backend_open(t->device, options, NULL, err);
    }
    mem_free(tune);
    return t->ops ? 0 : -1;
}

int training_backend(struct training *t, const char *recorded, struct error *err)
{
    const struct settings *settings = t->settings;
    struct cpu_options options = {
        .precision = t->recipe.precision,
        .level = settings_given(settings, "cpu") ? (enum cpu_level)settings->cpu : cpu_level(),
        .threads = settings->threads > 0 ? (unsigned)settings->threads : cores_allowed(),
    };
    t->threads = options.threads;
    if (!t->recipe.precision_given)
        options.precision = recorded ? precision_named(recorded) : backend_default_precision(t->device, options.level);
    TRY(backend_begin(t, &options, err));
    t->recipe.precision = options.precision;
    t->micro_batch = micro_batch_of(t);
    t->limits = recipe_limits(t->micro_batch, t->recipe.batch, &t->data.layout);
    t->limits.shapes = t->ops->wave_rows > 0 ? PACK_SHAPES : 0;
    return 0;
}

/* The most sequences that a micro-batch may have in what the device has left, or 0. */
static uint32_t micro_batch_that_fits(struct training *t, enum training_memory kind)
{
    uint32_t fits = 0, beyond = t->micro_batch;
    while (beyond - fits > 1) {
        const uint32_t middle = fits + (beyond - fits) / 2;
        if (bytes_with(t, middle, kind) <= t->ops->rest)
            fits = middle;
        else
            beyond = middle;
    }
    return fits;
}

int training_fits(struct training *t, enum training_memory kind, struct error *err)
{
    char needed[32], rest[32], all[32];
    if (t->ops->memory == 0)
        return 0;
    const uint64_t bytes = training_bytes(t, kind);
    if (bytes <= t->ops->rest)
        return 0;
    fail(err, ERR_RESOURCE, "micro-batches of %" PRIu32 " need %s of the device's memory, %s of %s are left",
         t->micro_batch, format_bytes(bytes, needed), format_bytes(t->ops->rest, rest),
         format_bytes(t->ops->memory, all));
    const uint32_t fits = micro_batch_that_fits(t, kind);
    if (fits == 0)
        return hint(err,
                    "not even --micro-batch 1 fits: another program may hold the device, or the model is too large");
    return hint(err, "--micro-batch %" PRIu32 " fits; it changes results by rounding only", fits);
}

int training_model(struct training *t, struct error *err)
{
    TRY(training_backend(t, run_precision(&t->run), err));
    TRY(training_fits(t, MEMORY_TRAINING, err));
    if (t->device == DEVICE_CUDA && !t->products_given) /* once for a run: record_begin keeps them */
        TRY(backend_tune(t->ops, &t->recipe.config, &t->limits, false, &t->products, err));
    if (t->settings->timings)
        t->ops = timings_open(t->ops);
    const struct model_budget budget = training_budget(t);
    t->model = model_open(&t->recipe.config, t->ops, &budget);
    const struct params *params = model_table(t->model);
    t->first = t->ops->allocate(t->ops->device, params->size * sizeof(float));
    t->second = t->ops->allocate(t->ops->device, params->size * sizeof(float));
    optimizer_work_init(&t->work, t->ops, params);
    if (t->recipe.precision == PRECISION_FP16)
        t->state.scaler = scaler_begin(&t->recipe.scaling);
    return 0;
}

struct flat_state training_map(struct training *t, enum map_mode mode)
{
    const struct ops *ops = t->ops;
    const size_t bytes = model_table(t->model)->size * sizeof(float);
    return (struct flat_state){
        .params = ops->map(ops->device, model_params(t->model), bytes, mode),
        .first = ops->map(ops->device, t->first, bytes, mode),
        .second = ops->map(ops->device, t->second, bytes, mode),
    };
}

void training_unmap(struct training *t, const struct flat_state *flat, enum map_mode mode)
{
    const struct ops *ops = t->ops;
    const size_t bytes = model_table(t->model)->size * sizeof(float);
    ops->unmap(ops->device, model_params(t->model), flat->params, bytes, mode);
    ops->unmap(ops->device, t->first, flat->first, bytes, mode);
    ops->unmap(ops->device, t->second, flat->second, bytes, mode);
}

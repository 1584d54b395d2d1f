#include "trainer/run/engine.h"

#include <inttypes.h>

#include "base/cores.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "trainer/device/timings.h"

/* Memory and the size of a micro-batch are counted from the model and the device, never measured, so that the same
 * command computes the same. A model without a training goes forward only: it has no gradients, and its layers share
 * their buffers. */
static struct model_budget budget_of(const struct engine *e, const struct pack_limits *limits, enum engine_memory kind)
{
    const struct recipe *recipe = e->recipe;
    const int64_t layers = recipe->config.layers, groups = (int64_t)recipe->checkpoints;
    struct model_budget budget = {
        .token_rows_max = limits->tokens,
        .sequences_max = limits->sequences,
        .length_max = (int32_t)recipe->seq,
        .recompute_every = kind == ENGINE_MODEL ? 1
                           : groups == 0        ? 0
                           : groups < layers    ? (int32_t)((layers + groups - 1) / groups)
                                                : 1,
        .divided = e->partition.size > 0,
        .placed = kind == ENGINE_MODEL || engine_divides_gradients(e),
    };
    memcpy(budget.head_rows_max, limits->marks, sizeof budget.head_rows_max);
    return budget;
}

struct model_budget engine_budget(const struct engine *e, enum engine_memory kind)
{
    return budget_of(e, &e->limits, kind);
}

static struct exchange_options plan_exchange(const struct engine *e, const struct params *params,
                                             const struct pack_limits *limits)
{
    return (struct exchange_options){.recipe = e->recipe,
                                     .params = params,
                                     .ops = e->ops,
                                     .partition = &e->partition,
                                     .rank = e->rank,
                                     .size = e->size,
                                     .tokens = (size_t)limits->tokens};
}

struct exchange_bytes engine_exchange_bytes(const struct engine *e, const struct pack_limits *limits)
{
    struct params params;
    params_init(&params, &e->recipe->config);
    const struct exchange_options options = plan_exchange(e, &params, limits);
    const struct exchange_bytes bytes = exchange_bytes(&options);
    params_release(&params);
    return bytes;
}

/* Bytes that the model does not hold: of the exchange, and for updates of whole matrices. */
static uint64_t training_bytes(const struct engine *e, const struct pack_limits *limits)
{
    const struct exchange_bytes bytes = engine_exchange_bytes(e, limits);
    struct params params;
    params_init(&params, &e->recipe->config);
    const uint64_t lent = optimizer_lent_bytes(e->recipe->optimizer.kind, e->ops, &params);
    params_release(&params);
    return bytes.moments + bytes.gradients + lent;
}

static uint64_t bytes_of(const struct engine *e, const struct pack_limits *limits, enum engine_memory kind)
{
    SCOPED(mem_free_at) struct model_plan *plan = mem_clear(1, sizeof *plan);
    const struct model_budget budget = budget_of(e, limits, kind);
    model_plan(&e->recipe->config, e->ops, &budget, plan);
    return plan->bytes + (kind == ENGINE_TRAINING ? training_bytes(e, limits) : 0);
}

uint64_t engine_bytes(const struct engine *e, enum engine_memory kind)
{
    return bytes_of(e, &e->limits, kind);
}

/* The same with micro-batches of `micro` sequences. */
static uint64_t bytes_with(const struct engine *e, uint32_t micro, enum engine_memory kind)
{
    const struct pack_limits limits = recipe_limits(e->recipe, micro, &e->task->samples.room);
    return bytes_of(e, &limits, kind);
}

/* The size of a micro-batch, in full sequences. A processor's caches favour few tokens. A GPU gets as many as fit with
 * a tenth of its memory to spare, at most WAVES waves, because more gain nothing, and a whole number of waves if a
 * batch has several micro-batches. */
#define WAVES 4
static uint32_t plan_micro_batch(const struct engine *e)
{
    const struct recipe *recipe = e->recipe;
    if (recipe->part > 0)
        return recipe->part;
    if (recipe->micro_batch > 0 || e->ops->memory == 0)
        return recipe_micro_batch(recipe->micro_batch, recipe->batch, recipe->seq);
    const uint32_t wave = (uint32_t)e->ops->wave_rows / recipe->seq;
    uint32_t micro = WAVES * wave > 0 ? WAVES * wave : 1;
    for (micro = micro < recipe->batch ? micro : recipe->batch; micro > 1; micro -= micro / 16 + 1)
        if ((double)bytes_with(e, micro, ENGINE_TRAINING) < 0.9 * (double)e->ops->memory)
            break;
    return micro < recipe->batch && micro > wave && wave > 0 ? micro / wave * wave : micro;
}

/* The largest number of sequences of a micro-batch that fits in the device's remaining memory, or 0. */
static uint32_t micro_batch_that_fits(const struct engine *e, enum engine_memory kind)
{
    uint32_t fits = 0, beyond = e->micro_batch;
    while (beyond - fits > 1) {
        const uint32_t middle = fits + (beyond - fits) / 2;
        if (bytes_with(e, middle, kind) <= e->ops->free_bytes)
            fits = middle;
        else
            beyond = middle;
    }
    return fits;
}

/* ERR_RESOURCE: engine_bytes are more than the machine, or the device, has left; the hint says what fits. */
static int plan_check_fit(const struct engine *e, enum engine_memory kind, struct error *err)
{
    char needed[32], rest[32], all[32];
    const bool host = e->ops->memory == 0;
    const uint64_t bytes = engine_bytes(e, kind), room = host ? memory_allowed() : e->ops->free_bytes;
    if (bytes <= room)
        return 0;
    if (host) { /* Linux grants it all the same, and ends the process when the memory is used */
        fail(err, ERR_RESOURCE, "needs %s of memory, this machine gives at most %s", format_bytes(bytes, needed),
             format_bytes(room, rest));
        return hint(err, "%sa smaller model; dstrain plan counts what is needed",
                    e->micro_batch > 1 ? "a smaller --micro-batch or " : "");
    }
    fail(err, ERR_RESOURCE, "micro-batches of %" PRIu32 " need %s of the device's memory, %s of %s are left",
         e->micro_batch, format_bytes(bytes, needed), format_bytes(e->ops->free_bytes, rest),
         format_bytes(e->ops->memory, all));
    const uint32_t fits = micro_batch_that_fits(e, kind);
    if (fits == 0)
        return hint(err,
                    "not even --micro-batch 1 fits: another program may hold the device, or the model is too large");
    return hint(err, "--micro-batch %" PRIu32 " fits; it changes results by rounding only", fits);
}

int engine_choose(struct engine *e, const struct settings *settings, const struct recipe *recipe,
                  const struct task *task, struct error *err)
{
    const struct model_config *config = &recipe->config;
    *e = (struct engine){.settings = settings, .recipe = recipe, .task = task};
    e->device = settings_given(settings, "device") ? (enum device_kind)settings->device : backend_default();
    TRY(backend_probe(e->device, NULL, err));
    if (e->device == DEVICE_CPU && settings->tune)
        return fail(err, ERR_USAGE, "--tune names product algorithms of CUDA; this computes on the CPU");
    if (architecture_of(config)->layout->lacks & task->heads)
        return fail(err, ERR_USAGE, "%s models have no head for this task yet", architecture_of(config)->layout->noun);
    return backend_fits(e->device, config, err);
}

static int check_onebit(const struct engine *e, struct error *err)
{
    const char *name = optimizer_kinds[e->recipe->optimizer.kind].name;
    if (e->device == DEVICE_CUDA && e->recipe->optimizer.group) {
        fail(err, ERR_USAGE, "--optimizer %s with scale \"group\" is available only on the CPU", name);
        return hint(err, "scale \"chunk\", or --device cpu");
    }
    return e->recipe->zero > 0
               ? fail(err, ERR_USAGE, "--zero divides moments, but --optimizer %s needs all of them", name)
               : 0;
}

void engine_partition(const struct engine *e, const struct params *params, uint32_t size, struct partition *partition)
{
    const bool gradients = e->recipe->zero > 1;
    partition_init(partition, params, e->recipe->bucket > 0 || !gradients ? e->recipe->bucket : ZERO2_BUCKET, gradients,
                   size);
}

int engine_divide(struct engine *e, uint32_t rank, uint32_t size, struct error *err)
{
    const struct recipe *recipe = e->recipe;
    struct params params;
    e->rank = rank;
    e->size = size;
    if (optimizer_kinds[recipe->optimizer.kind].compresses)
        TRY(check_onebit(e, err));
    if (recipe->zero == 0)
        return 0;
    if (optimizer_kinds[recipe->optimizer.kind].matrices) {
        fail(err, ERR_USAGE, "--zero divides matrices, but --optimizer %s updates them as a whole",
             optimizer_kinds[recipe->optimizer.kind].name);
        return hint(err, "--zero 0, or another optimizer");
    }
    if (size == 1)
        return 0;
    if (e->settings->dump_gradients) {
        fail(err, ERR_USAGE, "--dump-gradients needs all gradients in one process, but --zero divides them");
        return hint(err, "the gradients are the same with --zero 0");
    }
    if (e->settings->norms_every > 0) {
        fail(err, ERR_USAGE, "--norms-every needs all parameters in one process, but --zero divides them");
        return hint(err, "the norms are the same with --zero 0");
    }
    params_init(&params, &recipe->config);
    engine_partition(e, &params, size, &e->partition);
    params_release(&params);
    return 0;
}

/* Opens the backend with the given table of product algorithms, else with the run's own if it exists and is for this
 * device. */
static int open_backend(struct engine *e, const struct cpu_options *options, const char *kept, struct error *err)
{
    const char *given = e->settings->tune;
    if (e->device != DEVICE_CUDA || (kept && !path_exists(kept)))
        kept = NULL;
    e->ops = backend_open(e->device, options, given ? given : kept, err);
    e->products_given = (given || kept) && e->ops;
    if (!e->ops && !given && kept && err->kind == ERR_MISMATCH) {
        log_warn("the run's %s is not used, its products are measured again: %s", TUNE_NAME, err->text);
        e->ops = backend_open(e->device, options, NULL, err);
    }
    return e->ops ? 0 : -1;
}

static enum cpu_level level_of(const struct settings *settings)
{
    return settings_given(settings, "cpu") ? (enum cpu_level)settings->cpu : cpu_level();
}

enum precision engine_precision(const struct engine *e, const char *recorded)
{
    if (e->recipe->precision_given)
        return e->recipe->precision;
    return recorded ? precision_named(recorded) : backend_default_precision(e->device, level_of(e->settings));
}

int engine_open(struct engine *e, enum precision precision, const char *tune, struct error *err)
{
    const struct settings *settings = e->settings;
    const struct cpu_options options = {
        .precision = precision,
        .level = level_of(settings),
        .threads = settings->threads > 0 ? (unsigned)settings->threads : cores_allowed(),
        .same_bits = e->recipe->part > 0 || settings->same_bits,
    };
    e->threads = options.threads;
    TRY(open_backend(e, &options, tune, err));
    e->micro_batch = plan_micro_batch(e);
    assert(e->micro_batch > 0 && e->micro_batch <= e->recipe->batch);
    e->limits = recipe_limits(e->recipe, e->micro_batch, &e->task->samples.room);
    if (e->recipe->part > 0)
        e->limits.sequences = (int32_t)e->recipe->part; /* a part has that many samples even if they are short */
    e->limits.shapes = e->ops->wave_rows > 0 ? PACK_SHAPES : 0;
    return 0;
}

int engine_load(struct engine *e, enum engine_memory kind, struct error *err)
{
    assert(e->ops && !e->model);
    TRY(plan_check_fit(e, kind, err));
    if (kind == ENGINE_TRAINING && e->device == DEVICE_CUDA &&
        !e->products_given) /* once per run, which keeps the table */
        TRY(backend_tune(e->ops, &e->recipe->config, &e->limits, false, &e->products, err));
    if (kind == ENGINE_TRAINING && e->settings->timings)
        e->ops = timings_open(e->ops);
    const struct model_budget budget = engine_budget(e, kind);
    e->model = model_open(&e->recipe->config, e->ops, &budget);
    if (kind == ENGINE_MODEL)
        return 0;
    const struct params *params = model_table(e->model);
    const struct exchange_options options = plan_exchange(e, params, &e->limits);
    e->exchange = exchange_open(&options, e->model);
    if (!engine_divides(e)) {
        e->first = e->ops->allocate(e->ops->device, params->size * sizeof(float));
        e->second = e->ops->allocate(e->ops->device, params->size * sizeof(float));
    }
    optimizer_work_init(&e->work, e->recipe->optimizer.kind, e->ops, params);
    return 0;
}

void engine_close(struct engine *e)
{
    exchange_close(e->exchange);
    if (e->model)
        model_close(e->model);
    partition_release(&e->partition);
    if (e->ops) {
        e->ops->release(e->ops->device, e->first);
        e->ops->release(e->ops->device, e->second);
        optimizer_work_release(&e->work, e->ops);
        e->ops->close(e->ops);
    }
    buf_release(&e->products);
    *e = (struct engine){0};
}

void engine_join(struct engine *e, const struct process_group *processes, const uint64_t *borders, bool on_hosts)
{
    assert(!e->processes && (!engine_divides(e) || e->partition.size == processes->size));
    e->processes = processes;
    exchange_join(e->exchange, processes->comm, processes->rendezvous, borders, on_hosts);
}

void engine_begin(struct engine *e, uint64_t number, const int64_t counts[HEAD_KINDS], double loss_scale)
{
    assert(number > 0 && number <= UINT32_MAX && loss_scale > 0); /* dropout has 32 bits for the step */
    struct step_settings step = {
        .seed = e->recipe->seed,
        .step = (uint32_t)number,
        .loss_scale = loss_scale,
    };
    for (int h = 0; h < HEAD_KINDS; h++)
        step.counts[h] = counts[h] > 0 ? counts[h] : 1;
    model_begin_step(e->model, &step);
    e->number = number;
    exchange_begin(e->exchange, number, loss_scale);
}

/* With --same-bits the losses are read after every part, which waits for the device; otherwise they stay there until
 * the step ends. */
void engine_pass(struct engine *e, const struct micro_batch *micro)
{
    struct model_metrics metrics = {0};
    double sums[STEP_SUMS];
    const bool parts = e->recipe->part > 0;
    assert(micro->batch.tokens <= e->limits.tokens && micro->batch.sequences <= e->limits.sequences);
    if (e->processes)
        rendezvous_progress(e->processes->rendezvous, e->number, "a pass");
    if (exchange_sums(e->exchange) && (micro->ends || exchange_sends_every_pass(e->exchange)))
        rendezvous_begin(e->processes->rendezvous, e->number);
    model_forward_backward(e->model, &micro->batch, exchange_listener(e->exchange, &micro->batch, micro->ends),
                           parts ? &metrics : NULL);
    if (parts)
        model_metrics_sums(&metrics, sums);
    exchange_pass(e->exchange, parts ? sums : NULL);
}

int engine_finish(struct engine *e, struct error *err)
{
    if (exchange_sums(e->exchange))
        rendezvous_begin(e->processes->rendezvous, e->number); /* needed if the share is empty: there was no pass */
    return exchange_finish(e->exchange, err);
}

int engine_update(struct engine *e, uint64_t number, uint64_t update, double loss_scale, double *rate,
                  struct error *err)
{
    const struct ops *ops = e->ops;
    struct optimizer optimizer = e->recipe->optimizer;
    assert(update > 0 && update <= number); /* fp16 skips updates, never steps */
    *rate = schedule_rate(&e->recipe->schedule, update);
    schedule_momentum(&e->recipe->schedule, update, &optimizer.beta1, &optimizer.beta2);
    const struct update facts = {
        .number = update,
        .rate = *rate,
        .norm_max = e->recipe->clipping,
        .loss_scale = loss_scale,
        .halts = ops->precision != PRECISION_FP16,
    };
    const struct update_memory memory = {.params = model_params(e->model),
                                         .first = e->first,
                                         .second = e->second,
                                         .gradients = model_gradients(e->model)};
    bool frozen;
    TRY(exchange_update(e->exchange, &optimizer, &memory, &e->work, &facts, &frozen, err));
    if (frozen)
        log_say("note       second moments are frozen at step %" PRIu64 ": from now on one bit per parameter is sent",
                number);
    ops->send(ops->device, (int)(number % STEPS_QUEUED), e->work.record, sizeof *e->work.record);
    model_refresh(e->model);
    return 0;
}

void engine_receive(struct engine *e, uint64_t number, struct step_record *record)
{
    e->ops->receive(e->ops->device, (int)(number % STEPS_QUEUED), record, sizeof *record);
}

int engine_read_weights(struct engine *e, const char *path, struct names_report *report, struct error *err)
{
    const struct params *params = model_table(e->model);
    const size_t bytes = params->size * sizeof(float);
    float *flat = e->ops->map(e->ops->device, model_params(e->model), bytes, MAP_FILL);
    int result = names_read(path, params, e->recipe->seed, flat, report, err);
    if (result == 0)
        head_choice_apply(&e->recipe->head, params, e->recipe->seed, flat);
    if (result == 0)
        result = names_check_finite(path, params, flat, err);
    e->ops->unmap(e->ops->device, model_params(e->model), flat, bytes, MAP_FILL);
    model_refresh(e->model);
    return result;
}

int engine_dump_gradients(struct engine *e, double loss_scale, const char *path, struct error *err)
{
    const struct params *params = model_table(e->model);
    const size_t bytes = params->size * sizeof(float);
    float *flat = e->ops->map(e->ops->device, model_gradients(e->model), bytes, MAP_READ);
    SCOPED(mem_free_at) float *plain = mem_alloc(bytes);
    for (size_t i = 0; i < params->size; i++)
        plain[i] = (float)((double)flat[i] / loss_scale);
    e->ops->unmap(e->ops->device, model_gradients(e->model), flat, bytes, MAP_READ);
    return names_write(path, params, plain, "gradients", NULL, err);
}

uint64_t engine_hash(struct engine *e)
{
    const struct ops *ops = e->ops;
    const size_t bytes = model_table(e->model)->size * ops->storage_size;
    const size_t more = model_params_count(e->model) * ops->real_size;
    void *weights = ops->map(ops->device, model_weights(e->model), bytes, MAP_READ);
    uint64_t hash = hash64(weights, bytes);
    ops->unmap(ops->device, model_weights(e->model), weights, bytes, MAP_READ);
    if (model_weights(e->model) == model_params(e->model))
        return hash;
    void *params = ops->map(ops->device, model_params(e->model), more, MAP_READ);
    hash ^= hash64(params, more);
    ops->unmap(ops->device, model_params(e->model), params, more, MAP_READ);
    return hash;
}

struct flat_state engine_map(struct engine *e, enum map_mode mode)
{
    const struct ops *ops = e->ops;
    const size_t bytes = model_table(e->model)->size * sizeof(float);
    return (struct flat_state){
        .params = ops->map(ops->device, model_params(e->model), bytes, mode),
        .first = ops->map(ops->device, e->first, bytes, mode),
        .second = ops->map(ops->device, e->second, bytes, mode),
    };
}

void engine_unmap(struct engine *e, const struct flat_state *flat, enum map_mode mode)
{
    const struct ops *ops = e->ops;
    const size_t bytes = model_table(e->model)->size * sizeof(float);
    ops->unmap(ops->device, model_params(e->model), flat->params, bytes, mode);
    ops->unmap(ops->device, e->first, flat->first, bytes, mode);
    ops->unmap(ops->device, e->second, flat->second, bytes, mode);
}

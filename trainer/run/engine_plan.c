#include "trainer/run/engine_plan.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/cores.h"
#include "base/mem.h"
#include "base/output.h"

/* A model without a training goes forward only: it has no gradients, and its layers share their buffers. */
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

struct exchange_options plan_exchange(const struct engine *e, const struct params *params,
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
    struct model_plan *plan = mem_clear(1, sizeof *plan);
    const struct model_budget budget = budget_of(e, limits, kind);
    model_plan(&e->recipe->config, e->ops, &budget, plan);
    const uint64_t bytes = plan->bytes + (kind == ENGINE_TRAINING ? training_bytes(e, limits) : 0);
    mem_free(plan);
    return bytes;
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
uint32_t plan_micro_batch(const struct engine *e)
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

int plan_check_fit(const struct engine *e, enum engine_memory kind, struct error *err)
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

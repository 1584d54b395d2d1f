/* Passes are measured as FLOP/s, so that a model with few layers can stand in for one with many. */
#include "trainer/run/estimate.h"

#include "base/progress.h"
#include "trainer/device/machine.h"
#include "trainer/model/head.h"

#define PASS_SECONDS     0.1 /* total of the measured passes; at least one is measured */
#define PASS_SECONDS_MAX 1.0 /* of one pass by the rate of products; a longer micro-batch is cut */

/* Measures FLOP/s of repeated forward and backward passes over one micro-batch. */
static double pass_rate(struct engine *engine, struct model *model, const struct micro_batch *micro)
{
    const struct ops *ops = engine->ops;
    const struct batch *batch = &micro->batch;
    const double sequences = batch->sequences;
    double marks[HEAD_KINDS];
    for (int h = 0; h < HEAD_KINDS; h++)
        marks[h] = batch->heads[h].live / sequences;
    const double flops = sequences * model_flops(model_config(model), batch->tokens / sequences, marks);
    struct step_settings step = {.step = 1, .loss_scale = 1};
    for (int h = 0; h < HEAD_KINDS; h++)
        step.counts[h] = micro->marks[h] > 0 ? micro->marks[h] : 1;
    struct model_metrics ignored = {0};
    double from = 0, took = 0, passes = -1; /* the first pass is not counted: it does one-time work */
    do {
        model_begin_step(model, &step);
        model_forward_backward(
            model, batch, model == engine->model ? exchange_pass_alone(engine->exchange, batch, NULL) : NULL, &ignored);
        ops->wait(ops->device);
        if (passes++ < 0)
            from = clock_now();
        took = clock_now() - from;
    } while (passes < 1 || (took < PASS_SECONDS && passes < 10));
    return passes * flops / took;
}

/* `marks` are the labels of a sequence of mean length. */
static int measure_passes(struct engine *engine, const struct source *source, struct model *model,
                          const double marks[HEAD_KINDS], struct estimate *estimate, struct error *err)
{
    const struct micro_batch *micro;
    const double flops = model_flops(model_config(model), estimate->mean_length, marks);
    const double most = fmin(engine->limits.sequences, fmax(1, PASS_SECONDS_MAX * estimate->products / flops));
    const uint32_t count = engine->recipe->batch < most ? engine->recipe->batch : (uint32_t)most;
    struct loader *loader = loader_open(&(struct loader_options){
        .source = source,
        .count = count,
        .batch = count,
        .limits = engine->limits,
    });
    const int result = loader_next(loader, &micro, err);
    if (result > 0)
        estimate->passes = pass_rate(engine, model, micro);
    loader_close(loader);
    return result < 0 ? -1 : 0;
}

int estimate_make(struct engine *engine, const struct source *source, struct model *model, double seconds,
                  struct estimate *estimate, struct error *err)
{
    const struct model_config *config = &engine->recipe->config;
    struct params params;
    struct machine_waits waits;
    double marks[HEAD_KINDS]; /* labels of a sequence of mean length */
    *estimate = (struct estimate){.mean_length = (double)source->tokens / (double)source->samples};
    /* The gradients are free until a step clears them. More memory would not be in the plan. */
    const struct machine_room room = {
        model ? model_gradients(model) : NULL,
        model && model_gradients(model) ? model_table(model)->size * engine->ops->real_size : 0};
    machine_waits_begin(&waits);
    const double share = estimate->mean_length / engine->recipe->seq;
    for (enum head_kind h = 0; h < HEAD_KINDS; h++)
        marks[h] = source->room.marks[h] * (head_kinds[h]->reads == READS_MARKED ? share : 1);
    estimate->flops = model_flops(config, estimate->mean_length, marks);
    estimate->products = machine_product_rate(engine->ops, engine->limits.tokens < 4096 ? engine->limits.tokens : 4096,
                                              config->intermediate, config->hidden, seconds, room);
    if (model)
        TRY(measure_passes(engine, source, model, marks, estimate, err));
    params_init(&params, config);
    estimate->update = (double)params.size / machine_update_rate(engine->ops, params.size, room) +
                       optimizer_flops(engine->recipe->optimizer.kind, &params) / estimate->products;
    params_release(&params);
    estimate->step =
        engine->recipe->batch * estimate->flops / (model ? estimate->passes : estimate->products) + estimate->update;
    estimate->held = engine->ops->memory > 0 ? 0 : machine_waits_share(&waits);
    return 0;
}

int estimate_make_short(struct engine *engine, const struct source *source, double seconds, struct estimate *estimate,
                        struct error *err)
{
    struct model_budget budget = engine_budget(engine, ENGINE_TRAINING);
    struct model_config config = engine->recipe->config;
    budget.placed = false;
    config.layers = config.layers < ESTIMATE_LAYERS ? config.layers : ESTIMATE_LAYERS;
    struct model *model = model_open(&config, engine->ops, &budget);
    model_refresh(model);
    const int result = estimate_make(engine, source, model, seconds, estimate, err);
    model_close(model);
    return result;
}

/* A training in, seconds out. Passes are measured as FLOP/s, so that a model of few layers stands for one of many. */
#include "trainer/estimate.h"

#include <math.h>

#include "base/progress.h"
#include "trainer/machine.h"
#include "trainer/train.h"

#define PASS_SECONDS 0.1 /* of measured passes, at least one */

/* Forward and backward over one micro-batch, again and again: FLOP/s. */
static double pass_rate(const struct ops *ops, struct model *model, const struct micro_batch *micro)
{
    const struct batch *batch = &micro->batch;
    const double sequences = batch->sequences;
    const double flops =
        sequences * model_flops(model_config(model), batch->tokens / sequences, batch->masked / sequences);
    struct model_metrics ignored = {0};
    double from = 0, took = 0, passes = -1; /* the first one makes what is made once */
    do {
        model_begin_step(model, &(struct step_settings){
                                    .step = 1,
                                    .dropout = true,
                                    .masked = micro->masked > 0 ? micro->masked : 1,
                                    .sequences = micro->sequences,
                                    .loss_scale = 1,
                                });
        model_forward_backward(model, batch, &ignored);
        ops->wait(ops->device);
        if (passes++ < 0)
            from = clock_now();
        took = clock_now() - from;
    } while (passes < 1 || (took < PASS_SECONDS && passes < 10));
    return passes * flops / took;
}

static int measure_passes(const struct training *t, struct model *model, double *rate, struct error *err)
{
    const struct micro_batch *micro;
    const uint32_t most = (uint32_t)t->engine.limits.sequences; /* of a micro-batch */
    const uint32_t count = t->recipe.batch < most ? t->recipe.batch : most;
    struct loader *loader = loader_open(&(struct loader_options){
        .dataset = &t->data,
        .masks = MASKS_STORED,
        .count = count,
        .batch = count,
        .limits = t->engine.limits,
    });
    const int result = loader_next(loader, &micro, err);
    if (result > 0)
        *rate = pass_rate(t->engine.ops, model, micro);
    loader_close(loader);
    return result < 0 ? -1 : 0;
}

int estimate_make(const struct training *t, struct model *model, double seconds, struct estimate *estimate,
                  struct error *err)
{
    const struct model_config *config = &t->recipe.config;
    struct params params;
    *estimate = (struct estimate){.mean_length = (double)t->data.length->tokens / (double)t->data.samples};
    const double share = estimate->mean_length / t->recipe.seq;
    estimate->flops = model_flops(config, estimate->mean_length, t->data.layout.predictions * share);
    estimate->products =
        machine_product_rate(t->engine.ops, t->engine.limits.tokens < 4096 ? t->engine.limits.tokens : 4096,
                             config->intermediate, config->hidden, seconds);
    if (model)
        TRY(measure_passes(t, model, &estimate->passes, err));
    params_init(&params, config);
    estimate->update = (double)params.size / machine_update_rate(t->engine.ops, params.size);
    params_release(&params);
    estimate->step =
        t->recipe.batch * estimate->flops / (model ? estimate->passes : estimate->products) + estimate->update;
    return 0;
}

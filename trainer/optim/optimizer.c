/* In: gradients and moments in flat memory. Out: parameters after one update. Passes over flat memory are the backend's
 * (ops.h); what is worked out here is a few numbers per tensor. */
#include "trainer/optim/optimizer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"

/* clang-format off */
#define COMMON .beta1 = 0.9, .beta2 = 0.999, .decoupled = true, .gradient_average = true

const struct optimizer_type optimizer_types[] = {
    /* DeepSpeed's own, decoupled decay also under the name Adam (ops/adam/fused_adam.py) */
    {"Adam", 1e-3, {COMMON, .kind = OPTIMIZER_ADAM, .epsilon = 1e-8, .bias_correction = true}},
    {"AdamW", 1e-3, {COMMON, .kind = OPTIMIZER_ADAM, .epsilon = 1e-8, .bias_correction = true}},
    {"Lamb", 1e-3, {COMMON, .kind = OPTIMIZER_LAMB, .epsilon = 1e-8, .bias_correction = true, .ratio_min = 0.01,
                    .ratio_max = 10}},
    {"NVLAMB", 1e-3, {COMMON, .kind = OPTIMIZER_NVLAMB, .epsilon = 1e-6, .bias_correction = true, .weight_decay = 0.01,
                      .norm_max = 1}},
    {"LANS", 1e-3, {COMMON, .kind = OPTIMIZER_LANS, .epsilon = 1e-6, .bias_correction = true, .weight_decay = 0.01}},
    /* Adam as others set it: pytorch_pretrained_bert's and NVIDIA's BertAdam; Google's optimization.py; NVIDIA's
     * fine-tuning with FusedAdam; HetSeq */
    {"BertAdam", 5e-5, {COMMON, .kind = OPTIMIZER_ADAM, .epsilon = 1e-6, .weight_decay = 0.01, .tensor_norm = 1}},
    {"AdamWeightDecay", 5e-5, {COMMON, .kind = OPTIMIZER_ADAM, .epsilon = 1e-6, .weight_decay = 0.01}},
    {"FusedAdam", 1e-3, {COMMON, .kind = OPTIMIZER_ADAM, .epsilon = 1e-8}},
    {"HetSeqAdam", 0.25, {COMMON, .kind = OPTIMIZER_ADAM, .epsilon = 1e-8, .bias_correction = true,
                          .scaled_rate = true, .decay_all = true}},
    {.name = NULL},
};
/* clang-format on */

const struct optimizer_type *optimizer_type(const char *name)
{
    for (const struct optimizer_type *type = optimizer_types; type->name; type++)
        if (strcmp(type->name, name) == 0)
            return type;
    return NULL;
}

const char *optimizer_name(enum optimizer_kind kind)
{
    static const char *const names[] = {"adam", "lamb", "nvlamb", "lans"};
    return names[kind];
}

void optimizer_work_init(struct optimizer_work *work, const struct params *params)
{
    *work = (struct optimizer_work){
        .squares = mem_array(params->chunk_count, sizeof(double)),
        .sums = mem_array(3 * params->chunk_count, sizeof(double)),
        .factors = mem_array(params->count, sizeof(double)),
        .shares = mem_array(2 * params->count, sizeof(double)),
    };
}

void optimizer_work_release(struct optimizer_work *work)
{
    mem_free(work->squares);
    mem_free(work->sums);
    mem_free(work->factors);
    mem_free(work->shares);
    *work = (struct optimizer_work){0};
}

/* ---- what gradients are multiplied by ---- */

/* The norm of one tensor's gradient; *chunk walks over the table. */
static double tensor_norm(const struct params *params, const double *squares, size_t tensor, size_t *chunk)
{
    double sum = 0;
    for (; *chunk < params->chunk_count && (size_t)params->chunks[*chunk].tensor == tensor; ++*chunk)
        sum += squares[*chunk];
    return sqrt(sum);
}

static void set_factors(const struct optimizer *optimizer, const struct params *params, struct optimizer_work *work,
                        double factor)
{
    double all = 0;
    for (size_t i = 0; i < params->chunk_count && optimizer->norm_max > 0; i++)
        all += work->squares[i];
    const double excess = optimizer->norm_max > 0 ? factor * sqrt(all) / optimizer->norm_max : 0;
    if (excess > 1)
        factor /= excess;
    for (size_t tensor = 0, chunk = 0; tensor < params->count; tensor++) {
        const double norm = factor * tensor_norm(params, work->squares, tensor, &chunk);
        work->factors[tensor] = factor;
        if (optimizer->kind == OPTIMIZER_LANS && norm > 0)
            work->factors[tensor] = factor / (norm + optimizer->epsilon);
        else if (optimizer->tensor_norm > 0 && norm + 1e-6 > optimizer->tensor_norm) /* as clip_grad_norm_ */
            work->factors[tensor] = factor * optimizer->tensor_norm / (norm + 1e-6);
    }
}

/* ---- what directions are multiplied by ---- */

static double ratio_of(double weight, double direction)
{
    return weight > 0 && direction > 0 ? weight / direction : 1;
}

static double lamb_ratio(const struct optimizer *optimizer, double weight, double direction)
{
    if (!(weight > 0 && direction > 0))
        return 1;
    return fmin(fmax(weight / direction, optimizer->ratio_min), optimizer->ratio_max);
}

static void set_shares(const struct optimizer *optimizer, const struct params *params, struct optimizer_work *work,
                       const struct update_step *step)
{
    for (size_t tensor = 0, chunk = 0; tensor < params->count; tensor++) {
        double pp = 0, uu = 0, cc = 0;
        for (; chunk < params->chunk_count && (size_t)params->chunks[chunk].tensor == tensor; chunk++) {
            pp += work->sums[3 * chunk];
            uu += work->sums[3 * chunk + 1];
            cc += work->sums[3 * chunk + 2];
        }
        const double weight = sqrt(pp), u = sqrt(uu), c = sqrt(cc);
        double *shares = work->shares + 2 * tensor;
        shares[1] = 0;
        if (optimizer->kind == OPTIMIZER_LAMB) {
            shares[0] = step->rate * lamb_ratio(optimizer, weight, u);
        } else if (optimizer->kind == OPTIMIZER_NVLAMB) {
            const double decay = params->items[tensor].decay ? step->weight_decay : step->vector_decay;
            shares[0] = step->rate * (optimizer->ratio_always || decay != 0 ? ratio_of(weight, u) : 1);
        } else {
            shares[0] = step->rate * step->beta1 * ratio_of(weight, u);
            shares[1] = step->rate * step->share * ratio_of(weight, c);
        }
    }
}

/* ---- all together ---- */

void optimizer_update(const struct optimizer *optimizer, const struct ops *ops, const struct params *params,
                      const struct update_memory *memory, struct optimizer_work *work, double rate, uint64_t update,
                      double factor)
{
    assert(update >= 1);
    const bool adam = optimizer->kind == OPTIMIZER_ADAM, lamb = optimizer->kind == OPTIMIZER_LAMB;
    const double rest1 = optimizer->bias_correction ? 1 - pow(optimizer->beta1, (double)update) : 1;
    const double rest2 = optimizer->bias_correction ? 1 - pow(optimizer->beta2, (double)update) : 1;
    struct update_step step = {
        .rate = rate,
        .beta1 = optimizer->beta1,
        .beta2 = optimizer->beta2,
        .share = adam || lamb || optimizer->gradient_average ? 1 - optimizer->beta1 : 1,
        .lead = 1 / rest1,
        .root = 1 / sqrt(rest2),
        .epsilon = optimizer->epsilon,
        .weight_decay = optimizer->weight_decay,
        .vector_decay = optimizer->decay_all ? optimizer->weight_decay : 0,
        .decoupled = !adam || optimizer->decoupled,
        .slopes = optimizer->kind == OPTIMIZER_LANS,
        .factors = work->factors,
    };
    if (lamb) { /* the correction is of the whole step, decay included */
        step.rate = rate * sqrt(rest2) / rest1;
        step.lead = step.root = 1;
    } else if (optimizer->scaled_rate) { /* of Adam's part alone */
        step.lead = sqrt(rest2) / rest1;
        step.root = 1;
    }
    set_factors(optimizer, params, work, factor);
    if (adam) {
        ops->adam(ops->device, memory, params->chunks, params->chunk_count, &step);
        return;
    }
    ops->moments(ops->device, work->sums, memory, params->chunks, params->chunk_count, &step);
    set_shares(optimizer, params, work, &step);
    ops->apply(ops->device, memory, params->chunks, params->chunk_count, &step, work->shares);
}

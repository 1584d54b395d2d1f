/* Weights that are not finite come first: all else follows from them. Then the gradients, the last tensor of the table
 * first, since the backward pass meets it first: the device may be a step further by now, so they are worked out again,
 * which gives the same bits, as nothing has changed since. Each sample of the step goes forward alone, without
 * dropout. */
#include "trainer/blame.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "trainer/keep/json.h"
#include "trainer/train.h"

static json_t *bad_weights(struct training *t)
{
    const struct params *params = model_table(t->engine.model);
    const size_t bytes = params->size * sizeof(float);
    const float *flat = t->engine.ops->map(t->engine.ops->device, model_params(t->engine.model), bytes, MAP_READ);
    json_t *names = json_array();
    for (size_t i = 0; i < params->count; i++) {
        const struct param *param = &params->items[i];
        bool finite = true;
        for (size_t j = 0; j < param->count; j++)
            finite &= isfinite(flat[param->offset + j]) != 0;
        if (!finite)
            json_array_append_new(names, json_string(param->name));
    }
    t->engine.ops->unmap(t->engine.ops->device, model_params(t->engine.model), (void *)flat, bytes, MAP_READ);
    return names;
}

/* The samples of the step that came to no number. */
static struct loader_options samples_of(const struct training *t)
{
    struct loader_options options = training_samples(t);
    options.count = options.batch;
    return options;
}

static int gradients_again(struct training *t, struct error *err)
{
    const struct micro_batch *micro;
    const struct loader_options options = samples_of(t);
    struct loader *loader = loader_open(&options);
    int result;
    while ((result = loader_next(loader, &micro, err)) > 0)
        engine_pass(&t->engine, micro, t->state.step + 1, training_loss_scale(t));
    loader_close(loader);
    return result;
}

static json_t *bad_gradients(struct training *t)
{
    const struct ops *ops = t->engine.ops;
    const struct params *params = model_table(t->engine.model);
    const size_t bytes = params->chunk_count * sizeof(double);
    struct error ignored = {0};
    json_t *names = json_array();
    int32_t last = -1;
    if (gradients_again(t, &ignored) < 0)
        return names;
    ops->squares(ops->device, &t->engine.work, model_gradients(t->engine.model));
    double *squares = ops->map(ops->device, t->engine.work.squares, bytes, MAP_READ);
    for (size_t i = params->chunk_count; i-- > 0;) {
        const int32_t tensor = params->chunks[i].tensor;
        if (isfinite(squares[i]) || tensor == last)
            continue;
        json_array_append_new(names, json_string(params->items[tensor].name));
        last = tensor;
    }
    ops->unmap(ops->device, t->engine.work.squares, squares, bytes, MAP_READ);
    return names;
}

/* [{"sample": index in the dataset, "loss": number or null}] of the step; *bad counts the nulls. */
static int weigh_samples(struct training *t, json_t *samples, uint64_t *bad, struct error *err)
{
    const struct micro_batch *micro;
    struct loader_options options = samples_of(t);
    options.batch = 1;
    struct loader *loader = loader_open(&options);
    int result;
    *bad = 0;
    for (uint64_t k = options.first; (result = loader_next(loader, &micro, err)) > 0; k++) {
        struct model_metrics metrics = {0};
        model_evaluate(t->engine.model, &micro->batch, &metrics);
        const double loss = evaluation_of(&metrics, t->setup.recipe.config.next_sentence).loss;
        json_array_append_new(samples, json_pack("{s:I, s:o}", "sample", (json_int_t)loader_index(&options, k), "loss",
                                                 isfinite(loss) ? json_real(loss) : json_null()));
        *bad += isfinite(loss) ? 0 : 1;
    }
    loader_close(loader);
    return result;
}

/* "samples 3, 17 and 4 more": those whose loss is no number, or where there are none all. */
static void add_samples(const json_t *samples, uint64_t bad, struct buf *out)
{
    const uint64_t count = bad > 0 ? bad : json_array_size(samples);
    uint64_t told = 0;
    size_t i;
    const json_t *sample;
    buf_add_text(out, bad == 0 ? "; no sample of it gives that alone: " : count == 1 ? "; sample " : "; samples ");
    json_array_foreach(samples, i, sample)
    {
        if (told == 8 || (bad > 0 && !json_is_null(json_object_get(sample, "loss"))))
            continue;
        buf_addf(out, "%s%" JSON_INTEGER_FORMAT, told++ > 0 ? ", " : "",
                 json_integer_value(json_object_get(sample, "sample")));
    }
    if (count > told)
        buf_addf(out, " and %" PRIu64 " more", count - told);
}

static void add_tensors(const json_t *names, const char *what, struct buf *out)
{
    buf_addf(out, "; %s: %s", what, json_string_value(json_array_get(names, 0)));
    if (json_array_size(names) > 1)
        buf_addf(out, " and %zu more", json_array_size(names) - 1);
}

static json_t *real_or_text(double value)
{
    return isfinite(value) ? json_real(value) : json_string(isnan(value) ? "nan" : "inf");
}

int blame(struct training *t, const struct step_facts *facts, struct error *err)
{
    struct error ignored = {0};
    struct buf text = {0};
    uint64_t bad = 0;
    json_t *weights = bad_weights(t), *gradients = bad_gradients(t), *samples = json_array();
    const bool weighed = weigh_samples(t, samples, &bad, &ignored) == 0;
    buf_addf(&text, "step %" PRIu64 ": the %s is %s", t->state.step + 1,
             isfinite(facts->loss) ? "gradient's norm" : "loss",
             isnan(facts->loss) || isnan(facts->norm) ? "not a number" : "infinite");
    if (json_array_size(weights) > 0)
        add_tensors(weights, "weights that are not finite", &text);
    else if (json_array_size(gradients) > 0)
        add_tensors(gradients, "gradients that are not finite, from the loss on", &text);
    if (weighed)
        add_samples(samples, bad, &text);
    json_t *all = json_pack("{s:I, s:o, s:o, s:f, s:o, s:o, s:o}", "step", (json_int_t)t->state.step + 1, "loss",
                            real_or_text(facts->loss), "grad_norm", real_or_text(facts->norm), "loss_scale",
                            facts->loss_scale, "weights", weights, "gradients", gradients, "samples", samples);
    char *path = path_join(t->run.directory, BLAME_NAME);
    if (json_file_write(path, all, &ignored) == 0)
        buf_addf(&text, " (all in %s)", BLAME_NAME);
    fail_at(err, ERR_NUMERIC, t->run.directory, ERROR_NO_OFFSET, "%.500s", buf_text(&text));
    if (t->saved_step == 0)
        hint(err, "nothing was changed by this step; try a lower --lr, a longer --warmup, or --precision fp32");
    else
        hint(err,
             "nothing was changed by this step, the checkpoint of step %" PRIu64
             " is intact; try a lower --lr or --precision fp32, with --resume %.200s",
             t->saved_step, t->run.directory);
    mem_free(path);
    json_decref(all);
    buf_release(&text);
    return -1;
}

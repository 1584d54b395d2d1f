/* A step that is not finite comes in; an error and a file that name its cause go out.
 *
 * Weights that are not finite come first: all else follows from them. Then the gradients, the last tensor of the table
 * first, since the backward pass meets it first: the device may be a step further by now, so they are worked out again,
 * which gives the same bits, as nothing has changed since. Each sample of the step goes forward alone, without
 * dropout. */
#include "trainer/blame.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "trainer/evaluate.h"
#include "trainer/keep/json.h"

static json_t *bad_weights(struct engine *engine)
{
    const struct params *params = model_table(engine->model);
    const size_t bytes = params->size * sizeof(float);
    const float *flat = engine->ops->map(engine->ops->device, model_params(engine->model), bytes, MAP_READ);
    json_t *names = json_array();
    for (size_t i = 0; i < params->count; i++) {
        const struct param *param = &params->items[i];
        bool finite = true;
        for (size_t j = 0; j < param->count; j++)
            finite &= isfinite(flat[param->offset + j]) != 0;
        if (!finite)
            json_array_append_new(names, json_string(param->name));
    }
    engine->ops->unmap(engine->ops->device, model_params(engine->model), (void *)flat, bytes, MAP_READ);
    return names;
}

static int gradients_again(struct engine *engine, const struct loader_options *samples, const struct step_facts *facts,
                           struct error *err)
{
    const struct micro_batch *micro;
    struct loader *loader = loader_open(samples);
    int result;
    while ((result = loader_next(loader, &micro, err)) > 0)
        engine_pass(engine, micro, facts->number, facts->loss_scale);
    loader_close(loader);
    return result;
}

static json_t *bad_gradients(struct engine *engine, const struct loader_options *samples,
                             const struct step_facts *facts)
{
    const struct ops *ops = engine->ops;
    const struct params *params = model_table(engine->model);
    const size_t bytes = params->chunk_count * sizeof(double);
    struct error ignored = {0};
    json_t *names = json_array();
    int32_t last = -1;
    if (gradients_again(engine, samples, facts, &ignored) < 0)
        return names;
    CALL(ops, squares, .work = &engine->work, .range = all_chunks(&engine->work),
         .values = model_gradients(engine->model));
    double *squares = ops->map(ops->device, engine->work.squares, bytes, MAP_READ);
    for (size_t i = params->chunk_count; i-- > 0;) {
        const int32_t tensor = params->chunks[i].tensor;
        if (isfinite(squares[i]) || tensor == last)
            continue;
        json_array_append_new(names, json_string(params->items[tensor].name));
        last = tensor;
    }
    ops->unmap(ops->device, engine->work.squares, squares, bytes, MAP_READ);
    return names;
}

/* [{"sample": its number in the files, "loss": number or null}] of the step; *bad counts the nulls. */
static int weigh_samples(struct engine *engine, const struct loader_options *samples, json_t *weighed, uint64_t *bad,
                         struct error *err)
{
    const struct micro_batch *micro;
    const struct source *source = samples->source;
    struct loader_options options = *samples;
    options.batch = 1;
    struct loader *loader = loader_open(&options);
    int result;
    *bad = 0;
    for (uint64_t k = options.first; (result = loader_next(loader, &micro, err)) > 0; k++) {
        struct model_metrics metrics = {0};
        model_evaluate(engine->model, &micro->batch, &metrics);
        const double loss = evaluation_of(engine->task, &metrics).loss;
        json_array_append_new(weighed, json_pack("{s:I, s:o}", "sample", (json_int_t)source->number(source->context, k),
                                                 "loss", isfinite(loss) ? json_real(loss) : json_null()));
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

/* The error that says it, and where to go on from. */
static int fail_not_finite(const char *text, const char *directory, uint64_t saved, struct error *err)
{
    if (directory)
        fail_at(err, ERR_NUMERIC, directory, ERROR_NO_OFFSET, "%.500s", text);
    else
        fail(err, ERR_NUMERIC, "%.500s", text);
    if (!directory || saved == 0)
        return hint(err, "nothing was changed by this step; try a lower --lr, a longer --warmup, or --precision fp32");
    return hint(err,
                "nothing was changed by this step, the checkpoint of step %" PRIu64
                " is intact; try a lower --lr or --precision fp32, with --resume %.200s",
                saved, directory);
}

int blame(struct engine *engine, const struct loader_options *samples, const struct step_facts *facts,
          const char *directory, uint64_t saved, struct error *err)
{
    struct error ignored = {0};
    struct buf text = {0};
    uint64_t bad = 0;
    json_t *weights = bad_weights(engine), *gradients = bad_gradients(engine, samples, facts), *each = json_array();
    const bool weighed = weigh_samples(engine, samples, each, &bad, &ignored) == 0;
    buf_addf(&text, "step %" PRIu64 ": the %s is %s", facts->number,
             isfinite(facts->means.loss) ? "gradient's norm" : "loss",
             isnan(facts->means.loss) || isnan(facts->norm) ? "not a number" : "infinite");
    if (json_array_size(weights) > 0)
        add_tensors(weights, "weights that are not finite", &text);
    else if (json_array_size(gradients) > 0)
        add_tensors(gradients, "gradients that are not finite, from the loss on", &text);
    if (weighed)
        add_samples(each, bad, &text);
    json_t *all = json_pack("{s:I, s:o, s:o, s:f, s:o, s:o, s:o}", "step", (json_int_t)facts->number, "loss",
                            real_or_text(facts->means.loss), "grad_norm", real_or_text(facts->norm), "loss_scale",
                            facts->loss_scale, "weights", weights, "gradients", gradients, "samples", each);
    char *path = directory ? path_join(directory, BLAME_NAME) : NULL;
    if (path && json_file_write(path, all, &ignored) == 0)
        buf_addf(&text, " (all in %s)", BLAME_NAME);
    fail_not_finite(buf_text(&text), directory, saved, err);
    mem_free(path);
    json_decref(all);
    buf_release(&text);
    return -1;
}

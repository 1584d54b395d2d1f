/* Checks weights first, because non-finite weights explain everything else, then gradients, from the last tensor to the
 * first, the order of the backward pass. The device may already hold the next step's gradients, so they are computed
 * again; no update came in between, so the bits are the same. Finally each sample of the step goes through a forward
 * pass alone, without dropout. */
#include "trainer/run/nonfinite.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/output.h"
#include "base/json.h"

static json_t *bad_weights(struct engine *engine)
{
    const struct params *params = model_table(engine->model);
    const struct ops *ops = engine->ops;
    const size_t bytes = params->size * ops->storage_size;
    void *flat = ops->map(ops->device, model_weights(engine->model), bytes, MAP_READ);
    json_t *names = json_array();
    for (size_t i = 0; i < params->count; i++) {
        const struct param *param = &params->items[i];
        bool finite = true;
        for (size_t j = 0; j < param->count; j++)
            finite &= isfinite(precision_load(ops->precision, flat, param->offset + j)) != 0;
        if (!finite)
            json_array_append_new(names, json_string(param->name));
    }
    ops->unmap(ops->device, model_weights(engine->model), flat, bytes, MAP_READ);
    return names;
}

/* Sets bad[i] for each chunk of the range with a gradient that is not finite. `gradients` are those of the whole step
 * or, with --zero 2, of one pass and one group. gradients[0] is element `from` of flat memory. */
static void mark_bad(struct engine *engine, const void *gradients, size_t from, struct chunk_range chunks, bool *bad)
{
    const struct ops *ops = engine->ops;
    const size_t bytes = engine->work.chunk_count * sizeof(double);
    CALL(ops, squares, .work = &engine->work, .range = chunks, .values = gradients, .from = from);
    double *squares = ops->map(ops->device, engine->work.squares, bytes, MAP_READ);
    for (size_t i = chunks.from; i < chunks.to; i++)
        bad[i] |= !isfinite(squares[i]);
    ops->unmap(ops->device, engine->work.squares, squares, bytes, MAP_READ);
}

struct bad_gradients {
    struct engine *engine;
    bool *bad; /* [chunk_count] */
};

static void mark_gradients(void *context, const void *values, size_t from, struct chunk_range chunks)
{
    const struct bad_gradients *observer = context;
    mark_bad(observer->engine, values, from, chunks, observer->bad);
}

static int gradients_again(struct engine *engine, const struct loader_options *samples, const struct step_facts *facts,
                           bool *bad, struct error *err)
{
    const struct micro_batch *micro;
    const struct gradient_observer observer = {mark_gradients, &(struct bad_gradients){engine, bad}};
    if (samples->share_from == samples->share_to)
        return 0;
    struct loader *loader = loader_open(samples);
    int result;
    engine_begin(engine, facts->number, facts->counts, facts->loss_scale);
    while ((result = loader_next(loader, &micro, err)) > 0) /* not engine_pass, which would start sums over processes */
        model_forward_backward(engine->model, &micro->batch,
                               exchange_pass_alone(engine->exchange, &micro->batch, &observer), NULL);
    loader_close(loader);
    if (model_gradients(engine->model))
        mark_bad(engine, model_gradients(engine->model), 0, all_chunks(&engine->work), bad);
    return result;
}

static json_t *bad_gradients(struct engine *engine, const struct loader_options *samples,
                             const struct step_facts *facts)
{
    const struct params *params = model_table(engine->model);
    struct error ignored = {0};
    json_t *names = json_array();
    int32_t last = -1;
    SCOPED(mem_free_at) bool *bad = mem_clear(params->chunk_count, sizeof *bad);
    const bool known = gradients_again(engine, samples, facts, bad, &ignored) == 0;
    for (size_t i = params->chunk_count; known && i-- > 0;) {
        const int32_t tensor = params->chunks[i].tensor;
        if (!bad[i] || tensor == last)
            continue;
        json_array_append_new(names, json_string(params->items[tensor].name));
        last = tensor;
    }
    return names;
}

/* Adds [{"sample": its number in the files, "loss": number or null}] for the samples of the step; for a mixture also
 * "dataset", from 1 in the order of --shards. */
static int weigh_samples(struct engine *engine, const struct loader_options *samples, json_t *weighed,
                         struct error *err)
{
    const struct micro_batch *micro;
    const struct source *source = samples->source;
    struct loader_options options = *samples;
    if (samples->share_from == samples->share_to)
        return 0;
    options.first += loader_place(samples, samples->share_from);
    options.count = loader_place(samples, samples->share_to) - loader_place(samples, samples->share_from);
    options.batch = 1;
    options.plan = (struct batch_plan){0};
    options.share_from = options.share_to = 0;
    struct loader *loader = loader_open(&options);
    int result;
    for (uint64_t k = options.first; (result = loader_next(loader, &micro, err)) > 0; k++) {
        struct model_metrics metrics = {0};
        model_evaluate(engine->model, &micro->batch, &metrics);
        const double loss = evaluation_of(engine->task, &metrics).loss;
        json_t *sample = json_pack("{s:I, s:o}", "sample", (json_int_t)source->number(source->context, k), "loss",
                                   isfinite(loss) ? json_real(loss) : json_null());
        if (source->part)
            json_object_set_new(sample, "dataset", json_integer(source->part(source->context, k) + 1));
        json_array_append_new(weighed, sample);
    }
    loader_close(loader);
    return result;
}

static bool has_text(const json_t *texts, const char *text)
{
    size_t i;
    const json_t *one;
    json_array_foreach(texts, i, one)
    {
        if (strcmp(json_string_value(one), text) == 0)
            return true;
    }
    return false;
}

/* Merges the findings of all processes: samples in the order of the batch, and every tensor that any process found. */
static int gather(struct process_group *processes, json_t *gradients, json_t *samples, struct error *err)
{
    SCOPED(buf_release) struct buf all = {0};
    json_t *mine = json_pack("[O, O]", gradients, samples);
    SCOPED(mem_free_at) char *text = json_dumps(mine, JSON_COMPACT);
    json_decref(mine);
    const int result = process_group_gather_texts(processes, str_of(text), &all, err);
    json_array_clear(gradients);
    json_array_clear(samples);
    const char *at = buf_text(&all);
    for (uint32_t r = 0; result == 0 && r < processes->size; r++) {
        json_t *one = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL), *name;
        size_t i;
        json_array_extend(samples, json_array_get(one, 1));
        json_array_foreach(json_array_get(one, 0), i, name)
        {
            if (!has_text(gradients, json_string_value(name)))
                json_array_append(gradients, name);
        }
        json_decref(one);
        at += strlen(at) + 1;
    }
    return result;
}

static uint64_t bad_of(const json_t *samples)
{
    uint64_t bad = 0;
    size_t i;
    const json_t *sample;
    json_array_foreach(samples, i, sample) bad += json_is_null(json_object_get(sample, "loss"));
    return bad;
}

/* "samples 3, 17 and 4 more": those whose loss is not finite, or all if there are none. */
static void add_samples(const json_t *samples, uint64_t bad, struct buf *out)
{
    const uint64_t count = bad > 0 ? bad : json_array_size(samples);
    uint64_t told = 0;
    size_t i;
    const json_t *sample;
    buf_add_text(out, bad == 0     ? "; each of its samples alone has a finite loss: "
                      : count == 1 ? "; sample "
                                   : "; samples ");
    json_array_foreach(samples, i, sample)
    {
        if (told == 8 || (bad > 0 && !json_is_null(json_object_get(sample, "loss"))))
            continue;
        buf_addf(out, "%s%" JSON_INTEGER_FORMAT, told++ > 0 ? ", " : "",
                 json_integer_value(json_object_get(sample, "sample")));
        if (json_object_get(sample, "dataset"))
            buf_addf(out, " of dataset %" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(sample, "dataset")));
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

/* What may help: "a lower --lr, a longer --warmup or --precision fp32", without what is set already. */
static void add_remedies(const struct engine *engine, struct buf *out)
{
    const struct schedule_type *type = &schedule_types[engine->recipe->schedule.kind];
    const enum precision precision = engine->ops->precision;
    buf_add_text(out, type->own_rate ? "a lower rate in scheduler.params" : "a lower --lr");
    const bool narrow = precision == PRECISION_FP16 || precision == PRECISION_BF16;
    if (type->ours)
        buf_add_text(out, narrow ? ", a longer --warmup" : " or a longer --warmup");
    if (narrow)
        buf_add_text(out, " or --precision fp32");
}

/* Makes the error, with a hint where to continue from. */
static int fail_not_finite(const struct engine *engine, const char *text, const char *directory, uint64_t saved,
                           struct error *err)
{
    SCOPED(buf_release) struct buf remedies = {0};
    add_remedies(engine, &remedies);
    if (directory)
        fail_at(err, ERR_NUMERIC, directory, ERROR_NO_OFFSET, "%.500s", text);
    else
        fail(err, ERR_NUMERIC, "%.500s", text);
    SCOPED(mem_free_at) char *resume = directory ? command_text("--resume %s", directory) : NULL;
    if (!directory || saved == 0)
        hint(err, "the step changed nothing; try %s", buf_text(&remedies));
    else
        hint(err, "the step changed nothing, and the checkpoint of step %" PRIu64 " is intact; try %s, with %s", saved,
             buf_text(&remedies), resume);
    return -1;
}

int diagnose_nonfinite(struct engine *engine, struct process_group *processes, const struct loader_options *samples,
                       const struct step_facts *facts, const char *directory, uint64_t saved, struct error *err)
{
    struct error ignored = {0};
    SCOPED(buf_release) struct buf text = {0};
    json_t *weights = bad_weights(engine), *gradients = bad_gradients(engine, samples, facts), *each = json_array();
    const bool weighed = weigh_samples(engine, samples, each, &ignored) == 0;
    struct error lost;
    const int gathered = gather(processes, gradients, each, &lost);
    buf_addf(&text, "step %" PRIu64 ": the %s is %s", facts->number,
             isfinite(facts->means.loss) ? "gradient's norm" : "loss",
             isnan(facts->means.loss) || isnan(facts->norm) ? "not a number" : "infinite");
    if (json_array_size(weights) > 0)
        add_tensors(weights, "weights that are not finite", &text);
    else if (json_array_size(gradients) > 0)
        add_tensors(gradients, "gradients that are not finite, from the loss on", &text);
    if (weighed)
        add_samples(each, bad_of(each), &text);
    json_auto_t *all = json_pack("{s:I, s:o, s:o, s:f, s:o, s:o, s:o}", "step", (json_int_t)facts->number, "loss",
                                 real_or_text(facts->means.loss), "grad_norm", real_or_text(facts->norm), "loss_scale",
                                 facts->loss_scale, "weights", weights, "gradients", gradients, "samples", each);
    SCOPED(mem_free_at) char *path = directory ? path_join(directory, NONFINITE_NAME) : NULL;
    if (path && json_file_write(path, all, &ignored) == 0)
        buf_addf(&text, " (all in %s)", NONFINITE_NAME);
    fail_not_finite(engine, buf_text(&text), directory, saved, err);
    if (gathered < 0)
        *err = lost;
    return -1;
}

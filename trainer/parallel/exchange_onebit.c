/* Until second moments are frozen this is all_reduce, or alone if there is nothing to sum. */
#include "trainer/parallel/exchange_kinds.h"

static void bytes(const struct exchange_options *options, struct exchange_bytes *bytes)
{
    sum_bytes(options, bytes);
    if (options->ops->memory > 0)
        bytes->gradients += onebit_bytes_max(options->params);
}

static void join(struct gradient_exchange *x, const struct gradient_sum_options *sums)
{
    if (x->sums)
        sum_join(x, sums);
}

static void begin(struct gradient_exchange *x, uint64_t number, double loss_scale)
{
    if (!x->onebit)
        sum_begin(x, number, loss_scale);
}

static const struct gradient_listener *listener(struct gradient_exchange *x, const struct batch *batch, bool last)
{
    return x->onebit ? NULL : sum_listener(x, batch, last);
}

static void pass(struct gradient_exchange *x)
{
    if (!x->onebit)
        sum_pass(x);
}

static int finish(struct gradient_exchange *x, int64_t *refused, struct error *err)
{
    return x->onebit ? 0 : sum_finish(x, refused, err);
}

/* ---- second moments ---- */

/* |v|_1, added in a fixed order, so that all processes get the same. */
static double norm_of_second(const struct gradient_exchange *x, void *moments)
{
    const struct ops *ops = x->options.ops;
    const size_t count = x->options.params->size, bytes = count * sizeof(float);
    float *second = ops->map(ops->device, moments, bytes, MAP_READ);
    double norm = 0;
    for (size_t i = 0; i < count; i++)
        norm += (double)second[i];
    ops->unmap(ops->device, moments, second, bytes, MAP_READ);
    return norm;
}

static bool is_skipped(const struct ops *ops, const struct update_work *work)
{
    const size_t bytes = sizeof *work->record;
    struct step_record *record = ops->map(ops->device, work->record, bytes, MAP_READ);
    const bool skipped = record->skipped;
    ops->unmap(ops->device, work->record, record, bytes, MAP_READ);
    return skipped;
}

static void open_onebit(struct gradient_exchange *x)
{
    if (x->freeze.update > 0 && !x->onebit)
        x->onebit = onebit_open(x->options.params, x->options.recipe->optimizer.group, x->options.ops, x->comm);
}

/* After an update: decides whether second moments freeze, unless it was skipped. */
static void watch_freeze(struct gradient_exchange *x, const struct exchange_update *how)
{
    const struct recipe *recipe = x->options.recipe;
    const uint64_t update = how->update->number;
    if (x->onebit || is_skipped(x->options.ops, how->work))
        return;
    const double norm =
        freeze_looks(&recipe->optimizer, &x->freeze, update) ? norm_of_second(x, how->memory->second) : 0;
    freeze_after(&x->freeze, &recipe->optimizer, &recipe->schedule, update, norm);
    open_onebit(x);
}

static int update(struct gradient_exchange *x, const struct exchange_update *how, struct error *err)
{
    TRY(x->onebit ? onebit_update(x->onebit, how->optimizer, how->memory, how->work, how->update, err)
                  : whole_update(x, how, err));
    watch_freeze(x, how);
    return 0;
}

static void freeze(struct gradient_exchange *x, const struct freeze_state *state, uint64_t updates)
{
    const struct optimizer *optimizer = &x->options.recipe->optimizer;
    x->freeze = *state;
    if (x->freeze.update == 0 && optimizer->freeze_step > 0 && (double)updates >= optimizer->freeze_step)
        x->freeze.update = updates; /* --resume continues a run of another optimizer */
    open_onebit(x);
}

/* ---- checkpoints ---- */

static int serve(struct gradient_exchange *x, struct error *err)
{
    return x->onebit ? onebit_serve_errors(x->onebit, err) : 0;
}

static int end_serving(struct gradient_exchange *x, struct error *err)
{
    return x->onebit ? onebit_end_errors(x->onebit, err) : 0;
}

const struct exchange_kind exchange_onebit = {
    .bytes = bytes,
    .join = join,
    .begin = begin,
    .listener = listener,
    .pass = pass,
    .finish = finish,
    .update = update,
    .freeze = freeze,
    .serve = serve,
    .end_serving = end_serving,
};

/* zero1 and zero2: each process gets the sums of its own slices and updates those. */
#include "trainer/parallel/exchange_kinds.h"

static void open_zero(struct gradient_exchange *x)
{
    x->zero = zero_open(x->model, x->options.partition, x->options.rank);
}

static void join_zero(struct gradient_exchange *x, const struct gradient_sum_options *sums)
{
    zero_join(x->zero, sums->comm);
    if (x->kind->every_pass)
        x->zero2 = zero2_open(sums);
    else
        x->sum = gradient_sum_open(sums);
}

static int update_slices(struct gradient_exchange *x, const struct exchange_update *how, struct error *err)
{
    return zero_update(x->zero, how->optimizer, x->zero2 ? zero2_sums(x->zero2) : NULL, how->work, how->update, err);
}

static int serve(struct gradient_exchange *x, struct error *err)
{
    return zero_serve(x->zero, err);
}

static int end_serving(struct gradient_exchange *x, struct error *err)
{
    return zero_end(x->zero, err);
}

/* ---- stage 1: each process keeps all gradients, and gets the sums of its own slices ---- */

static void bytes_of_sums(const struct exchange_options *options, struct exchange_bytes *bytes)
{
    bytes->moments += zero_bytes(options->partition, options->rank, options->ops);
    sum_bytes(options, bytes);
}

const struct exchange_kind exchange_zero1 = {
    .bytes = bytes_of_sums,
    .open = open_zero,
    .join = join_zero,
    .begin = sum_begin,
    .listener = sum_listener,
    .pass = sum_pass,
    .finish = sum_finish,
    .update = update_slices,
    .serve = serve,
    .end_serving = end_serving,
};

/* ---- stage 2: each process keeps the gradients of its own slices ---- */

static void bytes_of_zero2(const struct exchange_options *options, struct exchange_bytes *bytes)
{
    const struct recipe *recipe = options->recipe;
    bytes->moments += zero_bytes(options->partition, options->rank, options->ops);
    bytes->gradients += zero2_bytes(options->params, options->partition, options->rank, recipe->part > 0,
                                    recipe->overlap, options->ops->memory > 0 ? 0 : options->tokens);
}

static void begin_zero2(struct gradient_exchange *x, uint64_t number, double loss_scale)
{
    zero2_begin(x->zero2, number, loss_scale);
}

static const struct gradient_listener *listen_zero2(struct gradient_exchange *x, const struct batch *batch, bool last)
{
    return zero2_pass(x->zero2, batch, last);
}

static int finish_zero2(struct gradient_exchange *x, int64_t *refused, struct error *err)
{
    return zero2_finish(x->zero2, refused, err);
}

const struct exchange_kind exchange_zero2 = {
    .every_pass = true,
    .bytes = bytes_of_zero2,
    .open = open_zero,
    .join = join_zero,
    .begin = begin_zero2,
    .listener = listen_zero2,
    .finish = finish_zero2,
    .update = update_slices,
    .serve = serve,
    .end_serving = end_serving,
};

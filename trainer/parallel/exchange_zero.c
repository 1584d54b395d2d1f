/* zero1 and zero2: each process gets the sums of its own pieces and updates those. */
#include "trainer/parallel/exchange_kinds.h"

static void open_zero(struct gradient_exchange *x)
{
    x->zero = zero_open(x->model, x->options.pieces, x->options.rank);
}

static void join_zero(struct gradient_exchange *x, const struct gradient_sum_options *sums)
{
    zero_join(x->zero, sums->comm);
    if (x->kind->every_pass)
        x->own = gradient_pieces_open(sums);
    else
        x->sum = gradient_sum_open(sums);
}

static int update_pieces(struct gradient_exchange *x, const struct exchange_update *how, struct error *err)
{
    return zero_update(x->zero, how->optimizer, x->own ? gradient_pieces_sums(x->own) : NULL, how->work, how->update,
                       err);
}

static int serve(struct gradient_exchange *x, struct error *err)
{
    return zero_serve(x->zero, err);
}

static int end_serving(struct gradient_exchange *x, struct error *err)
{
    return zero_end(x->zero, err);
}

/* ---- stage 1: each process keeps all gradients, and gets the sums of its own pieces ---- */

static void bytes_of_sums(const struct exchange_options *options, struct exchange_bytes *bytes)
{
    bytes->moments += zero_bytes(options->pieces, options->rank, options->ops);
    sum_bytes(options, bytes);
}

const struct exchange_kind exchange_zero1 = {
    .name = "zero1",
    .bytes = bytes_of_sums,
    .open = open_zero,
    .join = join_zero,
    .begin = sum_begin,
    .listener = sum_listener,
    .pass = sum_pass,
    .finish = sum_finish,
    .update = update_pieces,
    .serve = serve,
    .end_serving = end_serving,
};

/* ---- stage 2: each process keeps the gradients of its own pieces ---- */

static void bytes_of_pieces(const struct exchange_options *options, struct exchange_bytes *bytes)
{
    const struct recipe *recipe = options->recipe;
    bytes->moments += zero_bytes(options->pieces, options->rank, options->ops);
    bytes->gradients += gradient_pieces_bytes(options->params, options->pieces, options->rank, recipe->part > 0,
                                              recipe->overlap, options->ops->memory > 0 ? 0 : options->tokens);
}

static void begin_pieces(struct gradient_exchange *x, uint64_t number, double loss_scale)
{
    gradient_pieces_begin(x->own, number, loss_scale);
}

static const struct gradient_listener *listen_pieces(struct gradient_exchange *x, const struct batch *batch, bool last)
{
    return gradient_pieces_pass(x->own, batch, last);
}

static int finish_pieces(struct gradient_exchange *x, int64_t *refused, struct error *err)
{
    return gradient_pieces_finish(x->own, refused, err);
}

const struct exchange_kind exchange_zero2 = {
    .name = "zero2",
    .every_pass = true,
    .bytes = bytes_of_pieces,
    .open = open_zero,
    .join = join_zero,
    .begin = begin_pieces,
    .listener = listen_pieces,
    .finish = finish_pieces,
    .update = update_pieces,
    .serve = serve,
    .end_serving = end_serving,
};

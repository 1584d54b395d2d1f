/* alone, whose gradients are the model's own, and all_reduce, which sums them over processes or parts. */
#include "trainer/parallel/exchange_kinds.h"

void sum_bytes(const struct exchange_options *options, struct exchange_bytes *bytes)
{
    bytes->gradients += gradient_sum_bytes(options->params, options->recipe->part > 0);
}

void sum_join(struct gradient_exchange *x, const struct gradient_sum_options *sums)
{
    x->sum = gradient_sum_open(sums);
}

void sum_begin(struct gradient_exchange *x, uint64_t number, double loss_scale)
{
    if (x->sum)
        gradient_sum_begin(x->sum, number, loss_scale);
}

const struct gradient_listener *sum_listener(struct gradient_exchange *x, const struct batch *batch, bool last)
{
    return x->sum ? gradient_sum_listener(x->sum, batch, last) : NULL;
}

void sum_pass(struct gradient_exchange *x)
{
    if (x->sum)
        gradient_sum_pass(x->sum);
}

int sum_finish(struct gradient_exchange *x, int64_t *refused, struct error *err)
{
    return x->sum ? gradient_sum_finish(x->sum, refused, err) : 0;
}

int whole_update(struct gradient_exchange *x, const struct exchange_update *how, struct error *err)
{
    (void)err;
    optimizer_update(how->optimizer, x->options.ops, how->memory, how->work, how->update);
    return 0;
}

const struct exchange_kind exchange_alone = {.update = whole_update};

const struct exchange_kind exchange_all_reduce = {
    .bytes = sum_bytes,
    .join = sum_join,
    .begin = sum_begin,
    .listener = sum_listener,
    .pass = sum_pass,
    .finish = sum_finish,
    .update = whole_update,
};

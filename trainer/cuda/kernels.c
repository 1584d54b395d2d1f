/* The ops that are not products: each passes its arguments to its kernel. All memory is the device's; nothing waits. */
#include "trainer/cuda/device.h"
#include "trainer/optim/onebit.h"

void clear(struct device *device, const struct clear_args *args)
{
    CHECK(cudaMemsetAsync(args->memory, 0, args->bytes, device->stream));
}

/* A conversion of the same memory replaces the earlier one. When all places are taken, the earlier conversions stay,
 * because a run's products must not change. */
static void note_conversion(struct device *device, const char *real, char *stored, size_t count)
{
    struct conversion *place = NULL;
    for (int i = CONVERSIONS - 1; i >= 0; i--)
        if (device->conversions[i].count == 0)
            place = &device->conversions[i];
    for (int i = 0; i < CONVERSIONS; i++)
        if (device->conversions[i].real == real)
            place = &device->conversions[i];
    if (place)
        *place = (struct conversion){real, stored, count};
}

void convert(struct device *device, const struct convert_args *args)
{
    KERNEL(convert, args->count);
    note_conversion(device, args->x, args->y, args->count);
}

void embed(struct device *device, const struct embed_args *args)
{
    KERNEL(embed, args->batch, args->hidden);
}

void embed_backward(struct device *device, const struct embed_backward_args *args)
{
    KERNEL(embed_backward, args->batch, args->hidden);
}

void dropout(struct device *device, const struct dropout_args *args)
{
    if (args->dropout->threshold > 0 || args->y != args->x)
        KERNEL(dropout, args->batch, args->rows, args->hidden);
}

void norm(struct device *device, const struct norm_args *args)
{
    KERNEL(norm, args->rows, args->hidden, args->batch);
}

void norm_backward(struct device *device, const struct norm_backward_args *args)
{
    KERNEL(norm_backward, args->rows, args->hidden, args->batch);
}

void attention(struct device *device, const struct attention_args *args)
{
    KERNEL(attention, args->batch, args->queries->tokens, args->shape);
}

void attention_backward(struct device *device, const struct attention_backward_args *args)
{
    KERNEL(attention_backward, args->batch, args->queries->tokens, args->shape);
}

void gather(struct device *device, const struct gather_args *args)
{
    KERNEL(gather, args->rows, args->hidden);
}

void scatter(struct device *device, const struct scatter_args *args)
{
    KERNEL(scatter, args->rows, args->hidden);
}

void tanh_rows(struct device *device, const struct tanh_rows_args *args)
{
    KERNEL(tanh_rows, args->rows, args->columns);
}

void tanh_backward(struct device *device, const struct tanh_backward_args *args)
{
    KERNEL(tanh_backward, args->rows, args->columns);
}

void gelu_backward(struct device *device, const struct gelu_backward_args *args)
{
    KERNEL(gelu_backward, args->rows, args->columns);
}

void glu(struct device *device, const struct glu_args *args)
{
    KERNEL(glu, args->rows, args->columns);
}

void glu_backward(struct device *device, const struct glu_backward_args *args)
{
    KERNEL(glu_backward, args->rows, args->columns);
}

void rotate(struct device *device, const struct rotate_args *args)
{
    KERNEL(rotate, args->batch, args->heads, args->head_size);
}

void sequence_mean(struct device *device, const struct sequence_mean_args *args)
{
    KERNEL(sequence_mean, args->rows, args->hidden);
}

void sequence_mean_backward(struct device *device, const struct sequence_mean_backward_args *args)
{
    KERNEL(sequence_mean_backward, args->rows, args->hidden);
}

void loss(struct device *device, const struct loss_args *args)
{
    KERNEL(loss, args->rows, args->columns, args->vocabulary);
}

void square_loss(struct device *device, const struct square_loss_args *args)
{
    KERNEL(square_loss, args->rows);
}

void bits_loss(struct device *device, const struct bits_loss_args *args)
{
    KERNEL(bits_loss, args->rows, args->columns);
}

void span_loss(struct device *device, const struct span_loss_args *args)
{
    KERNEL(span_loss, args->batch);
}

void squares(struct device *device, const struct squares_args *args)
{
    UPDATE_KERNEL(squares);
}

void factors(struct device *device, const struct factors_args *args)
{
    UPDATE_KERNEL(factors);
}

void adam(struct device *device, const struct adam_args *args)
{
    UPDATE_KERNEL(adam);
}

void moments(struct device *device, const struct moments_args *args)
{
    UPDATE_KERNEL(moments);
}

void shares(struct device *device, const struct shares_args *args)
{
    UPDATE_KERNEL(shares);
}

void apply(struct device *device, const struct apply_args *args)
{
    UPDATE_KERNEL(apply);
}

void momentum(struct device *device, const struct momentum_args *args)
{
    UPDATE_KERNEL(momentum);
}

void direction(struct device *device, const struct direction_args *args)
{
    KERNEL(direction, args->momentum.matrix->rows, args->momentum.matrix->columns);
}

void combine(struct device *device, const struct combine_args *args)
{
    KERNEL(combine, args->count);
}

void shift(struct device *device, const struct shift_args *args)
{
    KERNEL(shift, args->matrix->rows, args->matrix->columns);
}

static struct bits_operands bits_operands(const struct onebit_pass *pass)
{
    const struct onebit_update *u = pass->update;
    assert(!pass->layout->group);
    return (struct bits_operands){
        .chunks = pass->work->chunks,
        .at = pass->at,
        .params = u->params,
        .first = u->first,
        .second = u->second,
        .gradients = u->gradients,
        .factor = (float)u->gradient_factor,
        .beta = (float)u->beta1,
        .share = (float)(1 - u->beta1),
        .rate = (float)u->rate,
        .epsilon = (float)u->epsilon,
        .matrix_shrink = (float)u->rate * (float)u->weight_decay,
        .vector_shrink = (float)u->rate * (float)u->vector_decay,
    };
}

void compress(struct device *device, const struct compress_args *args)
{
    const struct bits_operands operands = bits_operands(&args->pass);
    QUEUE(compress,
          kernel_compress(device->stream, &operands, args->pass.layout->unit_count, args->errors, args->bits,
                          args->alphas),
          args->pass.work);
}

void serve(struct device *device, const struct serve_args *args)
{
    const struct onebit_layout *l = args->pass.layout;
    const uint32_t rank = args->rank;
    const struct bits_operands operands = bits_operands(&args->pass);
    const struct served_part part = {
        .first = l->first[rank],
        .count = l->first[rank + 1] - l->first[rank],
        .from = l->part[rank],
        .elements = l->part[rank + 1] - l->part[rank],
        .size = l->size,
    };
    QUEUE(serve, kernel_serve(device->stream, &operands, &part, args), args->pass.work);
}

void decompress(struct device *device, const struct decompress_args *args)
{
    const struct bits_operands operands = bits_operands(&args->pass);
    QUEUE(decompress,
          kernel_decompress(device->stream, &operands, args->pass.layout->unit_count, args->bits, args->sigmas),
          args->pass.work);
}

void fixed_add(struct device *device, const struct fixed_add_args *args)
{
    QUEUE(fixed_add, kernel_fixed_add(device->stream, args), args->count);
}

void fixed_take(struct device *device, const struct fixed_take_args *args)
{
    QUEUE(fixed_take, kernel_fixed_take(device->stream, args), args->count);
}

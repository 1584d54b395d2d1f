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

void dropout(struct device *device, const struct dropout_args *args)
{
    if (args->dropout->threshold > 0 || args->y != args->x)
        KERNEL(dropout, args->batch, args->rows, args->hidden);
}

/* The ops that only queue their kernel; the arguments after a name are its sizes, for messages. */
#define QUEUED(op, ...)                                                                                                \
    void op(struct device *device, const struct op##_args *args)                                                       \
    {                                                                                                                  \
        KERNEL(op, __VA_ARGS__);                                                                                       \
    }
#define QUEUED_UPDATE(op)                                                                                              \
    void op(struct device *device, const struct op##_args *args)                                                       \
    {                                                                                                                  \
        UPDATE_KERNEL(op);                                                                                             \
    }

QUEUED(embed, args->batch, args->hidden)
QUEUED(embed_backward, args->batch, args->hidden)
QUEUED(norm, args->rows, args->hidden, args->batch)
QUEUED(norm_backward, args->rows, args->hidden, args->batch)
QUEUED(attention, args->batch, args->queries->tokens, args->shape)
QUEUED(attention_backward, args->batch, args->queries->tokens, args->shape)
QUEUED(gather, args->rows, args->hidden)
QUEUED(scatter, args->rows, args->hidden)
QUEUED(tanh_rows, args->rows, args->columns)
QUEUED(tanh_backward, args->rows, args->columns)
QUEUED(gelu_backward, args->rows, args->columns)
QUEUED(glu, args->rows, args->columns)
QUEUED(glu_backward, args->rows, args->columns)
QUEUED(rotate, args->batch, args->heads, args->head_size)
QUEUED(sequence_mean, args->rows, args->hidden)
QUEUED(sequence_mean_backward, args->rows, args->hidden)
QUEUED(loss, args->rows, args->columns, args->vocabulary)
QUEUED(square_loss, args->rows)
QUEUED(bits_loss, args->rows, args->columns)
QUEUED(span_loss, args->batch)
QUEUED_UPDATE(squares)
QUEUED_UPDATE(factors)
QUEUED_UPDATE(adam)
QUEUED_UPDATE(moments)
QUEUED_UPDATE(shares)
QUEUED_UPDATE(apply)
QUEUED_UPDATE(momentum)
QUEUED(direction, args->momentum.matrix->rows, args->momentum.matrix->columns)
QUEUED(combine, args->count)
QUEUED(shift, args->matrix->rows, args->matrix->columns)

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

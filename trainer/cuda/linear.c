/* The products of a linear layer (ops_args.h), by the library. Our own kernels do what it cannot fuse, or replace a
 * product that it refuses. They always do erf-GELU, and in fp32, where results are compared to the last digits,
 * tanh-GELU and sums of bias gradients. */
#include "trainer/cuda/product.h"

/* Zeroes the rows from `live` on. */
static void clear_dead(struct device *device, void *y, struct rows rows, int32_t columns, size_t size)
{
    const size_t row = (size_t)columns * size;
    if (rows.total > rows.live)
        CHECK(cudaMemsetAsync((char *)y + (size_t)rows.live * row, 0, (size_t)(rows.total - rows.live) * row,
                              device->stream));
}

static bool run(struct device *device, enum product_kind kind, enum product_finish finish, int beta, struct rows rows,
                int32_t out, int32_t in, const struct product_operands *operands)
{
    return product_run(device->products, device->stream, kind, finish, beta, rows, out, in, operands);
}

/* A product without a finish, by the library or, where it refuses, by our own kernel. */
static void run_plain(struct device *device, enum product_kind kind, int beta, struct rows rows, int32_t out,
                      int32_t in, const struct product_operands *operands)
{
    if (!run(device, kind, FINISH_NONE, beta, rows, out, in, operands))
        kernel_product(device->stream, device->ops.precision, (int)kind, operands->d, operands->a, operands->b, beta,
                       rows.total, out, in);
}

/* A bias in storage: the rounded copy that a conversion left, or NULL where there is none. */
static void *rounded(const struct device *device, const void *b)
{
    const uintptr_t address = (uintptr_t)b;
    if (device->ops.precision == PRECISION_FP32)
        return (void *)b;
    for (int i = 0; i < CONVERSIONS; i++) {
        const struct conversion *c = &device->conversions[i];
        const uintptr_t real = (uintptr_t)c->real;
        if (address >= real && address < real + c->count * sizeof(float))
            return c->stored + (address - real) / sizeof(float) * device->ops.storage_size;
    }
    return NULL;
}

static void forward(struct device *device, const struct linear_args *args)
{
    const struct product_operands operands = {
        .d = args->y, .a = args->w, .b = args->x, .vector = args->b ? rounded(device, args->b) : NULL};
    const struct rows rows = args->rows;
    const int32_t out = args->out, in = args->in;
    if (operands.vector && run(device, PRODUCT_FORWARD, FINISH_BIAS, 0, rows, out, in, &operands))
        return;
    run_plain(device, PRODUCT_FORWARD, 0, rows, out, in, &operands);
    if (args->b)
        kernel_add_bias(device->stream, device->ops.precision, args->y, args->b, rows, out);
}

void linear(struct device *device, const struct linear_args *args)
{
    OP("linear", args->rows, args->out, args->in);
    forward(device, args);
    clear_dead(device, args->y, args->rows, args->out, device->ops.storage_size);
    op_queued(device->stream);
}

bool linear_fuses(enum precision precision, enum product_finish finish, enum gelu gelu)
{
    if (finish == FINISH_NONE || finish == FINISH_BIAS)
        return true;
    return precision != PRECISION_FP32 && (finish == FINISH_SUMS || gelu == GELU_TANH);
}

void linear_gelu(struct device *device, const struct linear_gelu_args *args)
{
    const struct rows rows = args->rows;
    const int32_t out = args->out, in = args->in;
    const void *b = args->b;
    void *pre = args->pre, *y = args->y, *vector = b ? rounded(device, b) : NULL;
    const struct product_operands operands = {.d = y, .a = args->w, .b = args->x, .vector = vector, .aux = pre};
    const enum product_finish finish = b ? FINISH_BIAS_GELU : FINISH_GELU;
    OP("linear_gelu", args->rows, args->out, args->in);
    if (linear_fuses(device->ops.precision, finish, args->gelu) && (!b || vector) &&
        run(device, PRODUCT_FORWARD, finish, 0, rows, out, in, &operands)) {
        clear_dead(device, pre, rows, out, device->ops.storage_size);
        clear_dead(device, y, rows, out, device->ops.storage_size);
    } else {
        forward(device, &(struct linear_args){
                            .y = pre, .x = args->x, .w = args->w, .b = b, .rows = rows, .out = out, .in = in});
        kernel_gelu(device->stream, device->ops.precision, y, pre, rows, out, args->gelu);
    }
    op_queued(device->stream);
}

void linear_backward_input(struct device *device, const struct linear_backward_input_args *args)
{
    const struct product_operands operands = {.d = args->dx, .a = args->w, .b = args->dy, .aux = (void *)args->pre};
    const struct rows rows = args->rows;
    const int32_t out = args->out, in = args->in;
    OP("linear_backward_input", args->rows, args->out, args->in);
    if (!(args->pre && !args->adds && linear_fuses(device->ops.precision, FINISH_SLOPE, args->gelu) &&
          run(device, PRODUCT_INPUT, FINISH_SLOPE, 0, rows, out, in, &operands))) {
        run_plain(device, PRODUCT_INPUT, args->adds, rows, out, in, &operands);
        if (args->pre)
            kernel_gelu_backward(
                device->stream, device->ops.precision,
                &(struct gelu_backward_args){
                    .dy = args->dx, .pre = args->pre, .rows = rows, .columns = in, .gelu = args->gelu});
    }
    op_queued(device->stream);
}

void linear_backward_weight(struct device *device, const struct linear_backward_weight_args *args)
{
    const struct product_operands operands = {.d = args->dw, .a = args->x, .b = args->dy, .vector = args->scratch};
    const struct rows rows = args->rows;
    const int32_t out = args->out, in = args->in;
    void *db = args->db;
    assert(args->columns == 0);
    OP("linear_backward_weight", args->rows, args->out, args->in);
    if (db && linear_fuses(device->ops.precision, FINISH_SUMS, GELU_TANH) &&
        run(device, PRODUCT_WEIGHT, FINISH_SUMS, 1, rows, out, in, &operands)) {
        kernel_add(device->stream, db, args->scratch, (size_t)out);
    } else {
        run_plain(device, PRODUCT_WEIGHT, 1, rows, out, in, &operands);
        if (db)
            kernel_column_sums(device->stream, device->ops.precision, db, args->dy, rows, out, args->scratch);
    }
    op_queued(device->stream);
}

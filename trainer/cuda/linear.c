/* The four products of a linear layer (ops.h) from the library's products. What it cannot fuse, or cannot do at all for
 * a shape, kernels of our own do behind or instead: erf-GELU always, tanh-GELU in fp32, where results are compared to
 * the last digits. */
#include "trainer/cuda/product.h"

/* Rows from `live` on become zero. */
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

/* A product that the library must do, or our own plain one does. */
static void run_plain(struct device *device, enum product_kind kind, int beta, struct rows rows, int32_t out,
                      int32_t in, const struct product_operands *operands)
{
    if (!run(device, kind, FINISH_NONE, beta, rows, out, in, operands))
        kernel_product(device->stream, device->ops.precision, (int)kind, operands->d, operands->a, operands->b, beta,
                       rows.total, out, in);
}

/* A bias in storage: the rounded copy that a conversion left, or NULL where it is part of none. */
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

static void forward(struct device *device, void *y, const void *x, const void *w, const void *b, struct rows rows,
                    int32_t out, int32_t in)
{
    const struct product_operands operands = {.d = y, .a = w, .b = x, .vector = b ? rounded(device, b) : NULL};
    if (operands.vector && run(device, PRODUCT_FORWARD, FINISH_BIAS, 0, rows, out, in, &operands))
        return;
    run_plain(device, PRODUCT_FORWARD, 0, rows, out, in, &operands);
    if (b)
        kernel_add_bias(device->stream, device->ops.precision, y, b, rows, out);
}

void linear(struct device *device, void *y, const void *x, const void *w, const void *b, struct rows rows, int32_t out,
            int32_t in)
{
    OP("linear", rows, out, in);
    forward(device, y, x, w, b, rows, out, in);
    clear_dead(device, y, rows, out, device->ops.storage_size);
    op_queued(device->stream);
}

bool linear_fuses(enum precision precision, enum product_finish finish, enum gelu gelu)
{
    switch (finish) {
    case FINISH_NONE:
    case FINISH_BIAS:
        return true;
    case FINISH_GELU:
    case FINISH_BIAS_GELU:
    case FINISH_SLOPE:
        return gelu == GELU_TANH && precision != PRECISION_FP32;
    case FINISH_SUMS:
        return precision != PRECISION_FP32;
    }
    return false;
}

void linear_gelu(struct device *device, void *pre, void *y, const void *x, const void *w, const void *b,
                 struct rows rows, int32_t out, int32_t in, enum gelu gelu)
{
    void *vector = b ? rounded(device, b) : NULL;
    const struct product_operands operands = {.d = y, .a = w, .b = x, .vector = vector, .aux = pre};
    const enum product_finish finish = b ? FINISH_BIAS_GELU : FINISH_GELU;
    OP("linear_gelu", rows, out, in);
    if (linear_fuses(device->ops.precision, finish, gelu) && (!b || vector) &&
        run(device, PRODUCT_FORWARD, finish, 0, rows, out, in, &operands)) {
        clear_dead(device, pre, rows, out, device->ops.storage_size);
        clear_dead(device, y, rows, out, device->ops.storage_size);
    } else {
        forward(device, pre, x, w, b, rows, out, in);
        kernel_gelu(device->stream, device->ops.precision, y, pre, rows, out, gelu);
    }
    op_queued(device->stream);
}

void linear_backward_input(struct device *device, void *dx, int beta, const void *dy, const void *w, const void *pre,
                           struct rows rows, int32_t out, int32_t in, enum gelu gelu)
{
    const struct product_operands operands = {.d = dx, .a = w, .b = dy, .aux = (void *)pre};
    OP("linear_backward_input", beta, rows, out, in);
    if (!(pre && beta == 0 && linear_fuses(device->ops.precision, FINISH_SLOPE, gelu) &&
          run(device, PRODUCT_INPUT, FINISH_SLOPE, 0, rows, out, in, &operands))) {
        run_plain(device, PRODUCT_INPUT, beta, rows, out, in, &operands);
        if (pre)
            kernel_gelu_backward(device->stream, device->ops.precision, dx, pre, rows, in, gelu);
    }
    op_queued(device->stream);
}

void linear_backward_weight(struct device *device, void *dw, void *db, const void *dy, const void *x, struct rows rows,
                            int32_t out, int32_t in, void *scratch)
{
    const struct product_operands operands = {.d = dw, .a = x, .b = dy, .vector = scratch};
    OP("linear_backward_weight", rows, out, in);
    if (db && linear_fuses(device->ops.precision, FINISH_SUMS, GELU_TANH) &&
        run(device, PRODUCT_WEIGHT, FINISH_SUMS, 1, rows, out, in, &operands)) {
        kernel_add(device->stream, db, scratch, (size_t)out);
    } else {
        run_plain(device, PRODUCT_WEIGHT, 1, rows, out, in, &operands);
        if (db)
            kernel_column_sums(device->stream, device->ops.precision, db, dy, rows, out, scratch);
    }
    op_queued(device->stream);
}

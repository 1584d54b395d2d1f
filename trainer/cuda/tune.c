/* The table of product algorithms: read where a run is given one, made by `dstrain bench --tune FILE`. It is text, so
 * that it can be looked at, and names the card and the library it is for: an algorithm's 64 bytes mean something to
 * that version alone. One row a product; zeros where a kernel of our own behind the plain product was faster. */
#include "trainer/cuda/product.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#define WORDS 8 /* of 64 bits: an algorithm */
_Static_assert(sizeof(cublasLtMatmulAlgo_t) == WORDS * sizeof(uint64_t), "an algorithm is eight words");

/* The first line. */
static void head_of(char *out, size_t size)
{
    struct cudaDeviceProp card;
    CHECK(cudaGetDeviceProperties(&card, 0));
    snprintf(out, size, "dstrain products 1, cuBLASLt %zu, %.100s\n", cublasLtGetVersion(), card.name);
}

/* ---- reading ---- */

static bool parse(const char *line, struct product_choice *choice)
{
    int32_t *const numbers[] = {&choice->kind, &choice->finish, &choice->precision,
                                &choice->rows, &choice->out,    &choice->in};
    char *end;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++, line = end) {
        const long number = strtol(line, &end, 10);
        if (end == line || number < 0 || number > INT32_MAX)
            return false;
        *numbers[i] = (int32_t)number;
    }
    for (size_t i = 0; i < WORDS; i++, line = end) {
        choice->algorithm.data[i] = strtoull(line, &end, 16);
        if (end == line)
            return false;
    }
    return *line == '\n';
}

static int parse_all(const char *path, const char *text, struct product_choice **choices, size_t *count,
                     struct error *err)
{
    char head[256];
    head_of(head, sizeof head);
    if (strncmp(text, head, strlen(head)) != 0) {
        const char *end = strchr(text, '\n');
        fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "is not a table for this card and library, but says: %.*s",
                end ? (int)(end - text < 120 ? end - text : 120) : 0, text);
        return hint(err, "dstrain bench --tune FILE makes one");
    }
    size_t lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    *choices = mem_clear(lines, sizeof **choices);
    for (const char *line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
        if (!strchr(line, '\n') || !parse(line, &(*choices)[*count]))
            return fail_at(err, ERR_MISMATCH, path, (uint64_t)(line - text), "is damaged in line %zu", *count + 2);
        ++*count;
    }
    return 0;
}

int tune_read(const char *path, struct product_choice **choices, size_t *count, struct error *err)
{
    struct buf text = {0};
    *choices = NULL;
    *count = 0;
    int result = file_read_all(path, TUNE_BYTES_MAX, &text, err);
    if (result == 0)
        result = parse_all(path, buf_text(&text), choices, count, err);
    if (result < 0)
        mem_free(*choices);
    buf_release(&text);
    return result;
}

/* ---- making ---- */

/* A product to time, on memory of its own. */
struct trial {
    struct device *device;
    enum product_kind kind;
    enum product_finish finish;
    struct rows rows;
    int32_t out, in;
    int beta;
    struct product_operands operands;
    void *real; /* bias, or its gradient */
    void *scratch;
    cudaEvent_t from, to;
};

#define ROUNDS 5 /* the best of so many … */
#define RUNS   8 /* … averages over so many */

/* The product with this finish, or without it and kernels behind, as linear.c has it. */
static void run_once(const struct trial *t)
{
    struct device *device = t->device;
    const enum precision precision = device->ops.precision;
    if (product_run(device->products, device->stream, t->kind, t->finish, t->beta, t->rows, t->out, t->in,
                    &t->operands)) {
        if (t->finish == FINISH_SUMS)
            kernel_add(device->stream, t->real, t->operands.vector, (size_t)t->out);
        return;
    }
    const enum product_finish rest = t->finish == FINISH_BIAS_GELU ? FINISH_BIAS : FINISH_NONE;
    if (!product_run(device->products, device->stream, t->kind, rest, t->beta, t->rows, t->out, t->in, &t->operands))
        return;
    switch (t->finish) {
    case FINISH_NONE:
    case FINISH_GELU:
        break;
    case FINISH_BIAS:
        kernel_add_bias(device->stream, precision, t->operands.d, t->real, t->rows, t->out);
        break;
    case FINISH_BIAS_GELU:
        kernel_gelu(device->stream, precision, t->operands.d, t->operands.aux, t->rows, t->out, GELU_TANH);
        break;
    case FINISH_SLOPE:
        kernel_gelu_backward(device->stream, precision, t->operands.d, t->operands.aux, t->rows, t->in, GELU_TANH);
        break;
    case FINISH_SUMS:
        kernel_column_sums(device->stream, precision, t->real, t->operands.b, t->rows, t->out, t->scratch);
        break;
    }
}

/* Milliseconds of one run under the plan's present choice. */
static float measure(const struct trial *t)
{
    float best = 0;
    run_once(t);
    for (int round = 0; round < ROUNDS; round++) {
        float took;
        CHECK(cudaEventRecord(t->from, t->device->stream));
        for (int i = 0; i < RUNS; i++)
            run_once(t);
        CHECK(cudaEventRecord(t->to, t->device->stream));
        CHECK(cudaEventSynchronize(t->to));
        CHECK(cudaEventElapsedTime(&took, t->from, t->to));
        best = round == 0 || took < best ? took : best;
    }
    return best / RUNS;
}

static void add_row(struct buf *table, const struct trial *t, const cublasLtMatmulAlgo_t *algorithm)
{
    buf_addf(table, "%d %d %d %" PRId32 " %" PRId32 " %" PRId32, (int)t->kind, (int)t->finish,
             (int)t->device->ops.precision, t->rows.total, t->out, t->in);
    for (size_t i = 0; i < WORDS; i++)
        buf_addf(table, " %016" PRIx64, algorithm->data[i]);
    buf_add_text(table, "\n");
}

/* Times every offer; without a finish of the library's own, our kernels are an offer too. */
static void tune_one(const struct trial *t, struct buf *table)
{
    struct products *products = t->device->products;
    cublasLtMatmulAlgo_t offers[PRODUCT_OFFERS + 1], *best = NULL;
    const struct product_key key = product_key_of(t->kind, t->finish, t->beta, t->rows, t->out, t->in, &t->operands);
    struct product_key least_aligned = key; /* as operands may be in a model */
    least_aligned.align_a = least_aligned.align_b = least_aligned.align_d = PRODUCT_ALIGNED;
    int count = product_offers(products, &least_aligned, &t->operands, offers);
    if (t->finish != FINISH_NONE)
        memset(&offers[count++], 0, sizeof *offers);
    float fastest = 0;
    for (int i = 0; i < count; i++) {
        product_choose(products, &key, &t->operands, &offers[i]);
        const float took = measure(t);
        if (!best || took < fastest) {
            best = &offers[i];
            fastest = took;
        }
    }
    if (!best)
        return;
    product_choose(products, &key, &t->operands, best);
    add_row(table, t, best);
}

/* Numbers as activations have them: zeros would be multiplied at a higher clock. */
static void *numbers(struct ops *ops, size_t count)
{
    void *storage = ops->allocate(ops->device, count * ops->storage_size);
    void *real = ops->allocate(ops->device, count * sizeof(float));
    float *values = ops->map(ops->device, real, count * sizeof(float), MAP_FILL);
    uint32_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u; /* Numerical Recipes: good enough for heat */
        values[i] = (float)(state >> 8) * 0x1p-23f - 1;
    }
    ops->unmap(ops->device, real, values, count * sizeof(float), MAP_FILL);
    if (ops->storage_size == sizeof(float)) {
        ops->release(ops->device, storage);
        return real;
    }
    ops->convert(ops->device, storage, real, count);
    ops->release(ops->device, real);
    return storage;
}

/* One linear layer, all three ways. `finish` is that of its forward product. */
static void tune_layer(struct ops *ops, int32_t rows, int32_t out, int32_t in, enum product_finish finish,
                       const struct trial *common, struct buf *table)
{
    struct trial t = *common;
    void *x = numbers(ops, (size_t)rows * (size_t)in), *w = numbers(ops, (size_t)out * (size_t)in);
    void *y = numbers(ops, (size_t)rows * (size_t)out), *aux = numbers(ops, (size_t)rows * (size_t)out);
    void *dw = ops->allocate(ops->device, (size_t)out * (size_t)in * sizeof(float));
    void *vector = ops->allocate(ops->device, (size_t)out * sizeof(float));
    t.real = ops->allocate(ops->device, (size_t)out * sizeof(float));
    t.rows = (struct rows){rows, rows};
    t.out = out;
    t.in = in;
    t.kind = PRODUCT_FORWARD;
    t.operands = (struct product_operands){.d = y, .a = w, .b = x, .vector = vector, .aux = aux};
    t.finish = FINISH_BIAS;
    tune_one(&t, table);
    t.finish = finish;
    if (finish != FINISH_BIAS)
        tune_one(&t, table);

    t.kind = PRODUCT_WEIGHT;
    t.beta = 1;
    t.operands = (struct product_operands){.d = dw, .a = x, .b = y, .vector = t.scratch};
    t.finish = FINISH_NONE;
    tune_one(&t, table);
    t.finish = FINISH_SUMS;
    tune_one(&t, table);

    t.kind = PRODUCT_INPUT;
    t.beta = 0;
    t.operands = (struct product_operands){.d = x, .a = w, .b = y};
    t.finish = FINISH_NONE;
    tune_one(&t, table);
    if (in > out) { /* down: its input came out of a GELU */
        void *pre = numbers(ops, (size_t)rows * (size_t)in);
        t.operands.aux = pre;
        t.finish = FINISH_SLOPE;
        tune_one(&t, table);
        ops->release(ops->device, pre);
    }
    void *const all[] = {x, w, y, aux, dw, vector, t.real};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ops->release(ops->device, all[i]);
}

int tune_make(struct ops *ops, int32_t rows, int32_t masked_rows, int32_t hidden, int32_t intermediate,
              int32_t vocabulary, const char *path, struct error *err)
{
    const struct ops_limits limits = {
        .rows_max = rows > masked_rows ? rows : masked_rows,
        .columns_max = intermediate > 3 * hidden ? intermediate : 3 * hidden,
        .masked_rows_max = masked_rows,
        .vocabulary = vocabulary,
        .length_max = 1,
        .head_size = 64,
    };
    struct trial common = {.device = ops->device};
    struct buf table = {0};
    char head[256];
    head_of(head, sizeof head);
    buf_add_text(&table, head);
    common.scratch = ops->allocate(ops->device, ops->scratch_bytes(ops->device, &limits));
    CHECK(cudaEventCreate(&common.from));
    CHECK(cudaEventCreate(&common.to));
    tune_layer(ops, rows, 3 * hidden, hidden, FINISH_BIAS, &common, &table);
    tune_layer(ops, rows, hidden, hidden, FINISH_BIAS, &common, &table);
    tune_layer(ops, rows, intermediate, hidden, FINISH_BIAS_GELU, &common, &table);
    tune_layer(ops, rows, hidden, intermediate, FINISH_BIAS, &common, &table);
    tune_layer(ops, masked_rows, hidden, hidden, FINISH_BIAS_GELU, &common, &table);
    tune_layer(ops, masked_rows, vocabulary, hidden, FINISH_BIAS, &common, &table);
    CHECK(cudaEventDestroy(common.from));
    CHECK(cudaEventDestroy(common.to));
    ops->release(ops->device, common.scratch);
    const int result = file_write_all(path, table.data, table.size, err);
    buf_release(&table);
    return result;
}

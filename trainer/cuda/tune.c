/* The table of product algorithms: made by timing before a run's first step or by `dstrain bench --tune FILE`, and read
 * wherever the same choices are wanted again. It is text, so that it can be inspected, and names the GPU and the
 * library that it is for: an algorithm's 64 bytes mean something only to that version. One row per product; zeros where
 * a plain product and our own kernel after it were faster. */
#include "trainer/cuda/product.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/random.h"

#define WORDS 8 /* of 64 bits, in an algorithm */
_Static_assert(sizeof(cublasLtMatmulAlgo_t) == WORDS * sizeof(uint64_t), "an algorithm is eight words");

/* The first line: names the library and the GPU. */
static void head_of(char *out, size_t size)
{
    struct cudaDeviceProp card;
    CHECK(cudaGetDeviceProperties(&card, 0));
    snprintf(out, size, "dstrain products 1, cuBLASLt %zu, %.100s\n", cublasLtGetVersion(), card.name);
}

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

#define NUMBERS_DRAWN ((size_t)1 << 20)
#define EPILOGUES     17 /* fused products of a model; each is timed fused and not fused */
#define CHOICES_MAX   (EPILOGUES + 14)

struct layer {
    int32_t rows, out, in;
    enum product_finish finish; /* of its forward product; FINISH_NONE: it has no bias */
    bool slope;                 /* its input is the output of a GELU */
};

/* What is timed, and memory for the largest operands. */
struct tuning {
    struct device *device;
    enum gelu gelu;
    bool all;
    void *drawn;                                /* NUMBERS_DRAWN of storage */
    void *read, *weights, *written, *aux;       /* storage */
    void *bias, *rounded, *sums, *dw, *scratch; /* real; `rounded` is the bias in storage */
    cudaEvent_t from, to;
    struct product_choice table[CHOICES_MAX];
    size_t count;
};

/* Runs the op that a product belongs to, as a model calls it, with whatever kernels the table's choice needs. */
static void run_once(const struct tuning *t, const struct product_choice *c)
{
    const struct ops *ops = &t->device->ops;
    const struct rows rows = {c->rows, c->rows};
    const int32_t out = c->out, in = c->in;
    switch ((enum product_kind)c->kind) {
    case PRODUCT_FORWARD:
        if (c->finish == FINISH_BIAS_GELU)
            CALL(ops, linear_gelu, .pre = t->aux, .y = t->written, .x = t->read, .w = t->weights, .b = t->bias,
                 .rows = rows, .out = out, .in = in, .gelu = t->gelu);
        else
            CALL(ops, linear, .y = t->written, .x = t->read, .w = t->weights,
                 .b = c->finish == FINISH_BIAS ? t->bias : NULL, .rows = rows, .out = out, .in = in);
        break;
    case PRODUCT_INPUT:
        CALL(ops, linear_backward_input, .dx = t->written, .dy = t->read, .w = t->weights,
             .pre = c->finish == FINISH_SLOPE ? t->aux : NULL, .rows = rows, .out = out, .in = in, .gelu = t->gelu);
        break;
    case PRODUCT_WEIGHT:
        CALL(ops, linear_backward_weight, .dw = t->dw, .db = c->finish == FINISH_SUMS ? t->sums : NULL, .dy = t->read,
             .x = t->read, .rows = rows, .out = out, .in = in, .scratch = t->scratch);
        break;
    }
}

/* Milliseconds of one run with the current table: the best round, where each is the mean of a few runs. */
static float measure(const struct tuning *t, const struct product_choice *choice)
{
    const int rounds = t->all ? 5 : 3, runs = t->all ? 8 : 4;
    const double until = t->all ? HUGE_VAL : clock_now() + (double)TUNE_SECONDS / (2 * EPILOGUES);
    float best = 0;
    for (int round = 0; round < rounds && (round == 0 || clock_now() < until); round++) {
        float took;
        CHECK(cudaEventRecord(t->from, t->device->stream));
        for (int i = 0; i < runs; i++)
            run_once(t, choice);
        CHECK(cudaEventRecord(t->to, t->device->stream));
        CHECK(cudaEventSynchronize(t->to));
        CHECK(cudaEventElapsedTime(&took, t->from, t->to));
        best = round == 0 || took < best ? took : best;
    }
    return best / (float)runs;
}

/* Puts the fastest way to compute one product into the table. Offers that the library then refuses are skipped. */
static void choose(struct tuning *t, enum product_kind kind, enum product_finish finish, const struct layer *layer)
{
    struct products *products = t->device->products;
    struct product_choice *choice = &t->table[t->count], best;
    const struct product_operands beside = {.vector = t->scratch, .aux = t->aux};
    cublasLtMatmulAlgo_t offers[PRODUCT_OFFERS + 1];
    float fastest = HUGE_VALF;
    if (!linear_fuses(t->device->ops.precision, finish, t->gelu))
        return;
    *choice = (struct product_choice){.kind = (int32_t)kind,
                                      .finish = (int32_t)finish,
                                      .precision = (int32_t)t->device->ops.precision,
                                      .rows = layer->rows,
                                      .out = layer->out,
                                      .in = layer->in};
    int count = product_offers(products, choice, &beside, offers, t->all ? PRODUCT_OFFERS : 1);
    if (finish != FINISH_NONE)
        offers[count++] = (cublasLtMatmulAlgo_t){0}; /* not fused */
    assert(t->count < CHOICES_MAX);
    for (int i = 0; i < count; i++) {
        choice->algorithm = offers[i];
        products_choose(products, t->table, t->count + 1);
        run_once(t, choice);
        if (!product_ran(products, choice))
            continue;
        const float took = measure(t, choice);
        if (took < fastest) {
            fastest = took;
            best = *choice;
        }
    }
    if (fastest < HUGE_VALF)
        t->table[t->count++] = best;
    products_choose(products, t->table, t->count);
}

static void choose_all(struct tuning *t, const struct layer *layers, size_t count)
{
    for (const struct layer *layer = layers; layer < layers + count; layer++) {
        const bool biased = layer->finish != FINISH_NONE;
        if (biased)
            choose(t, PRODUCT_FORWARD, FINISH_BIAS, layer); /* first: a product with a GELU may fall back to it */
        if (biased ? layer->finish != FINISH_BIAS : t->all)
            choose(t, PRODUCT_FORWARD, layer->finish, layer);
        if (t->all)
            choose(t, PRODUCT_WEIGHT, FINISH_NONE, layer);
        if (biased)
            choose(t, PRODUCT_WEIGHT, FINISH_SUMS, layer);
        if (t->all)
            choose(t, PRODUCT_INPUT, FINISH_NONE, layer);
        if (layer->slope)
            choose(t, PRODUCT_INPUT, FINISH_SLOPE, layer);
    }
}

static void draw_numbers(struct tuning *t)
{
    struct device *device = t->device;
    const struct ops *ops = &device->ops;
    const size_t bytes = NUMBERS_DRAWN * sizeof(float);
    void *real = ops->allocate(device, bytes);
    float *values = ops->map(device, real, bytes, MAP_FILL);
    uint32_t state = 1;
    for (size_t i = 0; i < NUMBERS_DRAWN; i++)
        values[i] = random_quick(&state);
    ops->unmap(device, real, values, bytes, MAP_FILL);
    t->drawn = ops->allocate(device, NUMBERS_DRAWN * ops->storage_size);
    CALL(ops, convert, .y = t->drawn, .x = real, .count = NUMBERS_DRAWN);
    ops->release(device, real);
}

/* Random numbers in storage, as activations have them: with zeros the GPU would run at a higher clock. */
static void *numbers(const struct tuning *t, size_t count)
{
    const struct ops *ops = &t->device->ops;
    char *storage = ops->allocate(t->device, count * ops->storage_size);
    for (size_t at = 0; at < count; at += NUMBERS_DRAWN) {
        const size_t piece = count - at < NUMBERS_DRAWN ? count - at : NUMBERS_DRAWN;
        CHECK(cudaMemcpyAsync(storage + at * ops->storage_size, t->drawn, piece * ops->storage_size,
                              cudaMemcpyDeviceToDevice, t->device->stream));
    }
    return storage;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void take_memory(struct tuning *t, const struct layer *layers, size_t count, const struct ops_limits *limits)
{
    struct device *device = t->device;
    const struct ops *ops = &device->ops;
    size_t most = 1, weights = 1, widest = 1; /* elements of the largest activation, matrix of weights, bias */
    for (const struct layer *layer = layers; layer < layers + count; layer++) {
        const size_t rows = (size_t)layer->rows, out = (size_t)layer->out, in = (size_t)layer->in;
        most = larger(most, rows * larger(out, in));
        weights = larger(weights, out * in);
        widest = larger(widest, out);
    }
    draw_numbers(t);
    t->read = numbers(t, most);
    t->weights = numbers(t, weights);
    t->written = numbers(t, most);
    t->aux = numbers(t, most);
    t->bias = ops->allocate(device, widest * sizeof(float));
    t->rounded = ops->allocate(device, widest * sizeof(float));
    CALL(ops, convert, .y = t->rounded, .x = t->bias, .count = widest);
    t->sums = ops->allocate(device, widest * sizeof(float));
    t->dw = ops->allocate(device, weights * sizeof(float));
    t->scratch = ops->allocate(device, ops->scratch_bytes(device, limits));
    CHECK(cudaEventCreate(&t->from));
    CHECK(cudaEventCreate(&t->to));
}

static void drop_memory(struct tuning *t)
{
    void *const all[] = {t->drawn, t->read,    t->weights, t->written, t->aux,
                         t->bias,  t->rounded, t->sums,    t->dw,      t->scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        t->device->ops.release(t->device, all[i]);
    CHECK(cudaEventDestroy(t->from));
    CHECK(cudaEventDestroy(t->to));
}

static void add_table(const struct tuning *t, struct buf *table)
{
    char head[256];
    head_of(head, sizeof head);
    buf_add_text(table, head);
    for (const struct product_choice *c = t->table; c < t->table + t->count; c++) {
        buf_addf(table, "%" PRId32 " %" PRId32 " %" PRId32 " %" PRId32 " %" PRId32 " %" PRId32, c->kind, c->finish,
                 c->precision, c->rows, c->out, c->in);
        for (size_t i = 0; i < WORDS; i++)
            buf_addf(table, " %016" PRIx64, c->algorithm.data[i]);
        buf_add_text(table, "\n");
    }
}

void tune_make(struct ops *ops, const struct tune_sizes *sizes, bool all, struct buf *table)
{
    const int32_t rows = sizes->rows, masked = sizes->masked_rows, sequences = (sizes->sequences + 63) / 64 * 64;
    const int32_t hidden = sizes->hidden, inner = sizes->intermediate;
    const int32_t up = sizes->gated ? 2 * inner : inner;
    const enum product_finish active = sizes->gated ? FINISH_BIAS : FINISH_BIAS_GELU; /* gated: erf-GELU in the head */
    const enum product_finish attention = sizes->attention_biases ? FINISH_BIAS : FINISH_NONE;
    const enum product_finish transform = sizes->transform_biases ? FINISH_BIAS : FINISH_NONE;
    const struct layer layers[] = {
        {rows, 3 * hidden, hidden, attention, false},
        {rows, hidden, hidden, attention, false},
        {rows, up, hidden, sizes->inner_biases ? active : FINISH_NONE, false},
        {rows, hidden, inner, sizes->inner_biases ? FINISH_BIAS : FINISH_NONE, !sizes->gated},
        {masked, hidden, hidden, sizes->transform_biases ? active : FINISH_NONE, false},
        {masked, sizes->vocabulary, hidden, sizes->decoder_biases ? FINISH_BIAS : FINISH_NONE, false},
        {sequences, hidden, hidden, transform, false},
    };
    const size_t count = sizeof layers / sizeof *layers;
    const struct ops_limits limits = {
        .rows_max = rows > masked ? rows : masked,
        .columns_max = up > 3 * hidden ? up : 3 * hidden,
        .vocabulary_rows_max = masked,
        .vocabulary = sizes->vocabulary,
        .length_max = 1,
        .head_size = CUDA_HEAD_SIZE,
    };
    struct tuning *t = mem_clear(1, sizeof *t);
    t->device = ops->device;
    t->gelu = sizes->gelu;
    t->all = all;
    take_memory(t, layers, count, &limits);
    choose_all(t, layers, count);
    drop_memory(t);
    add_table(t, table);
    mem_free(t);
}

/* Attention of one sequence and head at a time: a task each. Keys and values are unpacked once into scratch of the
 * thread; queries go through in blocks of rows, so that a block's scores stay in the cache. The backward pass works the
 * probabilities out again from the saved log-sums (Dao and others 2022, without the tiling that a GPU needs). */
#ifndef LEVEL

#include "trainer/cpu/device.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define QUERIES 64 /* rows of a block */

struct attention_args {
    void *context, *log_sums; /* written forward, read backward */
    const void *qkv;
    void *dqkv;           /* backward only */
    const void *dcontext; /* backward only */
    const struct batch *batch;
    const struct attention_shape *shape;
    void *scratch;
    size_t scratch_thread; /* bytes of one thread */
};

#define EACH "trainer/cpu/attention.c"
#include "trainer/cpu/each.h"
#else
#include "trainer/cpu/functions.h"
#include "trainer/cpu/keep.h"
#include "trainer/cpu/product.h"

/* Where one task reads and writes. Row r of Q is at qkv + r * stride; K and V stand `hidden` and 2 `hidden` beside. */
struct NAME(head) {
    size_t first, length; /* rows of the sequence */
    size_t size, hidden, stride;
    size_t wide_length, wide_size; /* padded to TILE_COLUMNS: row lengths in scratch */
    uint32_t number, name;         /* of dropout */
    size_t head;
    real scale;
};

static struct NAME(head) NAME(head_of)(const struct attention_args *a, size_t task)
{
    const size_t heads = (size_t)a->shape->heads, sequence = task / heads, head = task % heads;
    const size_t first = (size_t)a->batch->starts[sequence], end = (size_t)a->batch->starts[sequence + 1];
    const size_t size = (size_t)a->shape->head_size;
    return (struct NAME(head)){
        .first = first,
        .length = end - first,
        .size = size,
        .hidden = heads * size,
        .stride = 3 * heads * size,
        .wide_length = padded(end - first, TILE_COLUMNS),
        .wide_size = padded(size, TILE_COLUMNS),
        .number = a->batch->numbers[sequence],
        .name = a->shape->dropout.name + (uint32_t)head,
        .head = head,
        .scale = (real)(1 / sqrt((double)size)),
    };
}

static void NAME(pack)(storage *x, size_t stride, const real *in, size_t rows, size_t size, size_t wide, real scale)
{
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < size; i++)
            x[row * stride + i] = STORE(in[row * wide + i] * scale);
}

/* Multiplies a row of probabilities, or of their gradients, by its dropout. */
static void NAME(drop_scores)(real *row, const struct attention_args *a, const struct NAME(head) * h, size_t query)
{
    real keep[KEEP_PIECE];
    for (size_t first = 0; first < h->length; first += KEEP_PIECE) {
        const size_t count = smaller(KEEP_PIECE, h->length - first);
        NAME(keep_piece)(keep, &a->shape->dropout, h->name, h->number, (uint32_t)query, (int32_t)first, (int32_t)count);
        for (size_t i = 0; i < count; i++)
            row[first + i] *= keep[i];
    }
}

/* Scores to probabilities in place; returns the log of the sum of exponentials. */
static real NAME(softmax)(real *row, size_t length)
{
    real most = row[0];
#pragma omp simd reduction(max : most)
    for (size_t i = 0; i < length; i++)
        most = row[i] > most ? row[i] : most;
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < length; i++) {
        row[i] = NAME(exponential)(row[i] - most);
        sum += row[i];
    }
    const real scale = 1 / sum;
    for (size_t i = 0; i < length; i++)
        row[i] *= scale;
    return most + (real)log((double)sum);
}

static void NAME(attention_head)(const void *args, size_t task, int thread)
{
    const struct attention_args *a = args;
    const struct NAME(head) h = NAME(head_of)(a, task);
    real *keys = (real *)((char *)a->scratch + (size_t)thread * a->scratch_thread); /* [size, wide_length] */
    real *values = keys + h.size * h.wide_length;                                   /* [length, wide_size] */
    real *queries = values + h.length * h.wide_size;                                /* [QUERIES, wide_size] */
    real *scores = queries + QUERIES * h.wide_size;                                 /* [QUERIES, wide_length] */
    real *result = scores + QUERIES * h.wide_length;                                /* [QUERIES, wide_size] */
    const storage *q = (const storage *)a->qkv + h.first * h.stride + h.head * h.size;
    storage *context = (storage *)a->context + h.first * h.hidden + h.head * h.size;
    real *log_sums = (real *)a->log_sums + h.head * (size_t)a->batch->token_rows + h.first;

    NAME(unpack)(keys, h.size, h.wide_length, q + h.hidden, 1, h.stride, h.size, h.length, 1);
    NAME(unpack)(values, h.length, h.wide_size, q + 2 * h.hidden, h.stride, 1, h.length, h.size, 1);
    for (size_t first = 0; first < h.length; first += QUERIES) {
        const size_t rows = smaller(QUERIES, h.length - first), tall = padded(rows, TILE_ROWS);
        NAME(unpack)(queries, tall, h.wide_size, q + first * h.stride, h.stride, 1, rows, h.size, h.scale);
        NAME(small_product)
        (scores, h.wide_length, queries, h.wide_size, 1, keys, h.wide_length, tall, h.wide_length, h.size, false);
        for (size_t i = 0; i < rows; i++) {
            log_sums[first + i] = NAME(softmax)(scores + i * h.wide_length, h.length);
            if (a->shape->dropout.threshold)
                NAME(drop_scores)(scores + i * h.wide_length, a, &h, first + i);
        }
        NAME(small_product)
        (result, h.wide_size, scores, h.wide_length, 1, values, h.wide_size, tall, h.wide_size, h.length, false);
        NAME(pack)(context + first * h.hidden, h.hidden, result, rows, h.size, h.wide_size, 1);
    }
}

static void NAME(attention)(struct device *device, void *context, void *log_sums, const void *qkv,
                            const struct batch *batch, const struct attention_shape *shape, void *scratch)
{
    assert(parallel_threads() <= device->threads);
    const struct ops_limits limits = {.length_max = shape->length_max, .head_size = shape->head_size};
    const struct attention_args args = {
        .context = context,
        .log_sums = log_sums,
        .qkv = qkv,
        .batch = batch,
        .shape = shape,
        .scratch = scratch,
        .scratch_thread = NAME(attention_scratch)(&limits, 1),
    };
    parallel((size_t)batch->sequences * (size_t)shape->heads, NAME(attention_head), &args);
    const size_t live = (size_t)batch->tokens, dead = (size_t)batch->token_rows - live;
    const size_t hidden = (size_t)shape->heads * (size_t)shape->head_size;
    memset((storage *)context + live * hidden, 0, dead * hidden * sizeof(storage));
    for (size_t head = 0; head < (size_t)shape->heads; head++)
        memset((real *)log_sums + head * (live + dead) + live, 0, dead * sizeof(real));
}

/* The rows of one block of queries, from scores = Q K^T and dkept = dO V^T:
 *     P = exp(score - log_sum); kept = P * keep; dP = dkept * keep; dscore = P * (dP - sum over keys of P dP). */
static void NAME(backward_scores)(real *scores, real *dkept, const real *log_sums, const real *deltas, size_t first,
                                  size_t rows, const struct attention_args *a, const struct NAME(head) * h)
{
    for (size_t i = 0; i < padded(rows, TILE_ROWS); i++) {
        real *score = scores + i * h->wide_length, *slope = dkept + i * h->wide_length;
        const size_t length = i < rows ? h->length : 0;
        const real log_sum = i < rows ? log_sums[i] : 0, delta = i < rows ? deltas[i] : 0;
        if (length && a->shape->dropout.threshold)
            NAME(drop_scores)(slope, a, h, first + i);
#pragma omp simd
        for (size_t j = 0; j < length; j++) {
            const real p = NAME(exponential)(score[j] - log_sum);
            slope[j] = p * (slope[j] - delta);
            score[j] = p;
        }
        if (length && a->shape->dropout.threshold)
            NAME(drop_scores)(score, a, h, first + i);
        for (size_t j = length; j < h->wide_length; j++)
            score[j] = slope[j] = 0;
    }
}

static void NAME(attention_backward_head)(const void *args, size_t task, int thread)
{
    const struct attention_args *a = args;
    const struct NAME(head) h = NAME(head_of)(a, task);
    const size_t tall_length = h.wide_length, matrix = tall_length * h.wide_size;
    real *keys = (real *)((char *)a->scratch + (size_t)thread * a->scratch_thread); /* [length, wide_size] */
    real *keys_across = keys + matrix;                                              /* [size, wide_length] */
    real *values_across = keys_across + h.size * h.wide_length;                     /* [size, wide_length] */
    real *dkeys = values_across + h.size * h.wide_length;                           /* [length, wide_size] */
    real *dvalues = dkeys + matrix;                                                 /* [length, wide_size] */
    real *queries = dvalues + matrix;                                               /* [QUERIES, wide_size] */
    real *dresult = queries + QUERIES * h.wide_size;                                /* [QUERIES, wide_size] */
    real *dqueries = dresult + QUERIES * h.wide_size;                               /* [QUERIES, wide_size] */
    real *scores = dqueries + QUERIES * h.wide_size;                                /* [QUERIES, wide_length] */
    real *slopes = scores + QUERIES * h.wide_length;                                /* [QUERIES, wide_length] */
    real deltas[QUERIES];
    const storage *q = (const storage *)a->qkv + h.first * h.stride + h.head * h.size;
    storage *dq = (storage *)a->dqkv + h.first * h.stride + h.head * h.size;
    const storage *context = (const storage *)a->context + h.first * h.hidden + h.head * h.size;
    const storage *dcontext = (const storage *)a->dcontext + h.first * h.hidden + h.head * h.size;
    const real *log_sums = (const real *)a->log_sums + h.head * (size_t)a->batch->token_rows + h.first;

    NAME(unpack)(keys, h.length, h.wide_size, q + h.hidden, h.stride, 1, h.length, h.size, 1);
    NAME(unpack)(keys_across, h.size, h.wide_length, q + h.hidden, 1, h.stride, h.size, h.length, 1);
    NAME(unpack)(values_across, h.size, h.wide_length, q + 2 * h.hidden, 1, h.stride, h.size, h.length, 1);
    memset(dkeys, 0, 2 * matrix * sizeof *dkeys);
    for (size_t first = 0; first < h.length; first += QUERIES) {
        const size_t rows = smaller(QUERIES, h.length - first), tall = padded(rows, TILE_ROWS);
        NAME(unpack)(queries, tall, h.wide_size, q + first * h.stride, h.stride, 1, rows, h.size, h.scale);
        NAME(unpack)(dresult, tall, h.wide_size, dcontext + first * h.hidden, h.hidden, 1, rows, h.size, 1);
        for (size_t i = 0; i < rows; i++) {
            real delta = 0;
#pragma omp simd reduction(+ : delta)
            for (size_t j = 0; j < h.size; j++)
                delta += dresult[i * h.wide_size + j] * LOAD(context[(first + i) * h.hidden + j]);
            deltas[i] = delta;
        }
        NAME(small_product)
        (scores, h.wide_length, queries, h.wide_size, 1, keys_across, h.wide_length, tall, h.wide_length, h.size,
         false);
        NAME(small_product)
        (slopes, h.wide_length, dresult, h.wide_size, 1, values_across, h.wide_length, tall, h.wide_length, h.size,
         false);
        NAME(backward_scores)(scores, slopes, log_sums + first, deltas, first, rows, a, &h);
        NAME(small_product)
        (dvalues, h.wide_size, scores, 1, h.wide_length, dresult, h.wide_size, tall_length, h.wide_size, rows, true);
        NAME(small_product)
        (dkeys, h.wide_size, slopes, 1, h.wide_length, queries, h.wide_size, tall_length, h.wide_size, rows, true);
        NAME(small_product)
        (dqueries, h.wide_size, slopes, h.wide_length, 1, keys, h.wide_size, tall, h.wide_size, h.length, false);
        NAME(pack)(dq + first * h.stride, h.stride, dqueries, rows, h.size, h.wide_size, h.scale);
    }
    NAME(pack)(dq + h.hidden, h.stride, dkeys, h.length, h.size, h.wide_size, 1);
    NAME(pack)(dq + 2 * h.hidden, h.stride, dvalues, h.length, h.size, h.wide_size, 1);
}

static void NAME(attention_backward)(struct device *device, void *dqkv, const void *dcontext, const void *qkv,
                                     const void *context, const void *log_sums, const struct batch *batch,
                                     const struct attention_shape *shape, void *scratch)
{
    assert(parallel_threads() <= device->threads);
    const struct ops_limits limits = {.length_max = shape->length_max, .head_size = shape->head_size};
    const struct attention_args args = {
        .context = (void *)context,
        .log_sums = (void *)log_sums,
        .qkv = qkv,
        .dqkv = dqkv,
        .dcontext = dcontext,
        .batch = batch,
        .shape = shape,
        .scratch = scratch,
        .scratch_thread = NAME(attention_scratch)(&limits, 1),
    };
    parallel((size_t)batch->sequences * (size_t)shape->heads, NAME(attention_backward_head), &args);
    const size_t stride = 3 * (size_t)shape->heads * (size_t)shape->head_size;
    memset((storage *)dqkv + (size_t)batch->tokens * stride, 0,
           (size_t)(batch->token_rows - batch->tokens) * stride * sizeof(storage));
}

size_t NAME(attention_scratch)(const struct ops_limits *limits, int threads)
{
    const size_t length = padded((size_t)limits->length_max, TILE_COLUMNS);
    const size_t size = padded((size_t)limits->head_size, TILE_COLUMNS);
    const size_t numbers = 5 * length * size + 3 * QUERIES * size + 2 * QUERIES * length;
    return (size_t)threads * padded(numbers * sizeof(real), 64);
}

void NAME(install_attention)(struct ops *ops)
{
    ops->attention = NAME(attention);
    ops->attention_backward = NAME(attention_backward);
}

#endif

/* Losses in place: logits in, their gradient out. Softmax cross-entropy of rows; for spans, of the tokens of each
 * sequence; squared error; several labels of a row. A row takes three passes (maximum, sum, gradient) that stay in the
 * cache. Losses and hits of the rows go to scratch, or where the caller wants them, and are added in the order of the
 * rows. */
#pragma once

#include "trainer/cpu/functions.h"
#include "trainer/cpu/lanes.h"
#include "trainer/cpu/real.h"

#define LOSS_ROWS 4 /* rows of one task, at most */

static bool is_first_largest(const storage *logits, size_t label, real most)
{
    if (!(LOAD(logits[label]) == most))
        return false;
    for (size_t i = 0; i < label; i++)
        if (LOAD(logits[i]) == most)
            return false;
    return true;
}

static double *results_of(const struct loss_args *a)
{
    return a->results ? a->results : a->scratch;
}

static void loss_row(const struct loss_args *a, size_t row)
{
    const size_t columns = (size_t)a->columns, vocabulary = (size_t)a->vocabulary, label = (size_t)a->labels[row];
    storage *logits = (storage *)a->logits + row * columns;
    double *result = results_of(a) + 2 * row; /* loss, hit */
    const double weight = a->weights ? (double)a->weights[label] : 1, factor = a->factor * weight;
    real most = LOAD(logits[0]);
#pragma omp simd reduction(max : most)
    for (size_t i = 0; i < vocabulary; i++)
        most = LOAD(logits[i]) > most ? LOAD(logits[i]) : most;
    real sums[LANES] = {0};
    EACH_LANE(i, lane, vocabulary, sums[lane] += exponential(LOAD(logits[i]) - most));
    const real sum = sum_lanes(sums);
    result[0] = weight * (same_log((double)sum) + (double)most - (double)LOAD(logits[label]));
    result[1] = is_first_largest(logits, label, most);
    if (a->factor == 0)
        return;
    const real scale = (real)(factor / (double)sum);
#pragma omp simd
    for (size_t i = 0; i < vocabulary; i++) {
        const real gradient = scale * exponential(LOAD(logits[i]) - most);
        logits[i] = STORE(i == label ? gradient - (real)factor : gradient);
    }
    memset(logits + vocabulary, 0, (columns - vocabulary) * sizeof *logits);
}

static void loss_rows(const void *args, size_t first, size_t end)
{
    const struct loss_args *a = args;
    const size_t columns = (size_t)a->columns;
    for (size_t row = first; row < end; row++)
        if (row < (size_t)a->rows.live)
            loss_row(a, row);
        else
            memset((storage *)a->logits + row * columns, 0, columns * sizeof(storage));
}

/* Adds up results [count][2]: loss, hit. */
static void add_results(double *sums, const double *results, int32_t count)
{
    for (size_t i = 0; i < (size_t)count; i++) {
        sums[0] += results[i * 2];
        sums[1] += results[i * 2 + 1];
    }
}

static void loss(struct device *device, const struct loss_args *args)
{
    each_rows(device, (size_t)args->rows.total, LOSS_ROWS, loss_rows, args);
    add_results(args->sums, results_of(args), args->rows.live);
}

static void square_loss(struct device *device, const struct square_loss_args *args)
{
    (void)device;
    storage *logits = args->logits;
    for (size_t row = 0; row < (size_t)args->rows.live; row++) {
        float label;
        memcpy(&label, &args->labels[row], sizeof label);
        const real distance = LOAD(logits[row]) - (real)label;
        args->sums[0] += (double)distance * (double)distance;
        if (args->factor != 0)
            logits[row] = STORE((real)args->factor * 2 * distance);
    }
    if (args->factor != 0)
        memset(logits + args->rows.live, 0, (size_t)(args->rows.total - args->rows.live) * sizeof *logits);
}

static void bits_loss(struct device *device, const struct bits_loss_args *args)
{
    (void)device;
    const size_t live = (size_t)args->rows.live, columns = (size_t)args->columns;
    const double factor = args->factor / args->columns;
    storage *logits = args->logits;
    for (size_t row = 0; row < live; row++) {
        double loss = 0, hit = 1;
        for (size_t c = 0; c < columns; c++) {
            storage *logit = &logits[row * columns + c];
            const double x = (double)LOAD(*logit);
            const bool is_right = c < BITS_LABELS && args->labels[row] >> c & 1;
            loss += same_log(1 + same_exp(-fabs(x))) + fmax(is_right ? -x : x, 0);
            hit *= (x > 0) == is_right;
            if (factor != 0)
                *logit = STORE((real)(factor * (1 / (1 + same_exp(-x)) - is_right)));
        }
        args->sums[0] += loss / args->columns;
        args->sums[1] += hit;
    }
    if (factor != 0)
        memset(logits + live * columns, 0, ((size_t)args->rows.total - live) * columns * sizeof *logits);
}

/* The loss and gradient of one end of a span; its logits [count] are every second number. */
static void span_end(storage *logits, size_t count, size_t label, double factor, double result[2])
{
    real most = LOAD(logits[0]), sum = 0;
    bool earlier = false; /* a token before the label has the largest logit */
    for (size_t i = 1; i < count; i++)
        most = LOAD(logits[2 * i]) > most ? LOAD(logits[2 * i]) : most;
    for (size_t i = 0; i < count; i++)
        sum += exponential(LOAD(logits[2 * i]) - most);
    for (size_t i = 0; i < label; i++)
        earlier |= LOAD(logits[2 * i]) == most;
    result[0] += (same_log((double)sum) + (double)most - (double)LOAD(logits[2 * label])) / 2;
    result[1] *= LOAD(logits[2 * label]) == most && !earlier;
    if (factor == 0)
        return;
    const real scale = (real)(factor / (double)sum);
    for (size_t i = 0; i < count; i++) {
        const real gradient = scale * exponential(LOAD(logits[2 * i]) - most);
        logits[2 * i] = STORE(i == label ? gradient - (real)factor : gradient);
    }
}

static void span_block(const void *args, size_t sequence, int thread)
{
    (void)thread;
    const struct span_loss_args *a = args;
    const size_t first = (size_t)a->batch->starts[sequence], end = (size_t)a->batch->starts[sequence + 1];
    storage *logits = (storage *)a->logits + 2 * first;
    double *result = (double *)a->scratch + 2 * sequence;
    result[0] = 0;
    result[1] = 1;
    span_end(logits, end - first, (size_t)a->first[sequence] - first, a->factor / 2, result);
    span_end(logits + 1, end - first, (size_t)a->last[sequence], a->factor / 2, result);
}

static void span_loss(struct device *device, const struct span_loss_args *args)
{
    (void)device;
    const struct batch *batch = args->batch;
    const size_t tokens = (size_t)batch->tokens, dead = (size_t)batch->token_rows - tokens;
    parallel((size_t)batch->sequences, span_block, args);
    add_results(args->sums, args->scratch, batch->sequences);
    if (args->factor != 0)
        memset((storage *)args->logits + 2 * tokens, 0, 2 * dead * sizeof(storage));
}

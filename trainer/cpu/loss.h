/* Softmax cross-entropy in place: logits in, their gradient out. A row at a time in three passes (largest, sum,
 * gradient) that stay in the cache. Losses and hits of the rows meet in scratch, or where
 * the caller wants them, and are added in the rows' order. */
#ifndef TRAINER_CPU_LOSS_H
#define TRAINER_CPU_LOSS_H

#include "trainer/cpu/functions.h"
#include "trainer/cpu/real.h"

#define LOSS_ROWS 4 /* rows of one task */

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
    real most = LOAD(logits[0]);
#pragma omp simd reduction(max : most)
    for (size_t i = 0; i < vocabulary; i++)
        most = LOAD(logits[i]) > most ? LOAD(logits[i]) : most;
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < vocabulary; i++)
        sum += exponential(LOAD(logits[i]) - most);
    result[0] = log((double)sum) + (double)most - (double)LOAD(logits[label]);
    result[1] = is_first_largest(logits, label, most);
    if (a->factor == 0)
        return;
    const real scale = (real)(a->factor / (double)sum);
#pragma omp simd
    for (size_t i = 0; i < vocabulary; i++) {
        const real slope = scale * exponential(LOAD(logits[i]) - most);
        logits[i] = STORE(i == label ? slope - (real)a->factor : slope);
    }
    memset(logits + vocabulary, 0, (columns - vocabulary) * sizeof *logits);
}

static void loss_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct loss_args *a = args;
    const size_t columns = (size_t)a->columns, end = smaller((task + 1) * LOSS_ROWS, (size_t)a->rows.total);
    for (size_t row = task * LOSS_ROWS; row < end; row++)
        if (row < (size_t)a->rows.live)
            loss_row(a, row);
        else
            memset((storage *)a->logits + row * columns, 0, columns * sizeof(storage));
}

static void loss(struct device *device, const struct loss_args *args)
{
    (void)device;
    const double *results = results_of(args);
    parallel(blocks_of((size_t)args->rows.total, LOSS_ROWS), loss_block, args);
    for (size_t row = 0; row < (size_t)args->rows.live; row++) {
        args->sums[0] += results[row * 2];
        args->sums[1] += results[row * 2 + 1];
    }
}

#endif

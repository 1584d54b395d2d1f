/* Softmax cross-entropy in place: logits in, their gradient out. A row at a time in three passes (largest, sum,
 * gradient) that stay in the cache. Losses and hits of the rows meet in scratch and are added in the rows' order. */
#ifndef TRAINER_CPU_LOSS_H
#define TRAINER_CPU_LOSS_H

#include "trainer/cpu/functions.h"
#include "trainer/cpu/real.h"

#define LOSS_ROWS 4 /* rows of one task */

struct loss_args {
    void *logits;
    const int32_t *labels;
    struct rows rows;
    size_t columns, vocabulary;
    double factor;
    double *results; /* [rows][2]: loss, hit */
};

static bool is_first_largest(const storage *logits, size_t label, real most)
{
    if (!(LOAD(logits[label]) == most))
        return false;
    for (size_t i = 0; i < label; i++)
        if (LOAD(logits[i]) == most)
            return false;
    return true;
}

static void loss_row(const struct loss_args *a, size_t row)
{
    storage *logits = (storage *)a->logits + row * a->columns;
    const size_t label = (size_t)a->labels[row], vocabulary = a->vocabulary;
    real most = LOAD(logits[0]);
#pragma omp simd reduction(max : most)
    for (size_t i = 0; i < vocabulary; i++)
        most = LOAD(logits[i]) > most ? LOAD(logits[i]) : most;
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < vocabulary; i++)
        sum += exponential(LOAD(logits[i]) - most);
    a->results[row * 2] = log((double)sum) + (double)most - (double)LOAD(logits[label]);
    a->results[row * 2 + 1] = is_first_largest(logits, label, most);
    if (a->factor == 0)
        return;
    const real scale = (real)(a->factor / (double)sum);
#pragma omp simd
    for (size_t i = 0; i < vocabulary; i++) {
        const real slope = scale * exponential(LOAD(logits[i]) - most);
        logits[i] = STORE(i == label ? slope - (real)a->factor : slope);
    }
    memset(logits + vocabulary, 0, (a->columns - vocabulary) * sizeof *logits);
}

static void loss_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct loss_args *a = args;
    const size_t end = smaller((task + 1) * LOSS_ROWS, (size_t)a->rows.total);
    for (size_t row = task * LOSS_ROWS; row < end; row++)
        if (row < (size_t)a->rows.live)
            loss_row(a, row);
        else
            memset((storage *)a->logits + row * a->columns, 0, a->columns * sizeof(storage));
}

static void loss(struct device *device, double *sums, void *logits, const int32_t *labels, struct rows rows,
                 int32_t columns, int32_t vocabulary, double factor, void *scratch)
{
    (void)device;
    const struct loss_args args = {
        .logits = logits,
        .labels = labels,
        .rows = rows,
        .columns = (size_t)columns,
        .vocabulary = (size_t)vocabulary,
        .factor = factor,
        .results = scratch,
    };
    parallel(blocks_of((size_t)rows.total, LOSS_ROWS), loss_block, &args);
    for (size_t row = 0; row < (size_t)rows.live; row++) {
        sums[0] += args.results[row * 2];
        sums[1] += args.results[row * 2 + 1];
    }
}

#endif

/* How many samples each step of a run takes: B, or a number that grows from A to B over the first W steps. The first n
 * steps take
 *
 *     S(n) = A n + floor((B - A) n^2 / (2 W))          up to n = W, then S(W) + B (n - W)
 *
 * so a step's samples are a difference of two such sums, and a run's position in the data follows from its step alone.
 * Steps are counted from 0. (Warm-up of the batch: Smith et al., Don't decay the learning rate, increase the batch
 * size, 2018; Brown et al., GPT-3, 2020, appendix B.) */
#pragma once

#include <stdint.h>

struct batch_plan {
    uint32_t first, last; /* A <= B, both >= 1 */
    uint64_t steps;       /* W; 0: every step takes B */
};

/* S(n), the samples of the first n steps. */
uint64_t batch_plan_samples(const struct batch_plan *plan, uint64_t n);
/* Samples of step n: from A to B. */
uint32_t batch_plan_size(const struct batch_plan *plan, uint64_t n);
/* The number of steps that take about `samples` samples, where W is `warmup`, which below 1 is a fraction of
 * those steps. */
double batch_plan_steps(const struct batch_plan *plan, double warmup, double samples);

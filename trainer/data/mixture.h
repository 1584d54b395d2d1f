/* The order in which samples of several datasets alternate. Weights w_1 … w_k are whole numbers with the sum W; the
 * order repeats after W samples, w_d of which are dataset d's. Let x_d(n) be the number of dataset d's samples among
 * the first n of the endless sequence. For every n
 *
 *     |x_d(n) - n w_d / W| <= 1 - 1 / (2k - 2)        half a sample for two datasets, below one for any number
 *
 * Dataset d is due at sample n (from 1) if n w_d / W - x_d(n-1) >= 1 / (2k - 2). Among those due, the one with the
 * earliest deadline (x_d(n-1) + 1 - 1 / (2k - 2)) / w_d gets the sample; the first of equals. At least one is always
 * due, and no deadline is missed: R. Tijdeman, The chairman assignment problem, Discrete Mathematics 32 (1980),
 * 323-330. All of it is computed in integers.
 *
 * A table holds the W places of a period, so finding sample i's dataset, and its number within that dataset, takes one
 * division and one look-up: a reader's position is one number, and resuming from it costs nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define MIXTURE_MAX    16       /* datasets */
#define MIXTURE_PERIOD 1000000u /* maximum of W; the table takes 8 bytes per place */

struct mixture_place {
    uint32_t dataset; /* 0 to k - 1 */
    uint64_t sample;  /* number in the dataset's own endless sequence */
};

struct mixture {
    uint32_t datasets; /* k >= 2 */
    uint32_t weights[MIXTURE_MAX];
    uint32_t period; /* W */
    struct mixture_slot {
        uint32_t dataset, sample; /* `sample` counts from 0 within the period */
    } * slots;                    /* [W] */
};

/* Divides `units` in proportion to weights[count] by the largest remainder method (Hamilton): each share is
 * floor(units * weight / sum), and the remaining units go one each to those with the largest remainders, to the first
 * if equal. Integers only, so that every process computes the same. Weights are below 2^50, and not all zero. */
void share_out(uint64_t units, const uint64_t *weights, uint32_t count, uint64_t *shares);

/* Reduces `asked` (each >= 1, below 2^50) to whole numbers in the same proportion. It is exact if their sum is then at
 * most MIXTURE_PERIOD; else they are rounded to the sum MIXTURE_PERIOD by the largest remainder method. False: one of
 * them would be 0. A single dataset gets the weight 1. */
bool mixture_weights(const uint64_t *asked, uint32_t datasets, uint32_t *weights);

/* `weights` are from mixture_weights. Release with mixture_release. */
void mixture_init(struct mixture *mixture, const uint32_t *weights, uint32_t datasets);
void mixture_release(struct mixture *mixture); /* safe on a zeroed one */

/* The dataset of sample i, from 0, and its number there. O(1). */
struct mixture_place mixture_at(const struct mixture *mixture, uint64_t i);
/* x_d(n): how many of the first n samples are the dataset's. O(W). */
uint64_t mixture_count(const struct mixture *mixture, uint32_t dataset, uint64_t n);

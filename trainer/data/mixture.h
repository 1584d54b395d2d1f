/* The order in which samples of several datasets alternate. Weights w_1 … w_k are whole numbers with the sum W; the
 * order repeats after W samples, of which w_d are dataset d's. Among the first n samples of the endless sequence x_d(n)
 * are of dataset d, and for every n
 *
 *     |x_d(n) - n w_d / W| <= 1 - 1 / (2k - 2)        half a sample for two datasets, below one for any number
 *
 * Sample n (from 1) goes to a dataset that is due, n w_d / W - x_d(n-1) >= 1 / (2k - 2), and of those to the one that
 * the bound gives the least time, by (x_d(n-1) + 1 - 1 / (2k - 2)) / w_d; the first of equals. One of them is always
 * due, and none comes too late: R. Tijdeman, The chairman assignment problem, Discrete Mathematics 32 (1980), 323-330.
 * All of it is computed in integers.
 *
 * The W places of a period stand in a table, so that sample i's dataset, and which of that dataset's samples it is, are
 * one division and one table look-up: a reader's position is one number, and resuming from it costs nothing. */
#ifndef TRAINER_DATA_MIXTURE_H
#define TRAINER_DATA_MIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#define MIXTURE_MAX    16         /* datasets */
#define MIXTURE_PERIOD 1000000u   /* W, at most: the table has 8 bytes for each */
#define MIXTURE_UNIT   1000000000 /* weights are asked for in billionths */

struct mixture_place {
    uint32_t dataset; /* 0 to k - 1 */
    uint64_t sample;  /* of the dataset's own endless sequence */
};

struct mixture {
    uint32_t datasets; /* k >= 2 */
    uint32_t weights[MIXTURE_MAX];
    uint32_t period; /* W */
    struct mixture_slot {
        uint32_t dataset, sample; /* within the period */
    } * slots;                    /* [W] */
};

/* Whole numbers in the proportion of `asked` (each >= 1, below 2^50): exactly where their sum is then at most
 * MIXTURE_PERIOD, else as parts of MIXTURE_PERIOD, those with the largest remainders rounded up. False: one of them
 * would be 0. One dataset has the weight 1. */
bool mixture_weights(const uint64_t *asked, uint32_t datasets, uint32_t *weights);

/* Weights from mixture_weights. Released with mixture_release. */
void mixture_init(struct mixture *mixture, const uint32_t *weights, uint32_t datasets);
void mixture_release(struct mixture *mixture); /* safe on a zeroed one */

/* Whose sample i is, from 0, and which. O(1). */
struct mixture_place mixture_at(const struct mixture *mixture, uint64_t i);
/* How many of the first n samples are the dataset's. O(W). */
uint64_t mixture_count(const struct mixture *mixture, uint32_t dataset, uint64_t n);

#endif

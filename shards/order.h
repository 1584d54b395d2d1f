/* The order in which an epoch visits the samples of a split, computed by arithmetic: no table, no state, O(1). The
 * position of a reader is one number, the same for any number of processes.
 *
 *     epoch:  shard π(0), all its records in an order of its own, shard π(1), …; at last the one record more that
 *             the first n mod k shards hold, in a shuffled order of those shards
 *
 * So shards are read one after the other and the disk seeks little; the data was shuffled globally when it was built. π
 * and the orders within shards are keyed permutations (base/random.h) named by (seed, epoch, shard). Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct order {
    uint64_t samples; /* n >= 1 */
    uint32_t shards;  /* k, 1 to n */
    uint64_t seed;
    bool shuffled; /* false: the order of the files in every epoch */
};

/* The sample at place `n` < samples of an epoch; a permutation of [0, samples) for each epoch. */
uint64_t order_sample(const struct order *order, uint64_t epoch, uint64_t n);

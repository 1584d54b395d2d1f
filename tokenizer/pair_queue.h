/* Pairs of adjacent pieces, found by their two pieces, with the most frequent one at hand. A pair also carries the head
 * of its caller's list of places. Order: the higher count first; of equal counts the lower left piece, then the lower
 * right one, so that the result depends on the counts alone. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PAIR_NONE UINT32_MAX

struct piece_pair {
    uint64_t count;
    uint64_t key; /* the count that its place in the heap is for, which is not lower than the real one */
    uint32_t left, right;
    uint32_t first; /* the caller's; PAIR_NONE in a new pair */
    uint32_t rank;  /* place in the heap; PAIR_NONE: taken out, or free */
};

struct pair_queue {
    struct piece_pair *pairs; /* [capacity] by number; numbers of removed pairs are reused */
    uint32_t used, capacity;
    uint32_t free;  /* head of the list of free numbers, linked by `first`; PAIR_NONE: all numbers below `used` are in
                     * use */
    uint32_t *heap; /* [count] numbers, ordered by key */
    uint32_t count;
    uint32_t *slots; /* [1 << slot_bits] number + 1, by a hash of both pieces; 0 is empty */
    unsigned slot_bits;
};

void pair_queue_init(struct pair_queue *queue);
void pair_queue_release(struct pair_queue *queue);

/* Adds n > 0 to a pair's count; returns its number, valid while its count is not 0. May move queue->pairs. */
uint32_t pair_queue_add(struct pair_queue *queue, uint32_t left, uint32_t right, uint64_t n);

/* Subtracts n from a pair's count. A pair whose count becomes 0 is removed, unless it was taken out. */
void pair_queue_subtract(struct pair_queue *queue, uint32_t number, uint64_t n);

/* The first pair in order, or NULL. Valid until the next call. */
const struct piece_pair *pair_queue_first(struct pair_queue *queue);

/* Takes the first pair out of the queue, which must not be empty. Its number stays reserved until it is dropped. */
uint32_t pair_queue_take(struct pair_queue *queue);
void pair_queue_drop(struct pair_queue *queue, uint32_t number);

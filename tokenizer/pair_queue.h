/* Pairs of pieces that stand side by side, found by their two pieces, the most frequent one always at hand. A pair also
 * carries the head of its caller's list of places. Order: the higher count first; of equal counts the lower left piece,
 * then the lower right one, so that what comes out depends on the counts alone. */
#ifndef TOKENIZER_PAIR_QUEUE_H
#define TOKENIZER_PAIR_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#define PAIR_NONE UINT32_MAX

struct piece_pair {
    uint64_t count;
    uint64_t key; /* its place in the heap is that of this count, which is not lower */
    uint32_t left, right;
    uint32_t first; /* the caller's; PAIR_NONE in a new pair */
    uint32_t rank;  /* where in the heap; PAIR_NONE: taken out, or free */
};

struct pair_queue {
    struct piece_pair *pairs; /* [capacity] by number; numbers of pairs that are gone are given again */
    uint32_t used, capacity;
    uint32_t free;  /* a free number, whose `first` is the next one; PAIR_NONE: there is none below `used` */
    uint32_t *heap; /* [count] numbers, in order of their keys */
    uint32_t count;
    uint32_t *slots; /* [1 << slot_bits] number + 1, by a hash of both pieces; 0 is empty */
    unsigned slot_bits;
};

void pair_queue_init(struct pair_queue *queue);
void pair_queue_release(struct pair_queue *queue);

/* Counts a pair n > 0 times more; returns its number, valid while its count is not 0. Moves queue->pairs. */
uint32_t pair_queue_add(struct pair_queue *queue, uint32_t left, uint32_t right, uint64_t n);

/* Counts a pair n times less. One whose count becomes 0 is gone, unless it was taken out. */
void pair_queue_subtract(struct pair_queue *queue, uint32_t number, uint64_t n);

/* The first pair in order, or NULL; valid until the next call. */
const struct piece_pair *pair_queue_first(struct pair_queue *queue);

/* Takes it out of the queue, which must not be empty. Its number is its own until it is dropped. */
uint32_t pair_queue_take(struct pair_queue *queue);
void pair_queue_drop(struct pair_queue *queue, uint32_t number);

#endif

/* A priority queue of pairs whose counts rise and fall: a binary heap of their numbers. A count that rises moves its
 * pair at once; one that falls waits until its pair reaches the top, because most never do. A hash table with open
 * addressing finds pairs by their two pieces; removing a pair closes the gap. Memory is proportional to the pairs in
 * use. */
#include "tokenizer/pair_queue.h"

#include "base/mem.h"

#include <assert.h>
#include <stdbool.h>

#define SLOT_BITS 12 /* at first */

void pair_queue_init(struct pair_queue *queue)
{
    *queue = (struct pair_queue){.free = PAIR_NONE, .slot_bits = SLOT_BITS};
    queue->slots = mem_clear((size_t)1 << SLOT_BITS, sizeof *queue->slots);
}

void pair_queue_release(struct pair_queue *queue)
{
    mem_free(queue->pairs);
    mem_free(queue->heap);
    mem_free(queue->slots);
    *queue = (struct pair_queue){0};
}

static bool before(const struct piece_pair *a, const struct piece_pair *b)
{
    if (a->key != b->key)
        return a->key > b->key;
    return a->left != b->left ? a->left < b->left : a->right < b->right;
}

static void heap_set(struct pair_queue *queue, uint32_t rank, uint32_t number)
{
    queue->heap[rank] = number;
    queue->pairs[number].rank = rank;
}

static void rise(struct pair_queue *queue, uint32_t number)
{
    uint32_t rank = queue->pairs[number].rank;
    while (rank > 0 && before(&queue->pairs[number], &queue->pairs[queue->heap[(rank - 1) / 2]])) {
        heap_set(queue, rank, queue->heap[(rank - 1) / 2]);
        rank = (rank - 1) / 2;
    }
    heap_set(queue, rank, number);
}

static void fall(struct pair_queue *queue, uint32_t number)
{
    uint32_t rank = queue->pairs[number].rank;
    for (uint32_t child; (child = 2 * rank + 1) < queue->count; rank = child) {
        if (child + 1 < queue->count &&
            before(&queue->pairs[queue->heap[child + 1]], &queue->pairs[queue->heap[child]]))
            child++;
        if (!before(&queue->pairs[queue->heap[child]], &queue->pairs[number]))
            break;
        heap_set(queue, rank, queue->heap[child]);
    }
    heap_set(queue, rank, number);
}

static void heap_remove(struct pair_queue *queue, uint32_t number)
{
    const uint32_t rank = queue->pairs[number].rank;
    assert(rank < queue->count && queue->heap[rank] == number);
    /* The last pair fills the gap. It may belong above or below it, so one of the two moves does nothing. */
    const uint32_t last = queue->heap[--queue->count];
    queue->pairs[number].rank = PAIR_NONE;
    if (last == number)
        return;
    heap_set(queue, rank, last);
    rise(queue, last);
    fall(queue, last);
}

static size_t home(const struct pair_queue *queue, uint32_t left, uint32_t right)
{
    const uint64_t key = (uint64_t)left << 32 | right;
    return (size_t)((key ^ key >> 29) * 0x9E3779B97F4A7C15u >> (64 - queue->slot_bits));
}

/* The slot of a pair, or the empty slot where it would go. */
static size_t slot_of(const struct pair_queue *queue, uint32_t left, uint32_t right)
{
    const size_t mask = ((size_t)1 << queue->slot_bits) - 1;
    size_t at = home(queue, left, right);
    for (; queue->slots[at]; at = (at + 1) & mask) {
        const struct piece_pair *pair = &queue->pairs[queue->slots[at] - 1];
        if (pair->left == left && pair->right == right)
            break;
    }
    return at;
}

/* Empties the pair's slot and moves back the pairs after it that the gap would hide. */
static void slots_remove(struct pair_queue *queue, uint32_t number)
{
    const size_t mask = ((size_t)1 << queue->slot_bits) - 1;
    size_t gap = slot_of(queue, queue->pairs[number].left, queue->pairs[number].right);
    assert(queue->slots[gap] == number + 1);
    for (size_t at = (gap + 1) & mask; queue->slots[at]; at = (at + 1) & mask) {
        const struct piece_pair *pair = &queue->pairs[queue->slots[at] - 1];
        if (((at - home(queue, pair->left, pair->right)) & mask) < ((at - gap) & mask))
            continue; /* its home slot is after the gap */
        queue->slots[gap] = queue->slots[at];
        gap = at;
    }
    queue->slots[gap] = 0;
}

static void grow_slots(struct pair_queue *queue)
{
    mem_free(queue->slots);
    queue->slot_bits++;
    queue->slots = mem_clear((size_t)1 << queue->slot_bits, sizeof *queue->slots);
    for (uint32_t i = 0; i < queue->count; i++) {
        const struct piece_pair *pair = &queue->pairs[queue->heap[i]];
        queue->slots[slot_of(queue, pair->left, pair->right)] = queue->heap[i] + 1;
    }
}

static uint32_t free_number(struct pair_queue *queue)
{
    const uint32_t number = queue->free;
    if (number != PAIR_NONE) {
        queue->free = queue->pairs[number].first;
        return number;
    }
    if (queue->used == queue->capacity) {
        assert(queue->capacity < PAIR_NONE / 2);
        queue->capacity = queue->capacity ? 2 * queue->capacity : 1024;
        queue->pairs = mem_grow(queue->pairs, queue->capacity, sizeof *queue->pairs);
        queue->heap = mem_grow(queue->heap, queue->capacity, sizeof *queue->heap);
    }
    return queue->used++;
}

uint32_t pair_queue_add(struct pair_queue *queue, uint32_t left, uint32_t right, uint64_t n)
{
    if (2 * ((size_t)queue->count + 1) > (size_t)1 << queue->slot_bits)
        grow_slots(queue);
    const size_t slot = slot_of(queue, left, right);
    uint32_t number;
    if (queue->slots[slot]) {
        number = queue->slots[slot] - 1;
        queue->pairs[number].count += n;
    } else {
        number = free_number(queue);
        queue->pairs[number] = (struct piece_pair){n, n, left, right, PAIR_NONE, queue->count};
        queue->heap[queue->count++] = number;
        queue->slots[slot] = number + 1;
    }
    struct piece_pair *pair = &queue->pairs[number];
    if (pair->count >= pair->key) {
        pair->key = pair->count;
        rise(queue, number);
    }
    return number;
}

void pair_queue_subtract(struct pair_queue *queue, uint32_t number, uint64_t n)
{
    struct piece_pair *pair = &queue->pairs[number];
    assert(pair->count >= n);
    pair->count -= n;
    if (pair->count > 0 || pair->rank == PAIR_NONE)
        return;
    heap_remove(queue, number);
    slots_remove(queue, number);
    pair_queue_drop(queue, number);
}

const struct piece_pair *pair_queue_first(struct pair_queue *queue)
{
    while (queue->count) {
        struct piece_pair *first = &queue->pairs[queue->heap[0]];
        if (first->key == first->count)
            return first;
        first->key = first->count;
        fall(queue, queue->heap[0]);
    }
    return NULL;
}

uint32_t pair_queue_take(struct pair_queue *queue)
{
    const struct piece_pair *first = pair_queue_first(queue);
    assert(first);
    const uint32_t number = queue->heap[0];
    heap_remove(queue, number);
    slots_remove(queue, number);
    return number;
}

void pair_queue_drop(struct pair_queue *queue, uint32_t number)
{
    assert(number < queue->used && queue->pairs[number].rank == PAIR_NONE); /* it has left the heap */
    queue->pairs[number].first = queue->free;
    queue->free = number;
}

/* The queue of pairs against a table that is searched linearly. */
#include "tests/tokenizer/help.h"

#include "tokenizer/pair_queue.h"

#define PIECES 40u

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % below;
}

/* The first pair in order; its left piece, right piece and count. */
static bool first_of(uint64_t table[PIECES][PIECES], uint32_t *left, uint32_t *right)
{
    bool found = false;
    for (uint32_t i = 0; i < PIECES; i++)
        for (uint32_t k = 0; k < PIECES; k++)
            if (table[i][k] && (!found || table[i][k] > table[*left][*right])) {
                found = true;
                *left = i;
                *right = k;
            }
    return found;
}

TEST(the_first_is_the_most_frequent)
{
    static uint64_t table[PIECES][PIECES];
    static uint32_t numbers[PIECES][PIECES];
    struct pair_queue queue;
    pair_queue_init(&queue);
    uint32_t seed = 7;
    for (size_t step = 0; step < 60000; step++) {
        uint32_t left = draw(&seed, PIECES), right = draw(&seed, PIECES);
        const uint32_t n = 1 + draw(&seed, 5), kind = draw(&seed, step % 20000 < 10000 ? 8 : 3);
        if (kind > 2 || (kind == 0 && table[left][right] == 0)) { /* first it grows, then it shrinks */
            numbers[left][right] = pair_queue_add(&queue, left, right, n);
            table[left][right] += n;
        } else if (kind == 0) {
            const uint64_t less = draw(&seed, 2) ? table[left][right] : 1;
            pair_queue_subtract(&queue, numbers[left][right], less);
            table[left][right] -= less;
        } else if (step % 7 == 0) {
            const bool found = first_of(table, &left, &right);
            const struct piece_pair *first = pair_queue_first(&queue);
            assert_int_equal(found, first != NULL);
            if (!found)
                continue;
            assert_true(first->left == left && first->right == right && first->count == table[left][right]);
            const uint32_t number = pair_queue_take(&queue);
            assert_int_equal(number, numbers[left][right]);
            pair_queue_subtract(&queue, number, table[left][right]); /* no effect: the pair is already out */
            pair_queue_drop(&queue, number);
            table[left][right] = 0;
        }
    }
    size_t left_over = 0;
    for (uint32_t left = 0, right = 0; first_of(table, &left, &right); left_over++) {
        const struct piece_pair *first = pair_queue_first(&queue);
        assert_true(first && first->left == left && first->right == right);
        pair_queue_drop(&queue, pair_queue_take(&queue));
        table[left][right] = 0;
    }
    assert_true(left_over > 10);
    assert_null(pair_queue_first(&queue));
    pair_queue_release(&queue);
}

/* Counts beyond 32 bits; numbers of removed pairs are reused. */
TEST(counts_are_large_and_memory_small)
{
    struct pair_queue queue;
    pair_queue_init(&queue);
    const uint64_t many = UINT64_C(3) << 40;
    const uint32_t number = pair_queue_add(&queue, 1, 2, many);
    pair_queue_add(&queue, 2, 1, many - 1);
    assert_int_equal(pair_queue_first(&queue)->left, 1);
    pair_queue_subtract(&queue, number, 2);
    assert_int_equal(pair_queue_first(&queue)->left, 2);
    for (uint32_t i = 0; i < 100000; i++)
        pair_queue_subtract(&queue, pair_queue_add(&queue, i, 3 + i, 1), 1);
    assert_true(queue.capacity <= 1024 && queue.count == 2);
    pair_queue_release(&queue);
}

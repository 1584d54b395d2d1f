/* The order of an epoch. */
#include "tests/shards/tiny.h"

#include "shards/order.h"

TEST(each_epoch_is_a_permutation)
{
    uint8_t seen[200];
    for (uint64_t n = 1; n <= 200; n += n < 40 ? 1 : 23)
        for (uint32_t k = 1; k <= n && k < 30; k++)
            for (uint64_t epoch = 0; epoch < 3; epoch++) {
                const struct order order = {.samples = n, .shards = k, .seed = 42, .shuffled = true};
                memset(seen, 0, sizeof(seen));
                for (uint64_t i = 0; i < n; i++) {
                    const uint64_t sample = order_sample(&order, epoch, i);
                    assert_true(sample < n && !seen[sample]);
                    seen[sample] = 1;
                }
            }
}

TEST(shards_are_read_one_after_the_other)
{
    const struct order order = {.samples = 1003, .shards = 10, .seed = 1, .shuffled = true};
    uint64_t changes = 0, last = UINT64_MAX, in_place = 0;
    for (uint64_t i = 0; i < order.samples; i++) {
        const uint64_t sample = order_sample(&order, 0, i), shard = shard_of(order.samples, order.shards, sample);
        changes += shard != last;
        last = shard;
        in_place += sample == i;
    }
    assert_in_range(changes, 10, 10 + 3); /* the three extra records come at the end */
    assert_true(in_place < 20);
}

TEST(epochs_and_seeds_have_their_own_order)
{
    const struct order one = {.samples = 1000, .shards = 4, .seed = 1, .shuffled = true};
    const struct order two = {.samples = 1000, .shards = 4, .seed = 2, .shuffled = true};
    unsigned same_epoch = 0, same_seed = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        same_epoch += order_sample(&one, 0, i) == order_sample(&one, 1, i);
        same_seed += order_sample(&one, 0, i) == order_sample(&two, 0, i);
    }
    assert_true(same_epoch < 30 && same_seed < 30);
}

/* The remaining records come from shards in an independent order, not in that of the shards before. */
TEST(shards_of_left_over_records_have_their_own_order)
{
    const struct order order = {.samples = 2 * 50 - 1, .shards = 50, .seed = 3, .shuffled = true};
    unsigned same = 0;
    for (uint64_t i = 0; i < 49; i++)
        same += shard_of(order.samples, order.shards, order_sample(&order, 0, i)) ==
                shard_of(order.samples, order.shards, order_sample(&order, 0, 50 + i));
    assert_true(same < 10);
}

TEST(without_shuffling_it_is_file_order)
{
    const struct order order = {.samples = 77, .shards = 5, .seed = 9};
    for (uint64_t i = 0; i < 77; i++)
        assert_int_equal(order_sample(&order, i, i), i);
}

/* A run is resumed by its position in this order: a change breaks every existing run. */
TEST(the_order_never_changes)
{
    static const uint64_t expected[8] = {654948, 648205, 598624, 678968, 620126, 684097, 617292, 137268};
    const struct order order = {.samples = 1000003, .shards = 7, .seed = 42, .shuffled = true};
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(order_sample(&order, 3, i == 7 ? 1000002 : i), expected[i]);
    static const uint64_t left_over[4] = {79, 5, 95, 63};
    const struct order uneven = {.samples = 99, .shards = 50, .seed = 3, .shuffled = true};
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(order_sample(&uneven, 0, 50 + i), left_over[i]);
}

/* Which losses of a sequence count as spikes. */
#include "tests/shards/tiny.h"

#include "base/random.h"
#include "trainer/keep/spikes.h"

/* A loss around 5, uniform within 0.1. */
static double noise(uint32_t i)
{
    const struct random_stream stream = random_stream(1, RANDOM_FRESH, 0, 0, 0, 0, 0);
    return 5 + random_at(&stream, i, 0) * 0x1p-32 * 0.1;
}

static bool add(struct spikes *spikes, uint64_t step, double loss)
{
    double mean, deviations;
    return spikes_add(spikes, step, loss, &mean, &deviations);
}

TEST(noise_and_descent_are_none)
{
    struct spikes spikes = {0};
    for (uint32_t i = 1; i <= 5000; i++)
        assert_false(add(&spikes, i, noise(i) * exp(-i / 2000.0)));
    assert_int_equal(spikes.count, 0);
}

TEST(a_jump_is_one)
{
    struct spikes spikes = {0};
    double mean, deviations;
    for (uint32_t i = 1; i <= 200; i++)
        assert_false(add(&spikes, i, noise(i)));
    assert_true(spikes_add(&spikes, 201, 5.5, &mean, &deviations));
    assert_true(fabs(mean - 5.05) < 0.01);
    assert_true(fabs(deviations - (5.5 - 5.05) / (0.1 / sqrt(12))) < 2);
    assert_false(add(&spikes, 202, 4.0)); /* far below is not a spike */
    assert_true(add(&spikes, 203, 9.0));
    assert_int_equal(spikes.count, 2);
    assert_int_equal(spikes.largest_step, 203);
}

TEST(the_largest_stays_the_largest)
{
    struct spikes spikes = {0};
    for (uint32_t i = 1; i <= 200; i++)
        add(&spikes, i, noise(i));
    assert_true(add(&spikes, 201, 9.0));
    const double largest = spikes.largest;
    for (uint32_t i = 202; i <= 200 + 2 * SPIKES_WINDOW; i++)
        add(&spikes, i, noise(i));
    assert_true(add(&spikes, 201 + 2 * SPIKES_WINDOW, 5.5));
    assert_int_equal(spikes.largest_step, 201);
    assert_true(spikes.largest == largest);
}

/* The deviation is that of a sample, with divisor n - 1. */
TEST(deviations_are_those_of_a_sample)
{
    struct spikes spikes = {0};
    double mean, deviations;
    for (uint32_t i = 1; i <= SPIKES_LEAST; i++)
        add(&spikes, i, i % 2 ? 4 : 6);
    spikes_add(&spikes, SPIKES_LEAST + 1, 7, &mean, &deviations);
    const double n = SPIKES_LEAST;
    assert_true(SPIKES_LEAST % 2 == 0 && mean == 5);
    assert_true(fabs(deviations - 2 / sqrt(n / (n - 1))) < 1e-12);
}

/* A lasting new level counts as a spike a few times, until the window consists of it. */
TEST(a_new_level_becomes_usual)
{
    struct spikes spikes = {0};
    for (uint32_t i = 1; i <= 200; i++)
        add(&spikes, i, noise(i));
    for (uint32_t i = 201; i <= 400; i++)
        add(&spikes, i, noise(i) + 1);
    assert_in_range(spikes.count, 1, 10);
    assert_false(add(&spikes, 401, noise(401) + 1));
}

TEST(too_few_and_none)
{
    struct spikes spikes = {0};
    double mean, deviations;
    for (uint32_t i = 1; i <= SPIKES_LEAST; i++) {
        assert_false(spikes_add(&spikes, i, i == 20 ? 1e9 : noise(i), &mean, &deviations));
        assert_true(isnan(deviations));
    }
    for (uint32_t i = 0; i < 2 * SPIKES_WINDOW; i++) /* a constant loss, and non-finite ones */
        assert_false(add(&spikes, 100 + i, 3));
    assert_false(add(&spikes, 500, (double)NAN));
    assert_false(add(&spikes, 501, HUGE_VAL));
    assert_true(add(&spikes, 502, 3.0001));
    assert_int_equal(spikes.count, 1);
}

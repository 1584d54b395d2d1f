/* The rule of plan --best: more of anything lowers the loss; where it has no rows, it says so. */
#include "tests/unit.h"
#include "trainer/verbs/rule.h"

TEST(more_of_anything_lowers_the_loss)
{
    for (double weights = 1e5; weights < 1e9; weights *= 3)
        for (double tokens = 1e5; tokens < 1e11; tokens *= 3) {
            const double loss = rule_loss(weights, tokens);
            assert_true(loss > rule_loss(2 * weights, tokens) && rule_loss(2 * weights, tokens) > 0);
            assert_true(loss > rule_loss(weights, 2 * tokens));
        }
}

/* What record_rule.py prints for rows rate-8, one-half and mini-32. */
TEST(the_constants_are_those_of_the_rows)
{
    assert_float_equal(rule_loss(835584, 3.18e6), 4.132, 0.001);
    assert_float_equal(rule_loss(835584, 15.89e6), 3.434, 0.001);
    assert_float_equal(rule_loss(3342336, 46.24e6), 2.911, 0.001);
}

TEST(more_steps_have_a_lower_rate)
{
    assert_float_equal(rule_rate(1), 0.016, 1e-9);
    assert_float_equal(rule_rate(2500), 0.009, 1e-9);
    assert_float_equal(rule_rate(1000000), 0.004, 1e-9);
}

TEST(where_the_rule_has_no_rows)
{
    assert_true(rule_covers(835584, 0.2, 1e13));
    assert_true(!rule_covers(835584, 0.2, 1e12));
    assert_true(!rule_covers(835584, 0.2, 1e16) && rule_knows(835584, 0.2));
    assert_true(!rule_covers(1e5, 0.2, 1e13) && !rule_knows(1e5, 0.2));
    assert_true(!rule_covers(85e6, 0.2, 1e13) && !rule_knows(85e6, 0.2));
    assert_true(!rule_covers(835584, 4, 1e13) && !rule_knows(835584, 4));
}

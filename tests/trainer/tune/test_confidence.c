/* Intervals of shares are those of Newcombe 1998 (table I, method 3, four digits); the others follow their formulas in
 * another way. */
#include "tests/unit.h"
#include "trainer/tune/confidence.h"

static void expect(struct confidence got, double low, double high, double within)
{
    if (!(fabs(got.low - low) <= within && fabs(got.high - high) <= within))
        fail_msg("%.6g to %.6g, not %.6g to %.6g", got.low, got.high, low, high);
}

TEST(shares)
{
    expect(confidence_share(81.0 / 263, 263), 0.2553, 0.3662, 5e-5);
    expect(confidence_share(15.0 / 148, 148), 0.0624, 0.1605, 5e-5);
    expect(confidence_share(0, 20), 0.0000, 0.1611, 5e-5);
    expect(confidence_share(1.0 / 29, 29), 0.0061, 0.1718, 5e-5);
    expect(confidence_share(1, 20), 1 - 0.1611, 1.0000, 5e-5);
}

/* 30 found, 26 of them right, 40 there: 26 of 44 are in both. */
TEST(f1)
{
    const struct confidence share = confidence_share(26.0 / 44, 44), got = confidence_f1(26, 30, 40);
    expect(got, 2 / (1 + 1 / share.low), 2 / (1 + 1 / share.high), 1e-12);
    const double value = 2 * 26.0 / 70;
    assert_true(got.low < value && value < got.high);
    expect(confidence_f1(0, 5, 15), 0, 2 * 0.1611 / 1.1611, 5e-5);
}

TEST(correlations)
{
    expect(confidence_correlation(0.5, 30, false), 0.1704, 0.7290, 5e-5);
    expect(confidence_correlation(-0.5, 30, false), -0.7290, -0.1704, 5e-5);
    expect(confidence_correlation(0, 103, true), -0.19352, 0.19352, 5e-5); /* tanh(1.96 / 10) */
    const struct confidence ranks = confidence_correlation(0.5, 30, true);
    assert_true(ranks.low < 0.1704 && ranks.high > 0.7290);
}

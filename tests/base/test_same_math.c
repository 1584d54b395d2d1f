/* The functions against the C library's, and against bits that every compiler and processor must give. */
#include "base/hash.h"
#include "base/random.h"
#include "base/same_math.h"
#include "tests/unit.h"

#define COUNT 200000

static double uniform(uint32_t i, uint32_t j, double least, double most)
{
    const struct random_stream stream = random_stream(8, RANDOM_FRESH, 1, 0, 0, 0, 0);
    return least + (most - least) * ((random_at(&stream, i, j) + 0.5) * 0x1p-32);
}

static void expect(double found, double right, double limit, const char *what, double x)
{
    if (!(fabs(found - right) <= limit * fabs(right)))
        fail_msg("%s(%a) is %a, not %a", what, x, found, right);
}

TEST(functions_are_right)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        const double x = uniform(i, 0, -700, 700), small = uniform(i, 1, -2, 2), turn = uniform(i, 2, -10000, 10000);
        const double beta = uniform(i, 3, 0.5, 1), power = uniform(i, 4, 0, 500);
        expect(same_exp(x), exp(x), 0x1p-51, "exp", x);
        expect(same_exp(small), exp(small), 0x1p-51, "exp", small);
        expect(same_log(exp(x)), log(exp(x)), 0x1p-51, "log", exp(x));
        if (fabs(sin(turn)) > 1e-3)
            expect(same_sin(turn), sin(turn), 0x1p-50, "sin", turn);
        if (fabs(cos(turn)) > 1e-3)
            expect(same_cos(turn), cos(turn), 0x1p-50, "cos", turn);
        expect(same_tanh(small), tanh(small), 0x1p-44, "tanh", small);
        expect(same_pow(beta, power), pow(beta, power), 0x1p-42, "pow", beta);
    }
}

TEST(edges_are_right)
{
    assert_true(same_log(0) == -INFINITY && isnan(same_log(-1)) && isnan(same_log(NAN)) && same_log(1) == 0);
    assert_true(same_log(INFINITY) == INFINITY && fabs(same_log(0x1p-1074) + 744.4400719213812) < 1e-12);
    assert_true(same_exp(0) == 1 && same_exp(-INFINITY) == 0 && same_exp(INFINITY) == INFINITY && isnan(same_exp(NAN)));
    assert_true(same_exp(-745) == exp(-745) && same_exp(709.7) < INFINITY);
    assert_true(same_pow(0, 0.5) == 0 && same_pow(0, 0) == 1 && same_pow(0.3, 1) == 0.3 && same_pow(1, 1e9) == 1);
    assert_true(same_sin(0) == 0 && same_cos(0) == 1 && isnan(same_cos(INFINITY)));
    assert_true(same_tanh(0) == 0 && same_tanh(100) == 1 && same_tanh(-100) == -1 && isnan(same_tanh(NAN)));
}

TEST(bits_are_the_same)
{
    static double values[6 * COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        const double x = uniform(i, 0, -700, 700), turn = uniform(i, 2, -10000, 10000);
        const double beta = uniform(i, 3, 0, 1), power = uniform(i, 4, 0, 500);
        const double all[] = {same_exp(x),    same_log(beta),          same_sin(turn),
                              same_cos(turn), same_tanh(2 * beta - 1), same_pow(beta, power)};
        memcpy(values + 6 * (size_t)i, all, sizeof all);
    }
    assert_int_equal(hash64(values, sizeof values), 0x4f4fef83e2d39c8);
}

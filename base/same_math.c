#include "base/same_math.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__) || FLT_EVAL_METHOD != 0
#error "docs/ARITHMETIC.md: without -ffast-math, and without x87's long registers"
#endif

#define LN2_HIGH 0x1.62e42fee00000p-1 /* its last 21 bits are zero: an exponent times it is exact */
#define LN2_LOW  0x1.a39ef35793c76p-33

/* pi / 2 in three parts; the first two have 33 bits, so that 2^20 times one is exact. */
#define HALF_PI_HIGH   0x1.921fb54400000p+0
#define HALF_PI_MIDDLE 0x1.0b4611a600000p-34
#define HALF_PI_LOW    0x1.3198a2e037073p-69

/* The series coefficients[0] + coefficients[1] x + …, by Horner's rule. */
static double series(const double *coefficients, size_t count, double x)
{
    double sum = coefficients[count - 1];
    for (size_t i = count - 1; i-- > 0;)
        sum = sum * x + coefficients[i];
    return sum;
}

/* 2^n, |n| <= 1022. */
static double power_of_2(int n)
{
    const uint64_t bits = (uint64_t)(n + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* x = 2^e m with m from sqrt(1/2) to sqrt(2); log m = 2 artanh((m - 1) / (m + 1)). */
double same_log(double x)
{
    static const double odd[] = {1,        1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                                 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
    int e;
    if (!(x > 0) || isinf(x))
        return x > 0 ? x : x == 0 ? -INFINITY : NAN;
    double m = frexp(x, &e);
    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2;
        e--;
    }
    const double s = (m - 1) / (m + 1);
    return e * LN2_HIGH + (e * LN2_LOW + 2 * s * series(odd, sizeof odd / sizeof *odd, s * s));
}

/* x = n log 2 + r; Taylor's series of exp r. */
double same_exp(double x)
{
    static const double taylor[] = {
        1,          1,           1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
        1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    if (isnan(x))
        return x;
    if (x > 710)
        return INFINITY;
    if (x < -746)
        return 0;
    const int n = (int)rint(x * 0x1.71547652b82fep+0), half = n / 2;
    const double r = (x - n * LN2_HIGH) - n * LN2_LOW;
    return series(taylor, sizeof taylor / sizeof *taylor, r) * power_of_2(half) * power_of_2(n - half);
}

double same_pow(double x, double y)
{
    if (y >= 0 && y <= 64 && y == rint(y)) {
        double product = 1;
        for (int i = 0; i < (int)y; i++)
            product *= x;
        return product;
    }
    return x == 1 ? 1 : same_exp(y * same_log(x));
}

static double sine_of_rest(double r)
{
    static const double taylor[] = {1,
                                    -1.0 / 6,
                                    1.0 / 120,
                                    -1.0 / 5040,
                                    1.0 / 362880,
                                    -1.0 / 39916800,
                                    1.0 / 6227020800,
                                    -1.0 / 1307674368000,
                                    1.0 / 355687428096000};
    return r * series(taylor, sizeof taylor / sizeof *taylor, r * r);
}

static double cosine_of_rest(double r)
{
    static const double taylor[] = {1,
                                    -1.0 / 2,
                                    1.0 / 24,
                                    -1.0 / 720,
                                    1.0 / 40320,
                                    -1.0 / 3628800,
                                    1.0 / 479001600,
                                    -1.0 / 87178291200,
                                    1.0 / 20922789888000};
    return series(taylor, sizeof taylor / sizeof *taylor, r * r);
}

/* The sine of x + quarters pi / 2. */
static double turned_sine(double x, int quarters)
{
    if (!(fabs(x) < 0x1p31))
        return NAN;
    const double n = rint(x * 0x1.45f306dc9c883p-1);
    const double r = ((x - n * HALF_PI_HIGH) - n * HALF_PI_MIDDLE) - n * HALF_PI_LOW;
    const unsigned quadrant = (unsigned)((int64_t)n + quarters) & 3;
    const double value = quadrant & 1 ? cosine_of_rest(r) : sine_of_rest(r);
    return quadrant & 2 ? -value : value;
}

double same_sin(double x)
{
    return turned_sine(x, 0);
}

double same_cos(double x)
{
    return turned_sine(x, 1);
}

/* Taylor's series where the difference in (e^2x - 1) / (e^2x + 1) would cancel. */
double same_tanh(double x)
{
    static const double taylor[] = {1, -1.0 / 3, 2.0 / 15, -17.0 / 315, 62.0 / 2835, -1382.0 / 155925};
    if (fabs(x) < 0.03125)
        return x * series(taylor, sizeof taylor / sizeof *taylor, x * x);
    if (fabs(x) > 20)
        return x > 0 ? 1 : -1;
    const double e = same_exp(2 * x);
    return (e - 1) / (e + 1);
}

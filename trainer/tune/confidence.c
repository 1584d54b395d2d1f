#include "trainer/tune/confidence.h"

#include <assert.h>
#include <math.h>

#include "base/same_math.h"

#define Z 1.959963984540054 /* a normal variable is within ±Z with a probability of 95 % */

struct confidence confidence_share(double p, double n)
{
    assert(n > 0 && p >= 0 && p <= 1);
    const double middle = p + Z * Z / (2 * n), half = Z * sqrt(p * (1 - p) / n + Z * Z / (4 * n * n));
    const double by = 1 + Z * Z / n;
    return (struct confidence){fmax((middle - half) / by, 0), fmin((middle + half) / by, 1)};
}

struct confidence confidence_f1(double right, double found, double truth)
{
    const double all = found + truth - right;
    const struct confidence share = confidence_share(right / all, all);
    return (struct confidence){2 * share.low / (1 + share.low), 2 * share.high / (1 + share.high)};
}

struct confidence confidence_correlation(double r, double n, bool ranks)
{
    assert(n > 3 && fabs(r) < 1);
    const double half = Z * sqrt((ranks ? 1 + r * r / 2 : 1) / (n - 3));
    const double middle = same_log((1 + r) / (1 - r)) / 2; /* artanh r */
    return (struct confidence){same_tanh(middle - half), same_tanh(middle + half)};
}

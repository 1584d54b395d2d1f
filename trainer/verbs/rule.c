#include "trainer/verbs/rule.h"

#include <math.h>

#include "base/same_math.h"

/* docs/RECORDS.md has the command. */
#define TERM_E     1.661
#define TERM_A     0.5127
#define EXPONENT_A 0.34
#define TERM_B     2.6631
#define EXPONENT_B 0.28

/* Of those rows. */
#define FLOP_MIN    5e12
#define FLOP_MAX    1e15
#define WEIGHTS_MIN 0.2e6
#define WEIGHTS_MAX 3.4e6
#define EPOCHS_MAX  3.1

#define RATE       0.45
#define RATE_LEAST 0.004
#define RATE_MOST  0.016

double rule_rate(uint64_t steps)
{
    return fmin(fmax(RATE / sqrt((double)steps), RATE_LEAST), RATE_MOST);
}

static double power(double base, double exponent)
{
    return same_exp(exponent * same_log(base));
}

double rule_loss(double weights, double tokens)
{
    return TERM_E + TERM_A * power(weights / 1e6, -EXPONENT_A) + TERM_B * power(tokens / 1e6, -EXPONENT_B);
}

bool rule_knows(double weights, double epochs)
{
    return weights >= WEIGHTS_MIN && weights <= WEIGHTS_MAX && epochs <= EPOCHS_MAX;
}

bool rule_covers(double weights, double epochs, double flop)
{
    return rule_knows(weights, epochs) && flop >= FLOP_MIN && flop <= FLOP_MAX;
}

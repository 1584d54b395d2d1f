#include "trainer/data/batch_plan.h"

#include <assert.h>
#include <math.h>

uint64_t batch_plan_samples(const struct batch_plan *plan, uint64_t n)
{
    __extension__ typedef unsigned __int128 wide; /* (B - A) n^2 does not fit in 64 bits */
    const uint64_t grows = n < plan->steps ? n : plan->steps, rest = n - grows;
    if (plan->steps == 0)
        return n * plan->last;
    assert(plan->first <= plan->last); /* batches grow */
    const wide more = (wide)(plan->last - plan->first) * grows * grows / ((wide)plan->steps * 2);
    return plan->first * grows + (uint64_t)more + plan->last * rest;
}

uint32_t batch_plan_size(const struct batch_plan *plan, uint64_t n)
{
    return (uint32_t)(batch_plan_samples(plan, n + 1) - batch_plan_samples(plan, n));
}

double batch_plan_steps(const struct batch_plan *plan, double warmup, double samples)
{
    const double a = plan->first, b = plan->last;
    if (warmup < 1)
        return samples / (warmup * (a + b) / 2 + (1 - warmup) * b);
    if (samples >= warmup * (a + b) / 2)
        return warmup + (samples - warmup * (a + b) / 2) / b;
    const double slope = (b - a) / warmup; /* a n + slope n^2 / 2 = samples */
    return slope > 0 ? (sqrt(a * a + 2 * slope * samples) - a) / slope : samples / b;
}

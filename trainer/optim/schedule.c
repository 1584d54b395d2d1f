/* In: the number of an update. Out: its learning rate. */
#include "trainer/optim/schedule.h"

#include <assert.h>
#include <math.h>

double schedule_rate(const struct schedule *schedule, uint64_t update)
{
    assert(schedule->steps >= 1);
    const double steps = (double)schedule->steps;
    const double warmup = schedule->warmup < 1 ? schedule->warmup : schedule->warmup / steps;
    const double done = (double)update / steps;
    if (done < warmup)
        return schedule->rate * done / warmup;
    /* A run that only warms up ends at the peak; one that goes on after its last step stays at the end. */
    double left = warmup < 1 ? (1 - done) / (1 - warmup) : 1;
    left = left > 0 ? left : 0;
    switch (schedule->kind) {
    case SCHEDULE_LINEAR:
        return schedule->rate * left;
    case SCHEDULE_CONSTANT:
        return schedule->rate;
    case SCHEDULE_COSINE:
        return schedule->rate * (1 + cos(acos(-1) * (1 - left))) / 2;
    case SCHEDULE_POLY:
        return schedule->rate * sqrt(left);
    }
    assert(!"known schedule");
    return 0;
}

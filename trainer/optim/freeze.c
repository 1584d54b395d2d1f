#include "trainer/optim/freeze.h"

bool freeze_looks(const struct optimizer *optimizer, const struct freeze_state *freeze, uint64_t update)
{
    const uint64_t distance = (uint64_t)llround(1 / (1 - optimizer->beta2));
    return optimizer_kinds[optimizer->kind].compresses && optimizer->freeze_step == 0 && freeze->update == 0 &&
           update % (distance > 0 ? distance : 1) == 0;
}

/* While the rate rises, gradients change for that reason alone: v is not frozen yet. */
static bool is_warm(const struct schedule *schedule, uint64_t update)
{
    return schedule_rate(schedule, update + 1) <= schedule_rate(schedule, update);
}

void freeze_after(struct freeze_state *freeze, const struct optimizer *optimizer, const struct schedule *schedule,
                  uint64_t update, double norm)
{
    if (!optimizer_kinds[optimizer->kind].compresses || freeze->update > 0)
        return;
    if (optimizer->freeze_step > 0) {
        freeze->update = (double)update >= optimizer->freeze_step ? update : 0;
        return;
    }
    if (!freeze_looks(optimizer, freeze, update))
        return;
    if (is_warm(schedule, update) && freeze->norm > 0 && freeze->norm / norm >= optimizer->freeze_ratio)
        freeze->update = update;
    freeze->norm = (double)(float)norm;
}

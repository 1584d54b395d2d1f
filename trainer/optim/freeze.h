/* When 1-bit Adam freezes its second moments v: after a number of updates; or, where that is 0 ("auto"), once they
 * hardly grow: after the warm-up, where |v|_1 before D = 1 / (1 - b2) updates is at least freeze_ratio of what it is
 * now. That is looked at after every D-th update. Pure. */
#ifndef TRAINER_OPTIM_FREEZE_H
#define TRAINER_OPTIM_FREEZE_H

#include "trainer/optim/optimizer.h"
#include "trainer/optim/schedule.h"

#include <stdbool.h>
#include <stdint.h>

struct freeze_state {
    uint64_t update; /* the last that changed v; 0: v is not frozen */
    double norm;     /* |v|_1 when it was last looked at, as float; 0: not yet */
};

/* Is |v|_1 wanted after this update? */
bool freeze_looks(const struct optimizer *optimizer, const struct freeze_state *freeze, uint64_t update);
/* After update `update`, which was applied. `norm` is |v|_1 where freeze_looks. Freezes or does not. */
void freeze_after(struct freeze_state *freeze, const struct optimizer *optimizer, const struct schedule *schedule,
                  uint64_t update, double norm);

#endif

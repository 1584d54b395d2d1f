/* When 1-bit Adam freezes its second moments v: after freeze_step updates; or, where that is 0 ("auto"), after the
 * warm-up, once v hardly grows: |v|_1 before D = 1 / (1 - b2) updates is at least freeze_ratio of what it is now. That
 * is checked after every D-th update. Pure. */
#pragma once

#include "trainer/optim/optimizer.h"
#include "trainer/optim/schedule.h"

struct freeze_state {
    uint64_t update; /* the last update that changed v; 0: v is not frozen */
    double norm;     /* |v|_1 at the last check, as float; 0: none yet */
};

/* Whether |v|_1 is needed after this update. */
bool freeze_looks(const struct optimizer *optimizer, const struct freeze_state *freeze, uint64_t update);
/* Decides after update `update`, which was applied, whether v is frozen. `norm` is |v|_1 where freeze_looks. */
void freeze_after(struct freeze_state *freeze, const struct optimizer *optimizer, const struct schedule *schedule,
                  uint64_t update, double norm);

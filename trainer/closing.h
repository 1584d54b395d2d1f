/* What a person sees when a training is at its end: the closing lines on stderr, with the commands that may come next,
 * and with --json the facts as one object on stdout. */
#ifndef TRAINER_CLOSING_H
#define TRAINER_CLOSING_H

#include "trainer/energy.h"
#include "trainer/metric.h"
#include "trainer/run.h"
#include "trainer/screen.h"
#include "trainer/setup.h"
#include "trainer/step.h"

#include <stdint.h>

struct closing {
    const struct setup *setup;
    const struct run *run;
    const struct position *position; /* NULL: the run was finished before, and nothing was done */
    double seconds;                  /* of this start, from its first moment on: opening, saving, evaluating included */
    uint64_t parameters;             /* count, where something was done */
    const struct screen *screen;
    uint64_t best;                       /* step of the checkpoint with the least held-out loss; 0: none is kept */
    double best_loss;                    /* of it, where something was done */
    const struct evaluation *evaluation; /* after the last step; NULL: none was made by this start */
    const struct energy *energy;         /* who counted what this start used, */
    double joules;                       /* and how much; NAN: nobody */
    const struct evaluation *each;       /* of it, of each dataset of a mixture */
};

void closing_say(const struct closing *closing);

#endif

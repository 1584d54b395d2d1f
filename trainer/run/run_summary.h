/* The output at the end of a training: the summary on stderr, with the commands that may come next, and with
 * --json the facts as one object on stdout. */
#pragma once

#include "trainer/run/run.h"
#include "trainer/run/console.h"
#include "trainer/run/setup.h"

struct run_summary {
    const struct setup *setup;
    const struct run *run;
    const struct position *position; /* NULL: the run had already finished, and nothing was done */
    double seconds;                  /* of this start in total, including opening, saving and evaluating */
    uint64_t parameters;             /* their number; set only if `position` is */
    const struct console *console;
    uint64_t best;                       /* step of the kept checkpoint with the least held-out loss; 0: none */
    double best_loss;                    /* its loss; set only if `position` is */
    const struct evaluation *evaluation; /* after the last step; NULL: this start made none */
    const struct evaluation *each;       /* `evaluation` for each dataset of a mixture */
};

void run_summary_print(const struct run_summary *summary);

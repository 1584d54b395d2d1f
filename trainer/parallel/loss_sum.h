/* Adds the sums of losses of a step over its passes and over the processes of a run.
 *
 *     loss_sum_open → { loss_sum_begin → loss_sum_pass … → loss_sum_finish } … → loss_sum_close
 *
 * With parts (--same-bits) every pass is one part of the batch, and the losses of all parts are added in the order of
 * the parts, so the sum does not depend on which process computed which. One thread calls; begin and finish are called
 * by all processes. */
#pragma once

#include "base/error.h"
#include "trainer/comm/comm.h"
#include "trainer/comm/rendezvous.h"
#include "trainer/backend/ops.h"

#include <stdint.h>

struct loss_sum {
    struct comm *comm;             /* borrowed */
    struct rendezvous *rendezvous; /* the same; NULL: one process */
    uint64_t number;               /* of the step */
    double sums[STEP_SUMS];
    /* With parts only. */
    uint64_t parts, part;          /* of a batch; this process's next one */
    uint64_t *borders;             /* [size + 1] process r has the parts [borders[r], borders[r + 1]) */
    double (*of_parts)[STEP_SUMS]; /* [parts] */
    size_t *counts;                /* [size] doubles in of_parts from each process */
};

/* `parts`: 0: passes are not parts. `borders` as in loss_sum_redivide. */
void loss_sum_open(struct loss_sum *losses, struct comm *comm, struct rendezvous *rendezvous, uint64_t parts,
                   const uint64_t *borders);
void loss_sum_close(struct loss_sum *losses); /* safe on a zeroed one */
/* Between steps: changes which parts each process has: borders[size + 1], from 0 to `parts`. Copied. Without parts does
 * nothing. */
void loss_sum_redivide(struct loss_sum *losses, const uint64_t *borders);

void loss_sum_begin(struct loss_sum *losses, uint64_t number);
/* After a pass: adds its sums. */
void loss_sum_pass(struct loss_sum *losses, const double sums[STEP_SUMS]);
/* Collective. *sums become those of the whole batch. `refused`: gradients of this process that could not be added; if
 * any process has some, sums[0] is NaN. Errors: those of comm. */
int loss_sum_finish(struct loss_sum *losses, int64_t refused, double sums[STEP_SUMS], struct error *err);

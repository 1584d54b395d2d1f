/* Diagnoses a step whose loss or gradient is not finite: which weights, gradients and samples cause it. */
#pragma once

#include "trainer/run/step.h"

#define NONFINITE_NAME "not-finite.json"

/* Called by all processes, each with the samples of its share; all get the findings of all.
 *
 * Returns ERR_NUMERIC, whose text names the step, a tensor and samples. The complete lists are written to
 * NONFINITE_NAME in `directory` (NULL: nothing is written), whose newest checkpoint is that of step `saved` (0: none).
 * `samples` are the step's. The parameters must be those from before the step. */
int diagnose_nonfinite(struct engine *engine, struct process_group *processes, const struct loader_options *samples,
                       const struct step_facts *facts, const char *directory, uint64_t saved, struct error *err);

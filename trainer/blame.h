/* A step whose loss or gradient is not finite: which weights, gradients and samples it comes from. */
#ifndef TRAINER_BLAME_H
#define TRAINER_BLAME_H

#include "base/error.h"
#include "trainer/step.h"
#include "trainer/team.h"

#define BLAME_NAME "not-finite.json"

/* Of all processes of the team, each with the samples of its share; all learn what all found.
 *
 * ERR_NUMERIC with the step, a tensor and samples in its text; all of them go to BLAME_NAME in `directory` (NULL:
 * nothing is written), whose newest checkpoint is that of step `saved` (0: it has none). `samples` are the step's;
 * its gradients and their squares are still there, parameters as they were before it. */
int blame(struct engine *engine, struct team *team, const struct loader_options *samples,
          const struct step_facts *facts, const char *directory, uint64_t saved, struct error *err);

#endif

/* A step that came to no number: whose fault it is. */
#ifndef TRAINER_BLAME_H
#define TRAINER_BLAME_H

#include "base/error.h"
#include "trainer/screen.h"

struct training;

#define BLAME_NAME "not-finite.json"

/* ERR_NUMERIC with the step, a tensor and samples in its text; all of them go to BLAME_NAME in the run's directory. The
 * step's gradients and their squares are still there, its parameters and samples as they were before it. */
int blame(struct training *training, const struct step_facts *facts, struct error *err);

#endif

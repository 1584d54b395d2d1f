/* What a time limit leaves room for: --time-limit, or the end of the Slurm job that we are in. What is ahead takes as
 * long as the longest of its kind so far; before the first, as estimated. All in seconds of clock_now. */
#ifndef TRAINER_LIMIT_H
#define TRAINER_LIMIT_H

#include "trainer/training.h"

double limit_deadline(const struct settings *settings); /* INFINITY: none */

double limit_step_seconds(const struct training *training);
double limit_save_seconds(const struct training *training);
double limit_evaluation_seconds(const struct training *training);

/* Has this start made a step or an evaluation? */
bool limit_moved(const struct training *training);
/* ERR_USAGE where no step can be made and saved before the deadline. */
int limit_check(const struct training *training, struct error *err);
/* Fails with ERR_USAGE: this start has made nothing in time, and a start like it would not. */
int limit_fail(const struct training *training, struct error *err);

#endif

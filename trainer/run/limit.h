/* What fits into a time limit: --time-limit, or the end of the Slurm job. A step, save or evaluation is assumed to take
 * as long as the longest so far, or before the first one as long as estimated. All in seconds of clock_now. */
#pragma once

#include "trainer/run/training.h"

double limit_deadline(const struct settings *settings); /* INFINITY: none */

double limit_step_seconds(const struct training *training);
double limit_save_seconds(const struct training *training);
double limit_evaluation_seconds(const struct training *training);

/* Whether this start has made a step or an evaluation. */
bool limit_moved(const struct training *training);
/* ERR_USAGE if no step can be made and saved before the deadline. */
int limit_check(const struct training *training, struct error *err);
/* Fails with ERR_USAGE: this start could do nothing in time, nor could another one like it. */
int limit_fail(const struct training *training, struct error *err);

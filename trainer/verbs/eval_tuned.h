/* dstrain eval of a fine-tuned model: its scores on the task's dev data, as its training computes them at its end. */
#pragma once

#include "trainer/recipe/settings.h"

/* Whether these options and this directory ask for scores of a task: --task, --dev or --data is given, or the model was
 * fine-tuned and --shards is not. */
bool eval_tuned_asked(const struct settings *settings, const char *directory);
/* Prints the scores. The task is that of --task, else of the run's record, else what config.json says: ERR_USAGE where
 * none or several fit. The data are those of --dev or --data, else the run's. ERR_MISMATCH: the model has no head for
 * the task; ERR_NUMERIC: its numbers are not finite. Settings that a run records (length, batch, precision) are those
 * of the run unless they are given, so that the scores are equal to the bit. */
int eval_tuned(struct settings *settings, const char *directory, struct error *err);

/* The file that an option names for results. Checked before the work starts, because the work may take hours. */
#ifndef TRAINER_KEEP_TARGET_H
#define TRAINER_KEEP_TARGET_H

#include "base/error.h"

/* Checks that `path`, the value of --`option`, can be written and is no file of a run, a model or a dataset: ERR_USAGE.
 * NULL is no file and passes. Other files may be replaced. */
int target_check(const char *option, const char *path, struct error *err);

#endif

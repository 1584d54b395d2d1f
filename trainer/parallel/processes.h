/* Finds this process's rank and the number of processes, from options and environment, and prepares for it before a
 * verb runs. */
#pragma once

#include "base/launcher.h"
#include "trainer/recipe/settings.h"

/* Whether several processes may run a verb together: those that take --world-size; verify only with --replay. */
bool processes_supported(const char *verb, const struct settings *settings);

/* Fills *launch and adapts the settings: each process gets its part of --threads, and ranks above 0 are quiet.
 * ERR_USAGE: options or environment are contradictory, or `verb` is for one process; also the errors of
 * run_key_find. */
int processes_find(struct settings *settings, const char *verb, struct launch *launch, struct error *err);

/* The weight that --share gives this process: 1 for "equal", 0 for "auto". ERR_USAGE: it is neither of these nor a
 * positive number. */
int processes_weight(const char *share, double *weight, struct error *err);

/* Which of how many processes this one is, from options and environment, and what that means before a verb runs. */
#ifndef TRAINER_PROCESSES_H
#define TRAINER_PROCESSES_H

#include "base/launcher.h"
#include "trainer/settings.h"

/* Which verbs many processes may run together, of verify with --replay. The only place that says so. */
bool processes_supported(const char *verb, const struct settings *settings);

/* Finds it. Settings of a child follow: its share of --threads; ranks above 0 are quiet. ERR_USAGE: the options or the
 * environment contradict themselves, or `verb` is for one process. */
int processes_find(struct settings *settings, const char *verb, struct launch *launch, struct error *err);

/* The weight that --share gives this process: 1 for "equal", 0 for "auto". ERR_USAGE: it is neither that nor a positive
 * number. */
int processes_weight(const char *share, double *weight, struct error *err);

#endif

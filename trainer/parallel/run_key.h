/* The key of a run's processes, as the user gives it: --key FILE, or else the variable DS_KEY. */
#pragma once

#include "base/launcher.h"
#include "trainer/recipe/settings.h"

/* Sets launch->key, if there is one, and removes DS_KEY from the environment. A child has the key from its parent.
 * ERR_USAGE: DS_KEY is no key, or a key is missing although other machines can reach the place where the processes
 * meet; otherwise the errors of job_key_read. */
int run_key_find(const struct settings *settings, struct launch *launch, struct error *err);

/* --key none: whoever reaches rank 0 may join. */
bool run_key_is_none(const struct settings *settings);

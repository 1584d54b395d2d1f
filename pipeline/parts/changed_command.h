/* The command of the user with some options changed, for hints and warnings. */
#pragma once

#include "pipeline/parts/dsdata_settings.h"

struct option_change {
    const char *name, *value; /* NULL: a flag */
};
/* This command with other options, [count], in place of those that were typed; `fresh`: and with --fresh where a build
 * would continue what it has begun. Freed with mem_free. */
char *changed_command(const struct dsdata_settings *settings, const struct option_change *changes, size_t count,
                      bool fresh);

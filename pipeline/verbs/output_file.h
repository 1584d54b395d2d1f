/* The file after --out, checked before the work begins (base/target.h). */
#pragma once

#include "base/target.h"
#include "pipeline/parts/dsdata_settings.h"

/* Refuses a `path` that may not be created or replaced. `form` is that of what the command writes (NULL: it recognises
 * nothing). Inputs, the template file and `bare` arguments are what it reads. Standard output ("-" or NULL) is fine. */
int output_file_check(const struct dsdata_settings *settings, struct opt_paths bare, const char *path,
                      const struct target_form *form, struct error *err);

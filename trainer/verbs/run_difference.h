/* dstrain show A B …: how runs, checkpoints or models differ. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define SHOW_MAX 8u /* as many as a report compares */

/* Prints the differences, or with `as_json` {"same", "differences": [{"of", "name", "a", "b", …}]}. `facts` are what
 * show --json says about each, with its "path". */
void difference_print(json_t *const *facts, size_t count, bool as_json);

/* What is known of Lua modules (data/modules.txt). */
#pragma once

#include "pipeline/text/templates/renderings.h"

extern const char modules_text[]; /* made by cmake/tables.cmake */

struct templates *modules_open(void); /* for templates_free */
/* The row of a function of a module, both folded; NULL: there is none, or one that leads to the template *name, which
 * is empty if nothing is known. */
const struct rendering_row *modules_find(const struct templates *modules, struct str module, struct str function,
                                         struct str *name, char scratch[2 * NAME_BYTES_MAX]);
/* True if the module draws a box and nothing else. */
bool module_is_box(const struct templates *modules, struct str module);

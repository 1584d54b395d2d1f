/* Optional parts of a program that need a library not installed everywhere. Each is a file beside the program, loaded
 * on demand, so that the program itself starts without that library. */
#pragma once

#include "base/error.h"

/* Loads the module `file` and returns the data that it exports as `symbol`, which begins with the number of its
 * interface; NULL with an error. `what` names the part to the user ("the CUDA backend"). ERR_USAGE: the file is
 * missing. ERR_RESOURCE: it does not load; the caller adds the hint, because it knows the library. ERR_MISMATCH: it
 * belongs to another version of the program. A module is never unloaded. */
const void *module_load(const char *file, const char *symbol, int interface, const char *what, struct error *err);

/* The path of a file in the program's own directory; the caller frees it with mem_free. NULL with an error. */
char *module_beside(const char *file, struct error *err);

/* In a static program: becomes the first program that matches this pattern of glob(3), relative to its own directory,
 * which has what a static one lacks. Returns where there is none, and in any other program. */
void module_hand_over(const char *pattern, char **argv);

/* What a static program says of a feature that a module would have; %s: the package that a build needs. */
#define STATIC_HINT                                                                                                    \
    "the programs of the wheel and of the release archive are static and load no modules: install %s and build from "  \
    "the sources, without -DDS_STATIC=ON (README.md, Install)"

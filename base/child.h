/* Another program as a child of this one. */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include "base/error.h"

/* Runs the program with these words, the first of which is its name and the last NULL, and waits for its end. SIGINT
 * and SIGQUIT, which a terminal sends to both, are left to the child. Returns its exit code, or 128 + the number of the
 * signal that ended it; < 0: it cannot be started. */
int child_run(const char *program, char *const words[], struct error *err);

#endif

/* Another program as a child of this one. */
#pragma once

#include "base/error.h"

/* Runs the program with these words, the first of which is its name and the last NULL, and waits for its end. SIGINT
 * and SIGQUIT, which a terminal sends to both, are left to the child. Returns its exit code, or 128 + the number of the
 * signal that ended it; < 0: it cannot be started. */
int child_run(const char *program, char *const words[], struct error *err);

/* A program whose output is read: started with child_open, which looks for words[0] in PATH and gives it the open file
 * `in` as standard input; then its output comes from `out`, until child_close, which returns as child_run does. A
 * program that is not there ends with 127. Close it on error too; safe on CHILD_NONE. */
struct child_output {
    int pid, out;
};
#define CHILD_NONE ((struct child_output){0, -1})
int child_open(struct child_output *child, char *const words[], int in, struct error *err);
int child_close(struct child_output *child);

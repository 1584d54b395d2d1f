/* Runs other programs as child processes. */
#pragma once

#include "base/error.h"

/* Runs the program with `words` as its argv, which ends with NULL, and waits for its end. SIGINT and SIGQUIT, which a
 * terminal sends to both, are left to the child. Returns its exit code, or 128 + the number of the signal that ended
 * it; < 0: it cannot be started. */
int child_run(const char *program, char *const words[], struct error *err);

/* A program whose output is read. child_open looks for words[0] in PATH and starts it with `in` as standard input. Its
 * output is then read from `out`. child_close waits for it and returns what child_run does. The exit code of a program
 * that cannot be executed is 127. Close it on error too; safe on CHILD_NONE. */
struct child_output {
    int pid, out;
};
#define CHILD_NONE ((struct child_output){0, -1})
int child_open(struct child_output *child, char *const words[], int in, struct error *err);
int child_close(struct child_output *child);

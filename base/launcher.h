/* Has a launcher (mpirun, srun, torchrun) started several of us? */
#ifndef BASE_LAUNCHER_H
#define BASE_LAUNCHER_H

#include "base/error.h"

/* How many processes the environment announces, and which variable does: 1 and NULL where none announces several. A Slurm
 * allocation counts only inside a step of srun. */
unsigned long launcher_processes(const char **variable);

/* For what one process does alone: several equal ones side by side would waste the machine and fight for one directory.
 * ERR_USAGE where there are several. `program`: its name, for the hint. */
int launcher_refuse(const char *program, struct error *err);

#endif

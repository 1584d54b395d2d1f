/* Has a launcher (mpirun, srun, torchrun) started several of us? Until processes work together, several equal ones side by
 * side would waste the machine and fight for one directory. */
#ifndef BASE_LAUNCHER_H
#define BASE_LAUNCHER_H

#include "base/error.h"

/* ERR_USAGE where the environment announces more than one process; a Slurm allocation counts only inside a step of srun.
 * `program`: its name, for the hint. */
int launcher_refuse(const char *program, struct error *err);

#endif

/* The parent of --processes N: it is no rank, but starts the ranks, and ends as they did. */
#ifndef TRAINER_COMM_SPAWN_H
#define TRAINER_COMM_SPAWN_H

#include "base/launcher.h"

/* Starts launch->children processes of this program with the same arguments, as ranks launch->rank and on, and waits
 * until all have ended. Where they are all ranks and no place was named, they meet at a loopback port.
 *
 * - Each learns its rank from DS_CHILD (launch_find). Rank 0 has our standard files; the others read and print nothing,
 *   but have our stderr for warnings.
 * - Signals that ask for a stop are handed on. When this process dies, they are killed.
 * - When one has ended with an error, those that do not end by themselves are asked to, and killed in the end.
 *
 * Returns 0 or the exit code of them all; < 0 with the first error that one of them had: its own one rather than that
 * another was lost, and that rather than a stop. ERR_PEER: one was ended by a signal, even if those that were left
 * report only the stop that we asked for. Single-threaded callers only. */
int spawn_run(const struct launch *launch, char **argv, struct error *err);

/* Of a child, in its main: its errors go to the parent (error_report_to). */
void spawn_child_open(const struct launch *launch);

#endif

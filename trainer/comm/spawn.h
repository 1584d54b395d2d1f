/* The parent of --processes N: it is not a rank, but starts the ranks, and ends as they did. */
#pragma once

#include "base/launcher.h"

/* Starts launch->children processes of this program with the same arguments, as ranks from launch->rank on, and waits
 * until all have ended. If they are all ranks of the run and no rendezvous place was given, they meet at a loopback
 * port.
 *
 * - Each learns its rank from DS_CHILD (launch_find), and the job's key from a pipe. Without a key they get a random
 *   one, if they are all ranks of the run.
 * - Rank 0 has our standard files; the others read and print nothing, but have our stderr for warnings.
 * - Signals that ask for a stop are passed on. When this process dies, its children are killed.
 * - When one has ended with an error, those that do not end by themselves are asked to stop, and finally killed.
 *
 * Returns 0 or the first non-zero exit code; < 0 with one error: a child's own error rather than the loss of another,
 * and that rather than a stop. ERR_PEER: one was ended by a signal, even if the others report only the stop that we
 * asked for. Only for single-threaded callers. */
int spawn_run(const struct launch *launch, char **argv, struct error *err);

/* For a child, in its main: takes the job's key from the parent, and sends errors to it (error_report_to). Nothing
 * happens in other processes. ERR_PEER: the parent gave no key. */
int spawn_child_open(struct launch *launch, struct error *err);

/* How many threads can run at once here, and in how much memory. */
#ifndef BASE_CORES_H
#define BASE_CORES_H

#include <stdbool.h>
#include <stdint.h>

/* Threads that affinity and cgroup limits allow (at least 1). */
unsigned cores_allowed(void);
/* Warns, from a main, of more than four times as many threads as that. */
void cores_warn(uint64_t threads);

/* May threads keep to a core each? Where the process has as many threads as the machine has cores, and nobody bound it:
 * no affinity, no quota. On a few cores they may not: there another program's load costs more than moving does. */
bool cores_are_ours(unsigned threads);
/* From now on the calling thread runs on core `which` of those that it has, counted from 0. */
void cores_keep(unsigned which);

/* Bytes of memory that this process may have at most: the machine's, or the limit of its control group. */
uint64_t memory_allowed(void);

#endif

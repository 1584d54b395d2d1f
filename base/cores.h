/* How many threads can run at once on this machine, and how much memory there is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Threads that affinity and cgroup limits allow (at least 1). */
unsigned cores_allowed(void);
/* Warns if threads are more than four times as many. For mains. */
void cores_warn(uint64_t threads);

/* True if each thread may be pinned to a core: the process has as many threads as the machine has cores, and no
 * affinity or quota is set. False on a few cores, where load of other programs costs more than migration does. */
bool cores_are_ours(unsigned threads);
/* Pins the calling thread to core `which` of those that it may use, counted from 0. */
void cores_keep(unsigned which);

/* The most memory in bytes that this process may have: the machine's, or the limit of its control group. */
uint64_t memory_allowed(void);

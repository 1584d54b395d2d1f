/* How many threads can run at once on this machine, and how much memory there is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Threads that affinity and cgroup limits allow (at least 1). */
unsigned cores_allowed(void);
/* Warns if `threads` is more than four times cores_allowed(). For main functions. */
void cores_warn(uint64_t threads);

/* True if each thread may be pinned to a core: `threads` is the number of the machine's cores, and no affinity or quota
 * is set. False for fewer than 8, where the load of other programs costs more than migration. */
bool cores_are_ours(unsigned threads);
/* Pins the calling thread to core `which` of those that it may use, counted from 0. */
void cores_keep(unsigned which);

/* The bytes of memory that this process may use: the machine's, or less if its cgroup, or one above it, has a limit. */
uint64_t memory_allowed(void);

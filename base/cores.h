/* How many threads can run at once here, and in how much memory. */
#ifndef BASE_CORES_H
#define BASE_CORES_H

#include <stdint.h>

/* Threads that affinity and cgroup limits allow (at least 1). */
unsigned cores_allowed(void);
/* Warns, from a main, of more than four times as many threads as that. */
void cores_warn(uint64_t threads);

/* Bytes of memory that this process may have at most: the machine's, or the limit of its control group. */
uint64_t memory_allowed(void);

#endif

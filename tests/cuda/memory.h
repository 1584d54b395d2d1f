/* Device memory on the host, inaccessible while no kernel, copy or product runs: host code that follows a device
 * pointer ends the program with a message, as does an access past the end of a block.
 *
 * There are 16 GiB; if the environment has EMULATED_FREE, only that many bytes are free. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EMULATED_MEMORY ((size_t)1 << 34)

void *device_take(size_t bytes); /* NULL if there is not enough; filled with NaN in every type */
void device_give(void *memory);  /* may be NULL */
size_t device_free_bytes(void);

/* Whether all these bytes are in one block. */
bool device_holds(const void *memory, size_t bytes);

/* A recursive lock of device memory. */
void device_lock(void);
void device_unlock(void);
/* Takes the lock and makes device memory accessible. */
void device_enter(void);
void device_leave(void);

#ifdef __cplusplus
}
#endif

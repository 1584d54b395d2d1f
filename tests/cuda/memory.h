/* The device's memory, on the host, locked while no kernel, copy or product is at work: host code that follows a device
 * pointer ends the program with a message, as does a read or write past the end of a block.
 *
 * It has 16 GiB, of which other programs hold all but EMULATED_FREE bytes where the environment says so. */
#ifndef TESTS_CUDA_MEMORY_H
#define TESTS_CUDA_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EMULATED_MEMORY ((size_t)1 << 34)

void *device_take(size_t bytes); /* NULL: there is not enough left; begins as NaN in every type */
void device_give(void *memory);  /* may be NULL */
size_t device_free_bytes(void);

/* Does one block hold these bytes? */
bool device_holds(const void *memory, size_t bytes);

/* One thread at a time; may be nested. */
void device_lock(void);
void device_unlock(void);
/* The same, and the memory is open. */
void device_enter(void);
void device_leave(void);

#ifdef __cplusplus
}
#endif

#endif

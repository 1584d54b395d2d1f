/* The device's memory, on the host, locked while no kernel, copy or product is at work: host code that follows a device
 * pointer ends the program with a message, as does a read or write past the end of a block.
 *
 * It has 16 GiB, of which other programs hold all but EMULATED_FREE bytes where the environment says so. */
#ifndef TESTS_CUDA_MEMORY_H
#define TESTS_CUDA_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EMULATED_MEMORY ((size_t)1 << 34)

void *device_take(size_t bytes); /* NULL: there is not enough left; begins as NaN in every type */
void device_give(void *memory);  /* may be NULL */
size_t device_free_bytes(void);

/* May be nested. */
void device_enter(void);
void device_leave(void);

#ifdef __cplusplus
}
#endif

#endif

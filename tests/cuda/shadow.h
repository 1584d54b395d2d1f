/* What is known of each byte of a block's shared memory (shadow.cpp): nothing, without -fsanitize=thread. */
#ifndef TESTS_CUDA_SHADOW_H
#define TESTS_CUDA_SHADOW_H

#include <stddef.h>
#include <stdint.h>

/* A block begins, with dynamic shared memory and with all that is static. */
void shadow_block(char *dynamic, size_t dynamic_bytes, char *fixed, size_t fixed_bytes);
/* This thread of it goes on, after so many barriers of the block and of its warp. */
void shadow_thread(unsigned thread, size_t barriers, size_t warp_barriers);
/* No kernel's code runs now. */
void shadow_outside(void);
/* A copy that does not wait begins, or lands. */
void shadow_copy(const void *to, size_t bytes, bool lands);

#endif

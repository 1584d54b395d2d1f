/* Records of the accesses to each byte of a block's shared memory (shadow.cpp). They do nothing without
 * -fsanitize=thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A block begins with this dynamic and static shared memory. */
void shadow_block(char *dynamic, size_t dynamic_bytes, char *fixed, size_t fixed_bytes);
/* This thread of the block continues; the counts are the barriers of the block and of its warp before. */
void shadow_thread(unsigned thread, size_t barriers, size_t warp_barriers);
/* No kernel code runs from now on. */
void shadow_outside(void);
/* An asynchronous copy begins, or completes. */
void shadow_copy(const void *to, size_t bytes, bool lands);

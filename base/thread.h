/* Threads whose stack does not depend on the shell: pthread_create's default is `ulimit -s`, and 64 KiB, as some
 * servers set it, is too little. */
#pragma once

#include <pthread.h>
#include <stddef.h>

/* Over ten times the most ever needed (masking a sample of 4,096 pieces: 150 KiB, at most 192 KiB with sanitizers).
 * Only pages that are touched take memory. */
#define THREAD_STACK_BYTES ((size_t)2 << 20)

/* Starts a thread, to be joined or detached. Returns 0, or an errno value if the system has no more threads. */
int thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

/* Threads whose stack does not depend on the shell: pthread_create's default is `ulimit -s`, and 64 KiB, as some
 * servers set it, are too few. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stddef.h>

/* Over ten times what was ever needed (the masking of a sample of 4,096 pieces: 150 KiB, with sanitizers at most 192).
 * Only what is touched takes memory. */
#define THREAD_STACK_BYTES ((size_t)2 << 20)

/* Starts a thread, to be joined or detached. 0, or an errno value where the system gives no more. */
int thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

#endif

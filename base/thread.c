/* Starts threads whose stack has the size in thread.h, whatever ulimit -s says. */
#include "base/thread.h"

#include <assert.h>

int thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    const int wrong = pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
    assert(!wrong);
    const int result = pthread_create(thread, &attributes, run, argument);
    pthread_attr_destroy(&attributes);
    return result;
}

/* How a library that is polled waits for other processes. */
#pragma once

#include <time.h>

/* Sleeps between two polls: for a 32nd of the time waited so far, which bounds the delay, and for a tenth of a
 * millisecond at most, because MPI moves messages only when it is called. */
static inline void pause_between_polls(double waited)
{
    const double most = 1e-4, least = 2e-5, seconds = waited / 32 < most ? waited / 32 : most;
    if (seconds >= least)
        nanosleep(&(struct timespec){.tv_nsec = (long)(seconds * 1e9)}, NULL);
}

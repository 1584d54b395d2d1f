/* The few messages that the processes of one job send each other, and the interface of their transport. Only one thread
 * calls it. Waiting sleeps rather than spins, and ends when `given_up` returns true. Only ranks.c uses it.
 *
 * messages_mpi.c is compiled into the programs that use MPI, not into base, so that no other program needs the
 * library. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct patience {
    bool (*given_up)(void *context);
    void *context;
};

struct messages {
    const char *name; /* for people: "MPI" */
    /* 0, or -1 if the transport is missing or fails. `here`: how many of the processes are on this machine. */
    int (*open)(uint32_t *rank, uint32_t *count, uint32_t *here);
    /* Orderly shutdown: every process must call it. A process that leaves in any other way just exits. */
    void (*close)(void);
    /* Called by all processes: 0, or -1 if it failed or was given up. values[i] becomes the sum over all. */
    int (*all_reduce)(uint64_t *values, size_t count, struct patience patience);
    /* Sends the bytes of process `from` to all. */
    int (*broadcast)(uint32_t from, void *bytes, size_t size, struct patience patience);
};

/* NULL if this program was built without MPI. */
const struct messages *messages_mpi(void);

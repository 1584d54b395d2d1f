/* The few messages that the processes of one build send each other, over MPI where this program was built with it. One
 * thread. Waiting is asleep, and ends when `given_up` says so. Only ranks.c uses this. */
#ifndef PIPELINE_MESSAGES_H
#define PIPELINE_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool messages_built(void); /* with MPI */

/* 0, or -1 where MPI is not there or fails. `here`: how many of the processes are on this machine. */
int messages_open(uint32_t *rank, uint32_t *count, uint32_t *here);
/* In good order: everybody must call it. Who leaves otherwise just ends. */
void messages_close(void);

struct patience {
    bool (*given_up)(void *context);
    void *context;
};

/* Of all: 0, or -1 where it failed or was given up. */
int messages_sum(uint64_t *values, size_t count, struct patience patience);           /* the sums over all */
int messages_give(uint32_t from, void *bytes, size_t size, struct patience patience); /* those of `from` for all */

#endif

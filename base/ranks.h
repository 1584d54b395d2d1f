/* Several processes of one job, started by mpirun or srun: process `rank` of `count`; rank 0 is the first. Every
 * process makes the same calls in the same order, except the queries. NULL stands for a single process, for which all
 * of this does nothing.
 *
 * Messages (messages.h) are few, and processes sleep while they wait for them. The lock of the directory says who is
 * alive, so all processes notice within seconds when one dies, whatever they are doing. Then they stop, keep what is
 * done, and exit with ERR_PEER; one that does not get that far exits after LOST_SECONDS anyway. When one process is
 * asked to stop or fails, all others stop in the same way. One that is alive but makes no progress (it was stopped, or
 * its machine hangs) is reported after 10 s, and counts as dead after the peer timeout. */
#pragma once

#include "base/file.h"
#include "base/messages.h"

#define LOST_SECONDS 5.0

struct ranks;

/* `timeout`: seconds without a sign of life after which a process is lost; 0: never. NULL if no launcher has started
 * several of us. ERR_USAGE: one has, and `messages` is NULL (built without MPI) or finds only one process. */
int ranks_open(struct ranks **ranks, const struct messages *messages, uint64_t timeout, struct error *err);
/* Called by all processes, at the end or after an error; releases `lock`. */
void ranks_close(struct ranks *ranks, struct lock *lock);

uint32_t ranks_rank(const struct ranks *ranks);  /* 0 for a single process */
uint32_t ranks_count(const struct ranks *ranks); /* 1 for a single process */
uint32_t ranks_here(const struct ranks *ranks);  /* on this machine */

/* Starts watching the others. The first process has taken the lock of the directory; the others enter it. */
int ranks_watch(struct ranks *ranks, const char *directory, struct lock *lock, struct error *err);

/* Takes every process's result (< 0 with *err). Returns the same to all: 0, or < 0 with the error of one of them. */
int ranks_barrier(struct ranks *ranks, int result, struct error *err);
/* Sends the bytes of rank 0 to all. */
int ranks_broadcast(struct ranks *ranks, struct buf *bytes, struct error *err);
/* values[i] becomes the sum over all processes. */
int ranks_all_reduce(struct ranks *ranks, uint64_t *values, size_t count, struct error *err);

/* True in the one process that reports an error to the user. */
bool ranks_speaks(const struct ranks *ranks);

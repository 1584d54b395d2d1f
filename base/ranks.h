/* Several processes of one job, started by mpirun or srun. Process `rank` of `count`; rank 0 is the first. Every call
 * but the questions is made by all of them in the same order. NULL stands for one process alone: then all of this is
 * nothing.
 *
 * Messages (messages.h) are used for little, and waited for asleep: the lock of the directory says who is alive,
 * so that a process that dies is noticed by all others within seconds whatever they do. Then they stop, keep what is
 * done, and leave with ERR_PEER; who does not get so far leaves so after LOST_SECONDS. A stop on request, or a failure,
 * of one process stops all others in the same way. One that lives and does not move (it was stopped, or its machine
 * hangs) is named after 10 s, and lost like a dead one after the peer timeout. */
#ifndef BASE_RANKS_H
#define BASE_RANKS_H

#include "base/file.h"
#include "base/messages.h"

#define LOST_SECONDS 5.0

struct ranks;

/* `timeout`: seconds without a sign of life after which a process is lost, 0: never. NULL where no launcher has started
 * several of us. ERR_USAGE: one has, and `messages` is NULL (built without MPI), or it sees only one of them. */
int ranks_open(struct ranks **ranks, const struct messages *messages, uint64_t timeout, struct error *err);
/* Of all, at the end or after an error; `lock` is released. */
void ranks_close(struct ranks *ranks, struct lock *lock);

uint32_t ranks_rank(const struct ranks *ranks);  /* 0 for one alone */
uint32_t ranks_count(const struct ranks *ranks); /* 1 for one alone */
uint32_t ranks_here(const struct ranks *ranks);  /* on this machine */

/* From now on the others are watched. The first has taken the lock of the directory; the others enter it. */
int ranks_watch(struct ranks *ranks, const char *directory, struct lock *lock, struct error *err);

/* Everybody's result (< 0 with *err) in; the same out for all: 0, or < 0 with the error of one of them. */
int ranks_agree(struct ranks *ranks, int result, struct error *err);
/* The bytes of the first one for all. */
int ranks_give(struct ranks *ranks, struct buf *bytes, struct error *err);
/* values[i] becomes the sum of those of all. */
int ranks_sum(struct ranks *ranks, uint64_t *values, size_t count, struct error *err);

/* Is it ours to report an error to the user? One of all does. */
bool ranks_speaks(const struct ranks *ranks);

#endif

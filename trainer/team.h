/* The processes that train one run together. Rank 0 has the run's directory, decides what is done between two steps,
 * and speaks; every process computes a share of each batch. One process alone is a team of one: then all of this is
 * nothing.
 *
 *     team_open → team_compare, team_agree, team_give … while a training is opened
 *       → { team_control_begin, _end → a step, or a pause } … → team_close
 *
 * Two lines join them: the meeting (comm/meet.h) knows who is alive and what failed, struct comm (comm.h) carries
 * numbers. What fails at one process fails at all, with that error's code, once. Calls that say "of all" are made by
 * all processes in the same order. */
#ifndef TRAINER_TEAM_H
#define TRAINER_TEAM_H

#include "base/error.h"
#include "base/launcher.h"
#include "base/str.h"
#include "trainer/carrier.h"
#include "trainer/comm.h"
#include "trainer/comm/meet.h"
#include "trainer/settings.h"
#include "trainer/verdict.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What all know before a step. */
#define CONTROL_COUNTS 8
struct control {
    struct verdict verdict;         /* in: of rank 0; out: of rank 0, for all */
    int64_t counts[CONTROL_COUNTS]; /* in: of this process's share of the next batch; out: of the whole batch */
};

struct team {
    uint32_t rank, size;
    enum launch_kind launched;
    struct comm *comm;    /* of kind self for one alone */
    pthread_mutex_t lock; /* of `comm` against the meeting's thread */
    struct meet *meet;    /* NULL for one alone */
    struct carrier carrier;
    uint64_t goes_on;  /* the step that is finished though a stop was asked for; 0: none */
    uint64_t *weights; /* [size] --share of each, in millionths */
    bool adapts;       /* --share auto: shares change as the run goes on */
    struct team_message {
        int64_t words[3 + CONTROL_COUNTS];
        uint64_t number; /* of comm's operation */
    } message;           /* of team_control_begin */
};

/* Of all. Where a launcher or the command line says that we are several, they meet, see that they are of one program,
 * and join. ERR_PEER: somebody did not come; ERR_MISMATCH: another version; ERR_USAGE: the carrier is not there. */
int team_open(struct team *team, const struct settings *settings, struct error *err);
/* A team of one. */
int team_alone(struct team *team, struct error *err);
/* Closes it, with the verb's result (< 0 with *err); safe on one that team_open failed to open. Returns whether the
 * error is another process's to report: one of all does. */
bool team_leave(struct team *team, int result, struct error *err);
void team_close(struct team *team); /* of tests; safe on a zeroed one */

static inline bool team_leads(const struct team *team)
{
    return team->rank == 0;
}

/* Of all: everybody's result (< 0 with *err) in; 0, or for all the error of the first that failed, with its rank and
 * host. */
int team_agree(struct team *team, int result, struct error *err);
/* Of all: ERR_MISMATCH for all, naming both values and both hosts, where a value is not rank 0's. */
int team_compare(struct team *team, const char *name, const char *value, struct error *err);
/* Of all: the bytes of rank 0 for all. */
int team_give(struct team *team, void *bytes, size_t size, struct error *err);
/* Of all: the sums over all processes. */
int team_add(struct team *team, double *values, size_t count, struct error *err);
int team_add_counts(struct team *team, int64_t *values, size_t count, struct error *err);
/* Of all: the texts of all, each after the other with its NUL, in rank order. */
int team_gather(struct team *team, struct str text, struct buf *all, struct error *err);
/* Of all: ERR_NUMERIC for all, naming the ranks, where a hash is not that of most (of as many: rank 0's). */
int team_same(struct team *team, uint64_t hash, const char *what, struct error *err);

/* This process failed, or learned that another did: others are told, and *err is what all report. Returns -1. */
int team_fail(struct team *team, struct error *err);

/* Of all, once before every step and every pause: one message, which travels from the first call to the second while
 * this process does something else. */
void team_control_begin(struct team *team, const struct control *control);
int team_control_end(struct team *team, struct control *control, struct error *err);

/* Has a process failed or been lost? Cheap. */
bool team_has_failed(const struct team *team);
/* Was a stop asked of this process, or of another? */
bool team_stop_asked(struct team *team);
/* Is the step to be discarded: was a stop asked for, and has no process begun its sums? Waits for the others then,
 * unless this one has begun. Of several processes. */
bool team_halts(struct team *team, uint64_t step);

#endif

/* The processes that train one run together. Rank 0 has the run's directory, decides what is done between steps, and
 * writes to the screen; every process computes a share of each batch. For a team of one process all of this does
 * nothing.
 *
 *     team_open → team_compare, team_agree, team_give … while a training is opened
 *       → { team_control_begin, _end → a step, or a pause } … → team_close
 *
 * They communicate in two ways: the meeting (comm/meet.h) knows who is alive and what failed, struct comm (comm.h)
 * carries numbers. A failure of one process makes all of them fail, and is reported once (comm/meet.h has how). Calls
 * marked "collective" must be made by all processes in the same order. */
#ifndef TRAINER_PARALLEL_TEAM_H
#define TRAINER_PARALLEL_TEAM_H

#include "base/error.h"
#include "base/launcher.h"
#include "base/str.h"
#include "trainer/parallel/carrier.h"
#include "trainer/comm/comm.h"
#include "trainer/comm/meet.h"
#include "trainer/recipe/settings.h"
#include "trainer/parallel/verdict.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What all processes know before a step. */
#define CONTROL_COUNTS 8
struct control {
    struct verdict verdict;         /* in: rank 0's; out: rank 0's, in all processes */
    int64_t counts[CONTROL_COUNTS]; /* in: of this process's share of the next batch; out: of the whole batch */
};

struct team {
    uint32_t rank, size;
    enum launch_kind launched;
    struct comm *comm;    /* of kind COMM_SELF for a single process */
    pthread_mutex_t lock; /* protects `comm` against the meeting's thread */
    struct meet *meet;    /* NULL for a single process */
    struct carrier carrier;
    uint64_t goes_on;  /* the step that is finished although a stop was requested; 0: none */
    uint64_t *weights; /* [size] --share of each process, in millionths */
    bool adapts;       /* --share auto: shares change as the run goes on */
    struct team_message {
        int64_t words[3 + CONTROL_COUNTS];
        uint64_t number; /* of comm's operation */
    } message;           /* sent by team_control_begin */
};

/* Collective. If a launcher or the command line says that there are several processes, they meet, check that they run
 * the same program with the same options, and connect. ERR_PEER: a process did not come; ERR_MISMATCH: another version
 * or option; ERR_USAGE: the library of --comm is not available. */
int team_open(struct team *team, const struct settings *settings, struct error *err);
/* Opens a team of one process. */
int team_alone(struct team *team, struct error *err);
/* Closes the team with the verb's result (< 0 with *err); safe on one that team_open failed to open. Returns whether
 * another process reports the error: only one does. */
bool team_leave(struct team *team, int result, struct error *err);
void team_close(struct team *team); /* for tests; safe on a zeroed one */

static inline bool team_leads(const struct team *team)
{
    return team->rank == 0;
}

/* Collective: takes the result of each process (< 0 with *err). Returns 0, or in all processes the error of the first
 * that failed, with its rank and host. */
int team_agree(struct team *team, int result, struct error *err);
/* Collective: ERR_MISMATCH in all processes, naming both values and both hosts, if a value differs from rank 0's. */
int team_compare(struct team *team, const char *name, const char *value, struct error *err);
/* Collective: copies rank 0's bytes to all processes. */
int team_give(struct team *team, void *bytes, size_t size, struct error *err);
/* Collective: sums over all processes. */
int team_add(struct team *team, double *values, size_t count, struct error *err);
int team_add_counts(struct team *team, int64_t *values, size_t count, struct error *err);
/* Collective: appends the texts of all processes, each with its NUL, in rank order. */
int team_gather(struct team *team, struct str text, struct buf *all, struct error *err);
/* Collective: ERR_NUMERIC in all processes, naming the ranks, if a hash differs from the most common one (in a tie:
 * that of the lowest rank). */
int team_same(struct team *team, uint64_t hash, const char *what, struct error *err);

/* Called when this process failed, or has learned that another did: tells the others, and *err becomes the error that
 * all report. Returns -1. */
int team_fail(struct team *team, struct error *err);

/* Collective, once before every step and every pause: one message, sent by the first call and completed by the second,
 * so that the process can compute in between. */
void team_control_begin(struct team *team, const struct control *control);
int team_control_end(struct team *team, struct control *control, struct error *err);

/* Whether a process has failed or been lost. Cheap. */
bool team_has_failed(const struct team *team);
/* Whether a stop was requested from this process or another. */
bool team_stop_asked(struct team *team);
/* Whether to discard the step: true if a stop was requested and no process has begun the step's sums. After a stop
 * request it waits for the others, unless this process has begun its sums. Only for several processes. */
bool team_halts(struct team *team, uint64_t step);

#endif

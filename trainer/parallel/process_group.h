/* The processes that train one run together. Rank 0 has the run's directory, decides what is done between steps, and
 * writes to the console; every process computes a share of each batch. For a single process all of this does
 * nothing.
 *
 *     process_group_open → process_group_compare, _barrier, _broadcast … while a training is opened
 *       → { process_group_control_begin, _end → a step, or a pause } … → process_group_close
 *
 * They communicate in two ways: the rendezvous (comm/rendezvous.h) knows who is alive and what failed, struct comm
 * (comm.h) carries numbers. A failure of one process makes all of them fail, and is reported once (comm/rendezvous.h
 * has how). Calls marked "collective" must be made by all processes in the same order. */
#pragma once

#include "base/launcher.h"
#include "trainer/parallel/comm_backend.h"
#include "trainer/parallel/decision.h"

#include <pthread.h>

/* What all processes know before a step. */
#define CONTROL_COUNTS 8
struct control {
    struct decision decision;       /* in: rank 0's; out: rank 0's, in all processes */
    int64_t counts[CONTROL_COUNTS]; /* in: of this process's share of the next batch; out: of the whole batch */
};

struct process_group {
    uint32_t rank, size;
    enum launch_kind launched;
    struct comm *comm;             /* of kind COMM_SELF for a single process */
    pthread_mutex_t lock;          /* protects `comm` against the rendezvous' thread */
    struct rendezvous *rendezvous; /* NULL for a single process */
    struct comm_backend backend;
    uint64_t goes_on;  /* the step that is finished although a stop was requested; 0: none */
    uint64_t *weights; /* [size] --share of each process, in millionths */
    bool adapts;       /* --share auto: shares change as the run goes on */
    struct process_group_message {
        int64_t words[3 + CONTROL_COUNTS];
        uint64_t number; /* of comm's operation */
    } message;           /* sent by process_group_control_begin */
};

/* Collective. If a launcher or the command line says that there are several processes, they meet, check that they run
 * the same program with the same options, and connect. ERR_PEER: a process did not come; ERR_MISMATCH: another version
 * or option; ERR_USAGE: the library of --comm is not available. */
int process_group_open(struct process_group *processes, const struct settings *settings, struct error *err);
/* Opens a single process. */
int process_group_single(struct process_group *processes, struct error *err);
/* Closes the process group with the verb's result (< 0 with *err); safe on one that process_group_open failed to open.
 * Returns whether another process reports the error: only one does. */
bool process_group_leave(struct process_group *processes, int result, struct error *err);
void process_group_close(struct process_group *processes); /* for tests; safe on a zeroed one */

static inline bool process_group_is_leader(const struct process_group *processes)
{
    return processes->rank == 0;
}

/* Collective: takes the result of each process (< 0 with *err). Returns 0, or in all processes the error of the first
 * that failed, with its rank and host. */
int process_group_barrier(struct process_group *processes, int result, struct error *err);
/* Collective: ERR_MISMATCH in all processes, naming both values and both hosts, if a value differs from rank 0's. */
int process_group_compare(struct process_group *processes, const char *name, const char *value, struct error *err);
/* Collective: copies rank 0's bytes to all processes. */
int process_group_broadcast(struct process_group *processes, void *bytes, size_t size, struct error *err);
/* Collective: sums over all processes. */
int process_group_all_reduce(struct process_group *processes, double *values, size_t count, struct error *err);
int process_group_all_reduce_counts(struct process_group *processes, int64_t *values, size_t count, struct error *err);
/* Collective: appends the texts of all processes, each with its NUL, in rank order. */
int process_group_gather_texts(struct process_group *processes, struct str text, struct buf *all, struct error *err);
/* Collective: ERR_NUMERIC in all processes, naming the ranks, if a hash differs from the most common one (in a tie:
 * that of the lowest rank). */
int process_group_check_same(struct process_group *processes, uint64_t hash, const char *what, struct error *err);

/* Called when this process failed, or has learned that another did: tells the others, and *err becomes the error that
 * all report. Returns -1. */
int process_group_fail(struct process_group *processes, struct error *err);

/* Collective, once before every step and every pause: one message, sent by the first call and completed by the second,
 * so that the process can compute in between. */
void process_group_control_begin(struct process_group *processes, const struct control *control);
int process_group_control_end(struct process_group *processes, struct control *control, struct error *err);

/* Whether a process has failed or been lost. Cheap. */
bool process_group_has_failed(const struct process_group *processes);
/* Whether a stop was requested from this process or another. */
bool process_group_stop_asked(struct process_group *processes);
/* Whether to discard the step: true if a stop was requested and no process has begun the step's sums. After a stop
 * request it waits for the others, unless this process has begun its sums. Only for several processes. */
bool process_group_halts(struct process_group *processes, uint64_t step);

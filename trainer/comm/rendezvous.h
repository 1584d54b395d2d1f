/* The rendezvous: how the processes of one run find each other, exchange small values, and know who is alive.
 *
 *     rank 0 listens ── the others connect ── all are there ── every process reports once a second
 *
 *     rendezvous_open
 *       → _compare: all mean the same run → _set, _get: how gloo and NCCL connect
 *       → _progress, _set_waiting: where this process is; _failed, _stop_asked: what happened to others
 *       → rendezvous_close
 *
 * A thread of each process owns its sockets. Once a second it reports to rank 0 where its process is and whether it
 * moves. So a process that died is told apart from one that hangs, and every process can name it. The numbers of a step
 * do not travel here but through struct comm.
 *
 * NULL stands for a run of one process, in every call. Any thread may call everything but open and close; collective
 * calls must be made by all processes in the same order.
 *
 * With a key of 128 random bits or more nobody joins who does not have it, and no message between two processes can be
 * altered, repeated, reordered or left out unnoticed (handshake.h, line.h): the rendezvous ends then. Nothing is
 * encrypted: who listens to the network reads the options of the run. Without a key only processes of
 * the same user on this machine join, and root's (owner.h).
 *
 * A process that does not fit (another key, run, number of processes or program version, a rank that is taken) is sent
 * away with the reason, and the rendezvous goes on waiting for the right one. What waits to be sent to a process is
 * bounded. What another process says went wrong is shown as that, never as a fact, and never with a command to type. */
#pragma once

#include "base/job_key.h"

#define RENDEZVOUS_KEY_MAX      255u               /* bytes of a key */
#define RENDEZVOUS_VALUE_MAX    ((size_t)1 << 20)  /* bytes of a value */
#define RENDEZVOUS_BLOCK_MAX    ((size_t)16 << 10) /* bytes that one process gives in rendezvous_all_gather */
#define RENDEZVOUS_SECRET_BYTES 32u

struct rendezvous;

struct rendezvous_options {
    uint32_t rank, size;
    const char *endpoint; /* HOST:PORT or FILE; NULL: `broadcast` says where rank 0 is. Must outlive the rendezvous */
    const char *bind;     /* for rank 0: the address on which it listens; NULL: that of the endpoint (listen_open) */
    int listener;         /* for rank 0, from a parent: a listening socket, taken over; < 0: none */
    /* By which the processes know each other: the same in all. NULL or not given: a FILE or `broadcast` carries one
     * that rank 0 makes; at HOST:PORT there is none. */
    const struct job_key *key;
    /* Names the run, for processes that find another run at their place: the same in all of its processes, likely
     * another in other runs. At most 127 bytes; NULL: "". */
    const char *run;
    bool admits_all; /* without a key: anyone joins */
    /* Where something else (MPI) started us: gives rank 0's bytes to all. 0, or < 0 with *err. */
    int (*broadcast)(void *context, void *bytes, size_t size, struct error *err);
    void *broadcast_context;
    double patience;     /* seconds to wait for processes that have not come; 0: 600 */
    double remind;       /* seconds between log lines that name them; 0: 30 */
    double peer_timeout; /* seconds without a move after which a process counts as lost; 0: never */
    /* Called once when a process failed or was lost, by whichever thread learns of it; it may not call the rendezvous.
     * NULL: not called. */
    void (*failed)(void *context, const struct error *why);
    void *failed_context;
    /* Seconds after a failure until a process that does not ask rendezvous_failed is ended; 0: never. */
    double leave_timeout;
};

/* Waits until all processes are there. ERR_USAGE: this process cannot listen or write there, or another process has its
 * rank; ERR_MISMATCH: rank 0 has another key, run, number of processes or program version; ERR_PEER: a process did not
 * come in time; ERR_STOPPED: a signal came. With size 1, *rendezvous is NULL and nothing happens. */
int rendezvous_open(struct rendezvous **rendezvous, const struct rendezvous_options *options, struct error *err);
/* Leaves in good order; a process that ends without this counts as lost. Waits at most 2 s for the others to take
 * note. */
void rendezvous_close(struct rendezvous *rendezvous);

uint32_t rendezvous_size(const struct rendezvous *rendezvous); /* 1 for a single process */
/* The address at which the others reach this process: the near end of its line to rank 0. Processes on rank 0's machine
 * have the address under which other machines see that machine, if there are other machines. "127.0.0.1" for a single
 * process. */
const char *rendezvous_address(const struct rendezvous *rendezvous);
/* Bytes that only the processes of this rendezvous can compute, the same in all: HMAC-SHA-256(S, label), where S is
 * HMAC-SHA-256(job key, "dstrain meeting 2, secrets" | a nonce of rank 0). So another label and another rendezvous have
 * other bytes. Without a key whoever listens to the network can compute them too. */
void rendezvous_secret(const struct rendezvous *rendezvous, const char *label,
                       unsigned char secret[RENDEZVOUS_SECRET_BYTES]);

/* Named values: each is set once, by any process, and seen by all. rendezvous_get waits until the value is set:
 * ERR_PEER after `seconds`, or the failure of the rendezvous. It appends to *value. rendezvous_set: ERR_RESOURCE, the
 * value is too long. Not for a single process. */
int rendezvous_set(struct rendezvous *rendezvous, const char *key, struct str value, struct error *err);
int rendezvous_get(struct rendezvous *rendezvous, const char *key, double seconds, struct buf *value,
                   struct error *err);

/* Collective: every process gives a block and gets the blocks of all, in rank order. Errors: those of
 * rendezvous_failed. The caller releases *blocks, on errors too. */
struct rendezvous_blocks {
    struct buf bytes;
    struct str *of; /* [size], into `bytes` */
};
int rendezvous_all_gather(struct rendezvous *rendezvous, struct str block, struct rendezvous_blocks *blocks,
                          struct error *err);
void rendezvous_blocks_release(struct rendezvous_blocks *blocks);
/* The same where every process gives `size` bytes: fills all[size of the rendezvous] in rank order. ERR_PEER also if a
 * process gave another number of bytes. */
int rendezvous_all_gather_equal(struct rendezvous *rendezvous, const void *mine, size_t size, void *all,
                                struct error *err);

/* Collective: checks that the facts are equal in all processes. If not, ERR_MISMATCH in all of them, with the first
 * name that differs, both values and both hosts. All processes list the same names. */
struct rendezvous_fact {
    const char *name;  /* "program version" */
    const char *value; /* "0.1.0" */
    bool follows;      /* a rank other than 0 whose value is "" takes rank 0's */
};
int rendezvous_compare(struct rendezvous *rendezvous, const struct rendezvous_fact *facts, size_t count,
                       struct error *err);

/* Says where this process is: "bucket 3" of step 41; step 0 before the first one. Each call also says that it moves;
 * long work calls it now and then. */
__attribute__((format(printf, 3, 4))) void rendezvous_progress(struct rendezvous *rendezvous, uint64_t step,
                                                               const char *place, ...);
/* Begins or ends waiting for others. A process that waits is not taken for the one that hangs. */
void rendezvous_set_waiting(struct rendezvous *rendezvous, bool waits);
/* Begins or ends long work that cannot call rendezvous_progress, such as a checkpoint: meanwhile each report counts as
 * a move. A process that was stopped is lost all the same, because it sends no reports. */
void rendezvous_set_working(struct rendezvous *rendezvous, bool works);

/* Whether a process has failed or been lost. Cheap. */
bool rendezvous_has_failed(const struct rendezvous *rendezvous);
/* 0, or < 0 with what happened, the same in all processes: ERR_PEER "rank 2 (node7, pid 123) was lost at step 41 in
 * bucket 3", the error that rank 0 gave to rendezvous_fail, or ERR_PEER "rank 2 (node7, pid 123) says: ..." after
 * another process gave one (ERR_STOPPED if it was that). The caller adds which work is safe. */
int rendezvous_failed(struct rendezvous *rendezvous, struct error *err);
/* This process failed: tells all others. Puts rank and host before the text. If the rendezvous has failed already, *err
 * becomes its error, unless that is only what another process says: then this process keeps its own. Returns -1. */
int rendezvous_fail(struct rendezvous *rendezvous, struct error *err);
/* Whether this process reports errors to the user. Exactly one of all does. */
bool rendezvous_reports_errors(const struct rendezvous *rendezvous);

/* A stop was asked of this process: tells all others. */
void rendezvous_request_stop(struct rendezvous *rendezvous);
bool rendezvous_stop_asked(const struct rendezvous *rendezvous);

/* After a stop was asked for, a step whose sums no process has begun is discarded. Steps count from 1.
 * rendezvous_begin: this process begins the sums of a step, so all will finish it. rendezvous_has_begun: it has.
 * rendezvous_halt: it has not, and waits until that is known of all. *discard: all have halted; otherwise the step goes
 * on. Called once per step. */
void rendezvous_begin(struct rendezvous *rendezvous, uint64_t step);
bool rendezvous_has_begun(struct rendezvous *rendezvous, uint64_t step);
int rendezvous_halt(struct rendezvous *rendezvous, uint64_t step, bool *discard, struct error *err);

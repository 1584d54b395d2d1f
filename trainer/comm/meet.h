/* The meeting: how the processes of one run find each other, exchange small values, and know who is alive.
 *
 *     rank 0 listens ── the others connect ── all are there ── every process reports once a second
 *
 *     meet_open → meet_compare (do all mean the same run?) → meet_set, meet_get (how gloo and NCCL connect)
 *               → meet_move, meet_wait (where this process is) … meet_failed, meet_stop_asked (what happened to others)
 *               → meet_close
 *
 * A thread of each process owns its sockets. Once a second it reports to rank 0 where its process is and whether it
 * moves. So a process that died is told apart from one that hangs, and every process can name it. The numbers of a step
 * do not travel here but through struct comm.
 *
 * NULL stands for a run of one process, in every call. Any thread may call everything but open and close; collective
 * calls must be made by all processes in the same order.
 *
 * With a key of 128 random bits or more nobody joins who does not have it, and no message between two processes can be
 * altered, repeated, reordered or left out unnoticed (handshake.h, line.h): the meeting ends then. Nothing is
 * encrypted: who listens to the network reads the options of the run. Without a key only processes of
 * the same user on this machine join, and root's (owner.h).
 *
 * A process that does not fit (another key, run, number of processes or program version, a rank that is taken) is sent
 * away with the reason, and the meeting goes on waiting for the right one. What waits to be sent to a process is
 * bounded. What another process says went wrong is shown as that, never as a fact, and never with a command to type. */
#ifndef TRAINER_COMM_MEET_H
#define TRAINER_COMM_MEET_H

#include "base/error.h"
#include "base/job_key.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define MEET_KEY_MAX      255u               /* bytes of a key */
#define MEET_VALUE_MAX    ((size_t)1 << 20)  /* bytes of a value */
#define MEET_BLOCK_MAX    ((size_t)16 << 10) /* bytes that one process gives in meet_exchange */
#define MEET_SECRET_BYTES 32u

struct meet;

struct meet_options {
    uint32_t rank, size;
    const char *endpoint; /* HOST:PORT or FILE; NULL: `give` says where rank 0 is. Must outlive the meeting */
    const char *bind;     /* for rank 0: the address on which it listens; NULL: that of the endpoint (listen_open) */
    int listener;         /* for rank 0, from a parent: a listening socket, taken over; < 0: none */
    /* By which the processes know each other: the same in all. NULL or not given: a FILE or `give` carries one that
     * rank 0 makes; at HOST:PORT there is none. */
    const struct job_key *key;
    /* Names the run, for processes that find another run at their place: the same in all of its processes, likely
     * another in other runs. At most 127 bytes; NULL: "". */
    const char *run;
    bool admits_all; /* without a key: anyone joins */
    /* Where something else (MPI) started us: gives rank 0's bytes to all. 0, or < 0 with *err. */
    int (*give)(void *context, void *bytes, size_t size, struct error *err);
    void *give_context;
    double patience;     /* seconds to wait for processes that have not come; 0: 600 */
    double remind;       /* seconds between log lines that name them; 0: 30 */
    double peer_timeout; /* seconds without a move after which a process counts as lost; 0: never */
    /* Called once when a process failed or was lost, by whichever thread learns of it; it may not call the meeting.
     * NULL: not called. */
    void (*failed)(void *context, const struct error *why);
    void *failed_context;
    double leave_timeout; /* seconds after a failure until a process that does not ask meet_failed is ended; 0: never */
};

/* Waits until all processes are there. ERR_USAGE: this process cannot listen or write there, or another process has its
 * rank; ERR_MISMATCH: rank 0 has another key, run, number of processes or program version; ERR_PEER: a process did not
 * come in time; ERR_STOPPED: a signal came. With size 1, *meet is NULL and nothing happens. */
int meet_open(struct meet **meet, const struct meet_options *options, struct error *err);
/* Leaves in good order; a process that ends without this counts as lost. Waits at most 2 s for the others to take
 * note. */
void meet_close(struct meet *meet);

uint32_t meet_rank(const struct meet *meet); /* 0 for a single process */
uint32_t meet_size(const struct meet *meet); /* 1 for a single process */
/* The address at which the others reach this process: the near end of its line to rank 0. Processes on rank 0's machine
 * have the address under which other machines see that machine, if there are other machines. "127.0.0.1" for a single
 * process. */
const char *meet_address(const struct meet *meet);
/* Bytes that only the processes of this meeting can compute, the same in all: HMAC-SHA-256(S, label), where S is
 * HMAC-SHA-256(job key, "dstrain meeting 2, secrets" | a nonce of rank 0). So another label and another meeting have
 * other bytes. Without a key whoever listens to the network can compute them too. */
void meet_secret(const struct meet *meet, const char *label, unsigned char secret[MEET_SECRET_BYTES]);

/* Named values: each is set once, by any process, and seen by all. meet_get waits until the value is set: ERR_PEER
 * after `seconds`, or the failure of the meeting. It appends to *value. meet_set: ERR_RESOURCE, the value is too long.
 * Not for a single process. */
int meet_set(struct meet *meet, const char *key, struct str value, struct error *err);
int meet_get(struct meet *meet, const char *key, double seconds, struct buf *value, struct error *err);

/* Collective: every process gives a block and gets the blocks of all, in rank order. Errors: those of meet_failed. The
 * caller releases *blocks, on errors too. */
struct meet_blocks {
    struct buf bytes;
    struct str *of; /* [size], into `bytes` */
};
int meet_exchange(struct meet *meet, struct str block, struct meet_blocks *blocks, struct error *err);
void meet_blocks_release(struct meet_blocks *blocks);
/* The same where every process gives `size` bytes: fills all[size of the meeting] in rank order. ERR_PEER also if a
 * process gave another number of bytes. */
int meet_exchange_all(struct meet *meet, const void *mine, size_t size, void *all, struct error *err);

/* Collective: checks that the facts are equal in all processes. If not, ERR_MISMATCH in all of them, with the first
 * name that differs, both values and both hosts. All processes list the same names. */
struct meet_fact {
    const char *name;  /* "program version" */
    const char *value; /* "0.1.0" */
    bool follows;      /* a rank other than 0 whose value is "" takes rank 0's */
};
int meet_compare(struct meet *meet, const struct meet_fact *facts, size_t count, struct error *err);

/* Says where this process is: "bucket 3" of step 41; step 0 before the first one. Each call also says that it moves;
 * long work calls it now and then. */
__attribute__((format(printf, 3, 4))) void meet_move(struct meet *meet, uint64_t step, const char *place, ...);
/* Begins or ends waiting for others. A process that waits is not taken for the one that hangs. */
void meet_wait(struct meet *meet, bool waits);
/* Begins or ends long work that cannot call meet_move, such as a checkpoint: meanwhile each report counts as a move. A
 * process that was stopped is lost all the same, because it sends no reports. */
void meet_work(struct meet *meet, bool works);

/* Has a process failed or been lost? Cheap. */
bool meet_has_failed(const struct meet *meet);
/* 0, or < 0 with what happened, the same in all processes: ERR_PEER "rank 2 (node7, pid 123) was lost at step 41 in
 * bucket 3", the error that rank 0 gave to meet_fail, or ERR_PEER "rank 2 (node7, pid 123) says: ..." after another
 * process gave one (ERR_STOPPED if it was that). The caller adds which work is safe. */
int meet_failed(struct meet *meet, struct error *err);
/* This process failed: tells all others. Puts rank and host before the text. If the meeting has failed already, *err
 * becomes its error, unless that is only what another process says: then this process keeps its own. Returns -1. */
int meet_fail(struct meet *meet, struct error *err);
/* Does this process report errors to the user? Exactly one of all does. */
bool meet_speaks(const struct meet *meet);

/* A stop was asked of this process: tells all others. */
void meet_ask_stop(struct meet *meet);
bool meet_stop_asked(const struct meet *meet);

/* After a stop was asked for, a step whose sums no process has begun is discarded. Steps count from 1. meet_begin: this
 * process begins the sums of a step, so all will finish it. meet_has_begun: it has. meet_halt: it has not, and waits
 * until that is known of all. *discard: all have halted; otherwise the step goes on. Called once per step. */
void meet_begin(struct meet *meet, uint64_t step);
bool meet_has_begun(struct meet *meet, uint64_t step);
int meet_halt(struct meet *meet, uint64_t step, bool *discard, struct error *err);

#endif

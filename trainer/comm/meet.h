/* The meeting: how the processes of one run find each other, tell each other small things, and know who is alive.
 *
 *     rank 0 listens ── the others connect ── all are there ── rank 0 tells all what it hears, once a second
 *
 *     meet_open → meet_compare (do all mean the same run?) → meet_set, meet_get (how gloo and NCCL connect)
 *               → meet_move, meet_wait (where this process is) … meet_failed, meet_stop_asked (what is with the others)
 *               → meet_close
 *
 * A thread of each process owns its sockets. It reports to rank 0 once a second where its process is and whether it
 * moves; so a process that died and one that stands still are different things, and both are named, by all. Numbers do
 * not travel here: those of a step go by struct comm.
 *
 * NULL stands for one process alone, in every call. Any thread may call everything but open and close; the calls that
 * say so must be made by all processes in the same order.
 *
 * The network is trusted to hold no attacker: what connects and does not speak this protocol (or, where a FILE or a
 * parent hands out a number, does not know it) is dropped, but nothing is encrypted. */
#ifndef TRAINER_COMM_MEET_H
#define TRAINER_COMM_MEET_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define MEET_KEY_MAX   255u               /* bytes of a key */
#define MEET_VALUE_MAX ((size_t)1 << 20)  /* of a value */
#define MEET_BLOCK_MAX ((size_t)16 << 10) /* of what one process gives in meet_exchange */

struct meet;

struct meet_options {
    uint32_t rank, size;
    const char *rendezvous; /* HOST:PORT or FILE; NULL: `give` says where rank 0 is. Stays while the meeting is open */
    int listener;           /* of rank 0, from a parent: a socket that listens there, taken over; < 0: none */
    uint64_t number;        /* from a parent: what the processes know each other by; 0: none */
    /* Where something else (MPI) started us: rank 0's bytes for all. 0, or < 0 with *err. */
    int (*give)(void *context, void *bytes, size_t size, struct error *err);
    void *give_context;
    double patience;     /* seconds until those who have not come are given up; 0: 600 */
    double remind;       /* seconds between lines that name them; 0: 30 */
    double peer_timeout; /* seconds without a move after which a process is lost; 0: never */
    /* Called once when a process failed or was lost, by whichever thread learns it; it may not call the meeting. NULL:
     * nobody. */
    void (*failed)(void *context, const struct error *why);
    void *failed_context;
    double leave_timeout; /* seconds after a failure until a process that does not ask meet_failed is ended; 0: never */
};

/* Waits until all are there. ERR_USAGE: this process cannot listen or write there, or a rank was given twice;
 * ERR_MISMATCH: N differs; ERR_PEER: somebody did not come in time; ERR_STOPPED: a signal came. With size 1, *meet is
 * NULL and nothing happens. */
int meet_open(struct meet **meet, const struct meet_options *options, struct error *err);
/* Leaves in good order. Whoever leaves without is lost. Waits at most 2 s for the others to take note. */
void meet_close(struct meet *meet);

uint32_t meet_rank(const struct meet *meet); /* 0 for one alone */
uint32_t meet_size(const struct meet *meet); /* 1 for one alone */
/* The address at which the others reach this process: the near end of its line to rank 0. Processes on rank 0's machine
 * have the address under which other machines see that one, where there are others. "127.0.0.1" for one alone. */
const char *meet_address(const struct meet *meet);

/* Named values: each is set once, by anybody, and seen by all. meet_get waits until it is there: ERR_PEER after
 * `seconds`, or with the failure of the meeting. Appends to *value. Not for one alone. */
int meet_set(struct meet *meet, const char *key, struct str value, struct error *err);
int meet_get(struct meet *meet, const char *key, double seconds, struct buf *value, struct error *err);

/* Of all, in the same order: every process gives a block, all get all. */
struct meet_blocks {
    struct buf bytes;
    struct str *of; /* [size], into `bytes` */
};
int meet_exchange(struct meet *meet, struct str block, struct meet_blocks *blocks, struct error *err);
void meet_blocks_release(struct meet_blocks *blocks);

/* Of all: is what must be equal equal? ERR_MISMATCH for all of them otherwise, with the first name that differs, both
 * values and both hosts. Everybody lists the same names. A value "" of another rank than 0 was not said: it takes what
 * rank 0 has, and is not compared. */
struct meet_fact {
    const char *name;  /* "program version" */
    const char *value; /* "0.1.0" */
};
int meet_compare(struct meet *meet, const struct meet_fact *facts, size_t count, struct error *err);

/* Where this process is: "bucket 3" of step 41, 0 before the first one. Each call says that it moves; work that takes
 * long says so now and then. */
__attribute__((format(printf, 3, 4))) void meet_move(struct meet *meet, uint64_t step, const char *place, ...);
/* It waits for others from now on, or does no more. One that waits is not what stands still. */
void meet_wait(struct meet *meet, bool waits);
/* Long work that cannot report that it moves, a checkpoint say, from now on or no more: until then each report says so.
 * A process that was stopped is lost all the same, by its silence. */
void meet_work(struct meet *meet, bool works);

/* Has a process been lost, or failed? Cheap. */
bool meet_has_failed(const struct meet *meet);
/* 0, or < 0 with what happened, the same for all: ERR_PEER "rank 2 (node7, pid 123) was lost at step 41 in bucket 3",
 * or the error that some process gave to meet_fail. The caller adds what is safe. */
int meet_failed(struct meet *meet, struct error *err);
/* This process failed: all others learn of it. Puts rank and host before the text, unless *err is what meet_failed
 * told. Returns -1. */
int meet_fail(struct meet *meet, struct error *err);
/* Is it ours to report an error to the user? One of all does. */
bool meet_speaks(const struct meet *meet);

/* A stop was asked of this process: all learn of it. */
void meet_ask_stop(struct meet *meet);
bool meet_stop_asked(const struct meet *meet);

/* After a stop was asked for, a step that no process has begun to sum up is discarded. Steps count from 1.
 * meet_begin: this process begins the sums of a step, so all will finish it. meet_has_begun: it has. meet_halt: it has
 * not, and waits until the
 * same is known of all: *discard then says whether all have halted; else the step goes on. Once a step. */
void meet_begin(struct meet *meet, uint64_t step);
bool meet_has_begun(struct meet *meet, uint64_t step);
int meet_halt(struct meet *meet, uint64_t step, bool *discard, struct error *err);

#endif

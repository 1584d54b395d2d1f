/* The processes of one run, and what they compute together: sums and exchanges of arrays. These are the host's; sums
 * over NCCL may be of a GPU's.
 *
 *     main thread                        queue              communication thread
 *     number = comm_start(work)  ──►  │ n │ n+1 │ … │  ──►  one call of gloo, MPI or NCCL after another
 *     … computes …
 *     comm_wait(number)  ◄── it is done, or the first failure
 *
 * All processes start the same operations in the same order, with sizes that fit each other; nobody checks that. One
 * communication thread calls the library, opens and closes it, and nobody else does. Counts are elements; they may be
 * 0, and a run may be one process. An operation's arrays belong to comm from comm_start until comm_wait returned 0 or
 * comm_close returned.
 *
 * A failure ends all: no later operation is done, every comm_wait from then on returns -1 with the first error, and
 * what the arrays hold is not defined. The process then closes comm and leaves; the other processes learn of it by the
 * connections that break. One thread calls (comm_abort: any). */
#ifndef TRAINER_COMM_H
#define TRAINER_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum comm_kind {
    COMM_SELF, /* one process, no library and no thread: an operation is a copy or nothing */
    COMM_GLOO, /* TCP; a module */
    COMM_MPI,  /* a module */
    COMM_NCCL, /* between GPUs; a module */
};
#define COMM_KINDS 4

const char *comm_kind_name(enum comm_kind kind);             /* "gloo" */
int comm_kind_check(enum comm_kind kind, struct error *err); /* ERR_USAGE: it is not built in; says how to get it */

/* Is it there? Its library in words ("NCCL 2.28.9"), or NULL and why not: as comm_open. Loads the module. */
const char *comm_kind_version(enum comm_kind kind, struct error *err);
/* The same for the screen, where it is not there too: "mpi is not built in". */
#define COMM_TEXT_BYTES 320
const char *comm_kind_text(enum comm_kind kind, char out[COMM_TEXT_BYTES]);
/* May several processes use one GPU? Of a kind that is there. */
bool comm_kind_shares_gpu(enum comm_kind kind);

/* Named values that all processes can set and get: how they tell each other their addresses. A name is set once. Both
 * calls may be made from the communication thread while comm_open waits. */
struct comm_store {
    int (*set)(void *context, const char *name, const void *bytes, size_t size, struct error *err);
    /* Waits up to `timeout` seconds for the name; copies at most `room` bytes. Returns the size of the value, which may
     * be more than `room`, or -1. */
    long (*get)(void *context, const char *name, void *bytes, size_t room, double timeout, struct error *err);
    /* Has a process been lost meanwhile? 0, or -1 with why. NULL: nobody would know. */
    int (*check)(void *context, struct error *err);
    void *context;
};

struct comm_options {
    uint32_t rank, size;
    double timeout;          /* seconds in which an operation must move on, else ERR_PEER */
    const char *address;     /* gloo: this machine's, a number ("10.0.0.5", "::1"), as the others reach it */
    struct comm_store store; /* gloo, NCCL */
    size_t piece_bytes;      /* cuts MPI's messages (0: 1 GiB) and NCCL's of host arrays (0: 16 MiB); times 8. Tests */
};

struct comm;

/* Every process calls it with its own rank. NULL with ERR_USAGE where the kind was not built, or its library is not
 * there, or (MPI) was not started with these processes; with ERR_PEER where another process does not come. */
struct comm *comm_open(enum comm_kind kind, const struct comm_options *options, struct error *err);
/* Every process calls it once all its operations are waited for: it waits a few seconds for the others, so that
 * nobody's last one breaks. A process that leaves alone calls comm_abort before it, or has operations under way, which
 * are aborted. */
void comm_close(struct comm *comm);

uint32_t comm_rank(const struct comm *comm);
uint32_t comm_size(const struct comm *comm);

enum comm_type { COMM_BYTE, COMM_BF16, COMM_FLOAT, COMM_DOUBLE, COMM_INT64 };
size_t comm_type_bytes(enum comm_type type);

enum comm_operation {
    COMM_BARRIER,        /* nobody leaves before all have come */
    COMM_SUM,            /* out[count] becomes the sum over all; FLOAT, DOUBLE, INT64, BF16. The order of a float sum
                          * is the library's, the result the same in all processes. BF16 is added in fp32 in rank order
                          * and rounded once, so that its bits depend on no library */
    COMM_MAX,            /* out[count] becomes the largest of all; INT64 */
    COMM_BROADCAST,      /* out[count] of process `root` for all; any type, as are all below */
    COMM_ALL_GATHER,     /* out is the `in` of all, in rank order. in == NULL: it stands at its place in out */
    COMM_ALL_TO_ALL,     /* part r of `in` goes to process r; part r of out came from process r */
    COMM_REDUCE_SCATTER, /* out is the sum of everybody's part `rank` of `in`, added in rank order, so that its bits
                          * depend on no library; FLOAT, INT64. out may be that part of `in` */
};

struct comm_work {
    enum comm_operation operation;
    enum comm_type type;
    bool on_device; /* a sum where comm_takes_device: out is memory of the GPU, */
    void *ready;    /* which is there once this event of its backend has come (ops.h, mark); NULL: it is */
    const void *in;
    void *out;
    size_t count; /* barrier, sum, max, broadcast */
    uint32_t root;
    /* [size] elements of each part, one part after another; they live as long as the arrays. */
    const size_t *in_counts;  /* reduce-scatter, all-to-all; `out` of a reduce-scatter is in_counts[rank] */
    const size_t *out_counts; /* all-gather, all-to-all; `in` of an all-gather is out_counts[rank] */
};

/* The sum of an array over all. */
#define COMM_SUM_OF(number_type, array, number_count)                                                                  \
    ((struct comm_work){.operation = COMM_SUM, .type = number_type, .out = array, .count = number_count})

#define COMM_QUEUE 512 /* operations at most that are started and not done: comm_start waits for room */

/* May sums be on_device? */
bool comm_takes_device(const struct comm *comm);

/* Returns the operation's number: 0, 1, 2 … */
uint64_t comm_start(struct comm *comm, struct comm_work work);
/* Is it done, or comm has failed? Never waits. */
bool comm_poll(struct comm *comm, uint64_t number);
int comm_wait(struct comm *comm, uint64_t number, struct error *err);
/* Starts and waits. */
int comm_run(struct comm *comm, struct comm_work work, struct error *err);

/* Another part of the program knows better: from any thread, until comm_close is called. Everything under way ends
 * soon, and comm has failed with `why`. */
void comm_abort(struct comm *comm, const struct error *why);

/* Of one of the last COMM_QUEUE operations, once it was waited for: how long the library took for it, and how long
 * comm_wait was in it. */
struct comm_times {
    double taken, waited; /* seconds */
};
struct comm_times comm_timed(const struct comm *comm, uint64_t number);

/* Bytes of arrays that process `rank` of `size` sends in this operation. A pure function: the arithmetic of gloo's
 * algorithms (a sum goes round a ring, a broadcast down a binomial tree). MPI and NCCL choose their own, and no process
 * can do with less on average but in a broadcast. */
uint64_t comm_wire_bytes(const struct comm_work *work, uint32_t rank, uint32_t size);

#endif

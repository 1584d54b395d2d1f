/* Collective operations of the processes of one run: sums and exchanges of arrays in host memory; sums over NCCL may be
 * of arrays on the GPU.
 *
 *     main thread                        queue              communication thread
 *     number = comm_start(work)  ──►  │ n │ n+1 │ … │  ──►  one call of gloo, MPI or NCCL after another
 *     … computes …
 *     comm_wait(number)  ◄── done, or the first failure
 *
 * All processes must start the same operations in the same order, with sizes that match; this is not checked. Only the
 * communication thread calls the library, opening and closing included. Counts are elements; they may be 0, and a run
 * may be one process. An operation's arrays belong to comm from comm_start until comm_wait has returned 0 or comm_close
 * has returned.
 *
 * A failure is final: no later operation is done, every comm_wait from then on returns -1 with the first error, and the
 * contents of the arrays are undefined. The process then closes comm and leaves; the others notice because their
 * connections break. Only one thread may call (comm_abort: any thread). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum comm_kind {
    COMM_SELF, /* one process, no library and no thread: an operation is a copy or nothing */
    COMM_GLOO, /* TCP; a module */
    COMM_MPI,  /* a module */
    COMM_NCCL, /* between GPUs; a module */
    COMM_KINDS,
};
#define COMM_AUTO COMM_SELF /* for --comm auto: --comm never names COMM_SELF */

const char *comm_kind_name(enum comm_kind kind);             /* "gloo" */
int comm_kind_check(enum comm_kind kind, struct error *err); /* ERR_USAGE: it is not built in; says how to get it */

/* The library's name and version ("NCCL 2.28.9"), or NULL with the reason why it is not available, as comm_open gives
 * it. Loads the module. */
const char *comm_kind_version(enum comm_kind kind, struct error *err);
/* The same as text for the console, also if it is not available: "mpi is not built in". */
#define COMM_TEXT_BYTES 320
const char *comm_kind_text(enum comm_kind kind, char out[COMM_TEXT_BYTES]);
/* Whether several processes may use one GPU. The kind must be available. */
bool comm_kind_shares_gpu(enum comm_kind kind);

/* Named values that all processes can set and get, which is how they exchange addresses. Each name is set once. The
 * functions may be called from the communication thread while comm_open waits. */
struct comm_store {
    int (*set)(void *context, const char *name, const void *bytes, size_t size, struct error *err);
    /* Waits up to `timeout` seconds for the name; copies at most `room` bytes. Returns the size of the value, which may
     * be more than `room`, or -1. */
    long (*get)(void *context, const char *name, void *bytes, size_t room, double timeout, struct error *err);
    /* Returns -1 with the reason if a process has been lost, else 0. NULL: that is not known. */
    int (*check)(void *context, struct error *err);
    void *context;
};

#define COMM_SECRET_BYTES 32

struct comm_options {
    uint32_t rank, size;
    double timeout;          /* seconds without progress after which an operation fails with ERR_PEER */
    const char *address;     /* gloo: this machine's numeric address, as the others reach it ("10.0.0.5", "::1") */
    struct comm_store store; /* gloo, NCCL */
    unsigned char secret[COMM_SECRET_BYTES]; /* gloo: only these processes know it; who does not is kept out */
    const int *sockets; /* set by comm_open itself: [size], from mesh_connect, for a library that wants them */
    /* Called by comm_open and comm_wait before and after they wait for other processes, so that a watchdog can tell
     * that from a process that hangs. NULL: not called. */
    void (*waiting)(void *context, bool waits);
    void *waiting_context;
    size_t chunk_bytes; /* for tests: maximum message of MPI (0: 1 GiB) and of NCCL from host arrays (0: 16 MiB);
                              * a multiple of 8 */
};

struct comm;

/* Every process calls it with its own rank. Returns NULL on error. ERR_USAGE: the kind is not built in, its library is
 * missing, or (MPI) it was not started with these processes; ERR_PEER: another process does not come. */
struct comm *comm_open(enum comm_kind kind, const struct comm_options *options, struct error *err);
/* Every process calls it after it has waited for all its operations. It waits a few seconds for the other processes, so
 * that their last operations do not break. A process that leaves alone calls comm_abort first; operations that are
 * still under way are aborted too. */
void comm_close(struct comm *comm);

uint32_t comm_rank(const struct comm *comm);
uint32_t comm_size(const struct comm *comm);

enum comm_type { COMM_BYTE, COMM_BF16, COMM_FLOAT, COMM_DOUBLE, COMM_INT64 };
size_t comm_type_bytes(enum comm_type type);

enum comm_operation {
    COMM_BARRIER,        /* completes when all processes have reached it */
    COMM_SUM,            /* out[count] becomes the sum over all; FLOAT, DOUBLE, INT64, BF16. The library chooses the
                          * order of a float sum, but the result is the same in all processes. BF16 is added in fp32 in
                          * rank order and rounded once, so its bits do not depend on the library */
    COMM_MAX,            /* out[count] becomes the maximum over all; INT64 */
    COMM_BROADCAST,      /* out[count] becomes that of process `root`; any type, as for the next two */
    COMM_ALL_GATHER,     /* out becomes the `in` of all, in rank order. in == NULL: it is already at its place in out */
    COMM_ALL_TO_ALL,     /* part r of `in` goes to process r; part r of out comes from process r */
    COMM_REDUCE_SCATTER, /* out becomes the sum of part `rank` of everyone's `in`, added in rank order, so its bits do
                          * not depend on the library; FLOAT, INT64. out may be that part of `in` */
};

struct comm_work {
    enum comm_operation operation;
    enum comm_type type;
    bool on_device; /* out is GPU memory; only for sums, and only if comm_takes_device */
    void *ready;    /* event of the backend after which `out` is complete (ops.h, mark); NULL: it is already */
    const void *in;
    void *out;
    size_t count; /* barrier, sum, max, broadcast */
    uint32_t root;
    /* [size] elements of each part; parts are consecutive. They must live as long as the arrays. */
    const size_t *in_counts;  /* reduce-scatter, all-to-all; `out` of a reduce-scatter is in_counts[rank] */
    const size_t *out_counts; /* all-gather, all-to-all; `in` of an all-gather is out_counts[rank] */
};

/* The sum of an array over all. */
#define COMM_SUM_OF(number_type, array, number_count)                                                                  \
    ((struct comm_work){.operation = COMM_SUM, .type = number_type, .out = array, .count = number_count})

/* The array of rank 0 to all. */
#define COMM_BROADCAST_OF(number_type, array, number_count)                                                            \
    ((struct comm_work){.operation = COMM_BROADCAST, .type = number_type, .out = array, .count = number_count})

/* The parts of all, each at its place in the array. */
#define COMM_GATHER_OF(number_type, array, part_counts)                                                                \
    ((struct comm_work){.operation = COMM_ALL_GATHER, .type = number_type, .out = array, .out_counts = part_counts})

#define COMM_QUEUE 512 /* maximum of operations that are started and not done; comm_start waits for room */

/* Whether sums may be on_device. */
bool comm_takes_device(const struct comm *comm);

/* Returns the operation's number: 0, 1, 2 … */
uint64_t comm_start(struct comm *comm, struct comm_work work);
int comm_wait(struct comm *comm, uint64_t number, struct error *err);
/* Starts and waits. */
int comm_run(struct comm *comm, struct comm_work work, struct error *err);

/* Makes comm fail with `why`, for a failure that another part of the program has noticed; operations under way end
 * soon. May be called from any thread until comm_close is called. */
void comm_abort(struct comm *comm, const struct error *why);

/* For one of the last COMM_QUEUE operations, after it was waited for: how long the library took, and how long comm_wait
 * waited. */
struct comm_times {
    double taken, waited; /* seconds */
};
struct comm_times comm_timed(const struct comm *comm, uint64_t number);

/* Bytes of arrays that process `rank` of `size` sends in this operation. A pure function: it computes what gloo's
 * algorithms send (a ring for sums, a binomial tree for broadcasts). MPI and NCCL choose their own algorithms, but
 * except for a broadcast none can send less on average. */
uint64_t comm_wire_bytes(const struct comm_work *work, uint32_t rank, uint32_t size);

/* What comm asks of a library that carries messages: blocking calls, made by one thread. gloo.cc, mpi.c and nccl.c are
 * modules (base/module.h), dstrain_gloo.so and so on, each with a copy of base of its own; they export only what is
 * declared here. Valid C++. */
#pragma once

#include "trainer/comm/comm.h"

/* Bumped with every change of this file or comm.h, so that a module of another version is refused. */
#define COMM_INTERFACE 3
#define COMM_SYMBOL    "dstrain_comm"

/* One thread makes all calls but `abort`. `opened` is what open returned. After a call that returns -1 with *err, only
 * `abort` and `close` may follow. ERR_PEER: a process is lost or late; it is named if it is known. Sizes are bytes;
 * arrays of one part per process are contiguous, and sizes[size] has the parts. */
struct comm_library {
    int interface; /* COMM_INTERFACE; the first member in every version */
    bool waits;    /* calls wait for other processes, so a thread of their own makes them. false: there are no others,
                    * and `open` is the only call */
    bool sockets;  /* open takes over options->sockets, also when it fails */

    const char *(*version)(void); /* "gloo 0.5.0"; callable from any thread. NULL: part of the program */
    bool (*shares_gpu)(void);     /* comm_kind_shares_gpu; NULL: yes */

    void *(*open)(const struct comm_options *options, struct error *err);
    int (*barrier)(void *opened, struct error *err);
    /* COMM_SUM or COMM_MAX; count > 0 */
    int (*reduce)(void *opened, enum comm_operation operation, enum comm_type type, void *data, size_t count,
                  struct error *err);
    /* Sums memory of the GPU, once the event `ready` has come (NULL: at once). The member is NULL where the library
     * cannot. */
    int (*reduce_device)(void *opened, enum comm_type type, void *data, size_t count, void *ready, struct error *err);
    /* bytes > 0 */
    int (*broadcast)(void *opened, uint32_t root, void *data, size_t bytes, struct error *err);
    /* In place: before the call `out` has this process's part, after it those of all. */
    int (*gather)(void *opened, void *out, const size_t *sizes, struct error *err);
    int (*exchange)(void *opened, const void *in, const size_t *in_sizes, void *out, const size_t *out_sizes,
                    struct error *err);
    /* From any thread, and more than once: makes a call under way return -1 soon, and closes the connections where the
     * library can, so that the other processes notice. */
    void (*abort)(void *opened);
    /* `well`: nothing has failed, and the others close too. */
    void (*close)(void *opened, bool well);
};

/* The library that a module exports, and that of a single process, which is part of the program. */
extern __attribute__((visibility("default"))) const struct comm_library dstrain_comm;
extern const struct comm_library comm_self;

/* comm_open for a given library: the part that is the same for all kinds. */
struct comm *comm_open_library(const struct comm_library *library, const struct comm_options *options,
                               struct error *err);

/* What comm asks of a library that carries messages: blocking calls, made by one thread. gloo.cc, mpi.c and nccl.c are
 * modules (base/module.h), dstrain_gloo.so and so on, each with a copy of base of its own; what stands here is all that
 * they export. Valid C++. */
#ifndef TRAINER_COMM_LIBRARY_H
#define TRAINER_COMM_LIBRARY_H

#include "trainer/comm.h"

/* Bumped with every change of this file or comm.h: a module beside the wrong program is refused. */
#define COMM_INTERFACE 2
#define COMM_SYMBOL    "dstrain_comm"

/* One thread makes all calls but `abort`. `opened` is what open returned. A call that returns -1 with *err ends
 * everything: `abort` and `close` follow. ERR_PEER where a process is lost or late, named if it is known. Sizes are
 * bytes; arrays that lie one after another have sizes[size]. */
struct comm_library {
    int interface; /* COMM_INTERFACE, first for ever */
    bool waits;    /* for other processes: a thread of its own calls */

    const char *(*version)(void); /* "gloo 0.5.0"; from any thread. NULL: in the program */
    bool (*shares_gpu)(void);     /* comm_kind_shares_gpu; NULL: yes */

    void *(*open)(const struct comm_options *options, struct error *err);
    int (*barrier)(void *opened, struct error *err);
    /* COMM_SUM or COMM_MAX; count > 0 */
    int (*reduce)(void *opened, enum comm_operation operation, enum comm_type type, void *data, size_t count,
                  struct error *err);
    /* A sum of the GPU's memory, which is there once the event `ready` has come (NULL: it is). NULL: there is none. */
    int (*reduce_device)(void *opened, enum comm_type type, void *data, size_t count, void *ready, struct error *err);
    /* bytes > 0 */
    int (*broadcast)(void *opened, uint32_t root, void *data, size_t bytes, struct error *err);
    /* Everybody's part of `out` stands at its place. */
    int (*gather)(void *opened, void *out, const size_t *sizes, struct error *err);
    int (*exchange)(void *opened, const void *in, const size_t *in_sizes, void *out, const size_t *out_sizes,
                    struct error *err);
    /* From any thread, and more than once: a call under way returns -1 soon, and the connections are closed where the
     * library can do so, so that the other processes notice. */
    void (*abort)(void *opened);
    /* `well`: nothing has failed, and the others close as well. */
    void (*close)(void *opened, bool well);
};

/* The library of a module, which exports nothing else, and that of one process, which is in the program. */
extern __attribute__((visibility("default"))) const struct comm_library dstrain_comm;
extern const struct comm_library comm_self;

/* comm_open with a library given: the part of it that is the same for all kinds. */
struct comm *comm_open_library(const struct comm_library *library, const struct comm_options *options,
                               struct error *err);

#endif

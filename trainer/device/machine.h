/* Measures what this machine has, for plan and doctor. */
#pragma once

#include "trainer/backend/ops.h"

/* Bytes of the memory that a backend's buffers come from: the device's, or what this process may use (base/cores.h). */
uint64_t machine_memory_for(const struct ops *ops);

/* Memory of the device that measurements may overwrite, of 64-byte alignment. What has no room in it they allocate. */
struct machine_room {
    void *memory; /* NULL: there is none */
    size_t bytes;
};

/* Floating-point operations per second of products of rows x in by in x out: the fastest of as many as fit into
 * `seconds`, at most a thousand. Slower ones may have been delayed by other programs. */
double machine_product_rate(const struct ops *ops, int32_t rows, int32_t out, int32_t in, double seconds,
                            struct machine_room room);
/* Bytes per second of a pass over memory that reads and writes, a conversion to storage. */
double machine_bandwidth(const struct ops *ops);
/* How long the threads that this process has at the beginning wait for a core, which shows how busy the machine is with
 * other programs. Linux counts it in /proc/PID/task/TID/schedstat; without that file it is 0. */
#define MACHINE_THREADS 256
struct machine_waits {
    double from; /* clock */
    size_t count;
    struct {
        long thread;
        uint64_t waited; /* ns */
    } threads[MACHINE_THREADS];
};
void machine_waits_begin(struct machine_waits *waits);
/* The share of the time since the beginning for which the longest waiting thread has waited: all others wait for it at
 * the end of an operation. */
double machine_waits_share(const struct machine_waits *waits);
/* Parameters per second of Adam's pass over flat memory of `count` parameters; measured on fewer if there are many,
 * or less room. */
double machine_update_rate(const struct ops *ops, size_t count, struct machine_room room);

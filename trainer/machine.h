/* What this machine has, as a plan and doctor need it. */
#ifndef TRAINER_MACHINE_H
#define TRAINER_MACHINE_H

#include "trainer/ops.h"

#include <stdint.h>

/* Bytes of the memory that a backend's buffers come from: the device's, or what this process may have
 * (base/cores.h). */
uint64_t machine_memory_for(const struct ops *ops);

/* Floating-point operations a second of ops' products of rows x in by in x out: the fastest of those that fit into
 * `seconds`, or of a thousand; others may have been held up by whatever else the machine does. */
double machine_product_rate(const struct ops *ops, int32_t rows, int32_t out, int32_t in, double seconds);
/* Bytes a second of a pass over memory that reads and writes: conversion to storage. */
double machine_bandwidth(const struct ops *ops);
/* How long this process's threads, those that were there at the beginning, have waited for a core since: what other
 * programs take of the machine, as Linux counts it (/proc/PID/task/TID/schedstat; without it nobody waits). */
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
/* Of the time since, the share that the thread waited which waited longest: all wait for it at the end of an
 * operation. */
double machine_waits_share(const struct machine_waits *waits);
/* Parameters a second of Adam's pass over flat memory of `count` parameters, or of the first ones of so many. */
double machine_update_rate(const struct ops *ops, size_t count);

#endif

/* What this machine has, as a plan and doctor need it. */
#ifndef TRAINER_MACHINE_H
#define TRAINER_MACHINE_H

#include "trainer/ops.h"

#include <stdint.h>

/* Bytes of the memory that a backend's buffers come from: the device's, or what this process may have (base/cores.h). */
uint64_t machine_memory_for(const struct ops *ops);

/* Floating-point operations a second of ops' products of rows x in by in x out: the fastest of those that fit into
 * `seconds`, or of a thousand; others may have been held up by whatever else the machine does. */
double machine_product_rate(const struct ops *ops, int32_t rows, int32_t out, int32_t in, double seconds);
/* Bytes a second of a pass over memory that reads and writes: conversion to storage. */
double machine_bandwidth(const struct ops *ops);
/* Parameters a second of Adam's pass over flat memory of `count` parameters, or of the first ones of so many. */
double machine_update_rate(const struct ops *ops, size_t count);

#endif

/* 1-bit Adam over the processes of a run: each has its own sums of gradients, and an update exchanges one bit per
 * parameter, twice (optim/onebit.h).
 *
 *     onebit_open, when v is frozen → { onebit_update } … → onebit_close
 *
 * Collective calls are made by all processes in the same order. The device computes;
 * what is exchanged goes through the host's memory. */
#pragma once

#include "trainer/comm/comm.h"
#include "trainer/keep/errors.h"
#include "trainer/optim/onebit.h"
#include "trainer/optim/optimizer.h"

struct onebit;

/* The errors start at zero. Allocates 4 bytes per parameter, 4 divided by the number of processes for the part that it
 * serves, and less than one for what is sent. All pointers are borrowed. */
struct onebit *onebit_open(const struct params *params, bool group, const struct ops *ops, struct comm *comm);
void onebit_close(struct onebit *onebit); /* NULL is fine */
/* The most bytes of the device's memory that onebit_open allocates, whatever the number of processes. */
uint64_t onebit_bytes_max(const struct params *params);

/* Collective: an update with the gradients in `memory`, which are the sums of this process only. The norm in
 * work->record is sqrt((1 / N) sum of |h_i|^2), where h_i is N times the sums of process i, so all processes clip
 * alike. If the step is not finite in any process, nothing changes in any. */
int onebit_update(struct onebit *onebit, const struct optimizer *optimizer, const struct update_memory *memory,
                  const struct update_work *work, const struct update *update, struct error *err);
/* Bytes that this process sends in an update, computed (comm_wire_bytes). */
uint64_t onebit_wire_bytes(const struct onebit *onebit);

/* How rank 0 writes the errors of all processes. Meanwhile the others call onebit_serve_errors, which returns when rank
 * 0 calls onebit_end_errors. Rank 0 must call it even if writing has failed. */
struct checkpoint_errors onebit_errors(struct onebit *onebit);
int onebit_serve_errors(struct onebit *onebit, struct error *err);
int onebit_end_errors(struct onebit *onebit, struct error *err);
/* Collective: takes the errors of a verified checkpoint in `directory` (used only at rank 0; may be NULL). Each process
 * gets its own, or their mean if another number of processes wrote them (*mean is then true, in all). If there are
 * none, the errors stay zero. */
int onebit_take_errors(struct onebit *onebit, const char *directory, bool *mean, struct error *err);

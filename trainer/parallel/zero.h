/* ZeRO (Rajbhandari et al. 2020), stages 1 and 2: a process keeps moments and master copies of its own slices alone
 * (partition.h), with stage 2 gradients too (zero2.h), and updates only these slices.
 *
 *     gradients, summed to their holders (gradient_sum.h) → zero_update:
 *       sums of squares of the own chunks → those of all, gathered → factors → moments
 *         → sums of whole tensors, gathered (LAMB, NVLAMB, LANS) → each slice applied, and gathered: in host memory
 *           while the next is applied, on a device after all
 *
 * Norms are those of whole tensors: the doubles of all chunks are gathered and added in the order of the table, as a
 * single process does, so the update is bit-identical to stage 0 if the sums of gradients are. Parameters are sent in
 * their storage type, biases and vectors of norms in fp32. If storage is fp32, the model reads the master copy, which
 * is then complete in every process. Collective calls are made by all processes in the same order. */
#pragma once

#include "trainer/comm/comm.h"
#include "trainer/keep/checkpoint.h"
#include "trainer/model/model.h"
#include "trainer/parallel/partition.h"

struct zero;

/* Allocates the memory of this process's slices. `model` must have been opened with `divided` in its budget. The
 * arguments are borrowed. */
struct zero *zero_open(struct model *model, const struct partition *partition, uint32_t rank);
void zero_close(struct zero *zero); /* NULL is fine */
/* Sets how to communicate with the other processes; before any collective call. */
void zero_join(struct zero *zero, struct comm *comm);

/* Bytes of the device's memory that zero_open allocates at `rank`, without a copy of the vectors in storage. */
uint64_t zero_bytes(const struct partition *partition, uint32_t rank, const struct ops *ops);

/* Collective: makes the update, after which every process has all updated parameters. `sums`: gradients of this
 * process's slices, packed; NULL: they are in the model's gradients. */
int zero_update(struct zero *zero, const struct optimizer *optimizer, const void *sums, const struct update_work *work,
                const struct update *update, struct error *err);
/* Bytes of parameters that this process sends in an update, computed (comm_wire_bytes). */
uint64_t zero_wire_bytes(const struct zero *zero);

/* Collective: distributes rank 0's flat arrays, [size] floats in host memory, to the holders of the slices. The
 * arguments of other ranks are ignored. */
int zero_scatter(struct zero *zero, const float *params, const float *first, const float *second, struct error *err);

/* The source from which rank 0 writes a checkpoint, since no process has all of the arrays. Meanwhile all others call
 * zero_serve, which returns when rank 0 calls zero_end. Rank 0 must call it even if writing has failed. */
struct checkpoint_source zero_source(struct zero *zero);
int zero_serve(struct zero *zero, struct error *err);
int zero_end(struct zero *zero, struct error *err);

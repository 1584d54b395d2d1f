/* ZeRO (Rajbhandari et al. 2020), stages 1 and 2: moments and master copies exist for the own pieces alone (pieces.h),
 * with stage 2 gradients too (gradient_pieces.h), and every process updates those.
 *
 *     gradients, summed to their holders (gradient_sum.h) → zero_update:
 *       sums of squares of the own chunks → those of all, gathered → factors → moments
 *         → sums of whole tensors, gathered (LAMB, NVLAMB, LANS) → each piece applied, while the one before is gathered
 *
 * Norms are of original tensors: the doubles of all chunks are gathered and added in the order of the table, as one
 * process does; so the bits are those of stage 0 where the sums of gradients are. Parameters travel as they are stored,
 * biases and vectors of norms in fp32. Where storage is fp32, the master copy is what the model reads: it is whole in
 * every process. Calls that say "of all" are made by all processes in the same order. */
#ifndef TRAINER_ZERO_H
#define TRAINER_ZERO_H

#include "base/error.h"
#include "trainer/comm.h"
#include "trainer/comm/meet.h"
#include "trainer/keep/checkpoint.h"
#include "trainer/model/model.h"
#include "trainer/optim/optimizer.h"
#include "trainer/pieces.h"

#include <stdint.h>

struct zero;

/* `model` was opened with its budget's `divided`. Takes the memory of the own pieces. All are borrowed. */
struct zero *zero_open(struct model *model, const struct pieces *pieces, uint32_t rank);
void zero_close(struct zero *zero); /* NULL is fine */
/* From now on it may talk to the others. */
void zero_join(struct zero *zero, struct comm *comm, struct meet *meet);

/* Bytes of the device's memory that zero_open takes at `rank`. */
uint64_t zero_bytes(const struct pieces *pieces, uint32_t rank, const struct ops *ops);

/* Of all: the update, and then the parameters of all are there. `sums`: gradients of the own pieces, packed; NULL: they
 * are where the model has all. */
int zero_update(struct zero *zero, const struct optimizer *optimizer, const void *sums, const struct update_work *work,
                const struct update *update, struct error *err);
/* What this process sends in an update: its parameters, by the arithmetic of the algorithm. */
uint64_t zero_wire_bytes(const struct zero *zero);

/* Of all: flat arrays of rank 0 (others: not looked at), [size] floats of the host, become what the processes hold. */
int zero_scatter(struct zero *zero, const float *params, const float *first, const float *second, struct error *err);

/* How rank 0 reads arrays that nobody has whole: a source of checkpoint parts. Meanwhile all others serve, until rank 0
 * ends it; what fails at rank 0 in between does not matter to them. */
struct checkpoint_source zero_source(struct zero *zero);
int zero_serve(struct zero *zero, struct error *err);
int zero_end(struct zero *zero, struct error *err);

#endif

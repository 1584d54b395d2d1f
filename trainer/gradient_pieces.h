/* Gradients with ZeRO stage 2 (Rajbhandari et al. 2020): a process keeps the sums of its own pieces (pieces.h), and
 * otherwise only the gradients that a pass is computing. In every pass each group of gradients (struct bucket) is
 * summed over all processes as soon as it is final, and each process adds the pieces that it holds to its sums.
 *
 *     a pass   heads ─► layer 11 ─► layer 10 ─► … ─► embeddings      slots: the embeddings', and a few that layers share
 *                └─ sum ──┴── sum ────┴── …               └─ sum     each bucket: to its holders
 *     sums     own pieces, packed  +=
 *
 * A round is one pass of every process; processes that have no pass left add zeros until all are done. So gradients are
 * sent as often in a step as the process with the most micro-batches has passes. With same_bits passes are added as
 * integers, and the sums are bit for bit those of gradient_sum.h. Sums over processes are made in host memory. One
 * thread calls; collective calls are made by all processes in the same order. */
#ifndef TRAINER_GRADIENT_PIECES_H
#define TRAINER_GRADIENT_PIECES_H

#include "base/error.h"
#include "trainer/comm.h"
#include "trainer/comm/meet.h"
#include "trainer/gradient_sum.h"

#include <stdbool.h>
#include <stdint.h>

struct gradient_pieces;

/* Allocates the memory. `options` are those of gradient_sum_open, with `pieces`. With same_bits a gradient that cannot
 * be added sets *refused, which is in the device's memory. */
struct gradient_pieces *gradient_pieces_open(const struct gradient_sum_options *options, int64_t *refused);
void gradient_pieces_close(struct gradient_pieces *own); /* NULL is fine */

/* Bytes of the device's memory that gradient_pieces_open allocates at `rank`. */
uint64_t gradient_pieces_bytes(const struct params *params, const struct pieces *pieces, uint32_t rank, bool same_bits,
                               bool overlap);

/* Begins step `number`; `unit` is that of fixed_add. */
void gradient_pieces_begin(struct gradient_pieces *own, uint64_t number, double unit);
/* Collective, before every pass: begins a round and returns the listener for this pass. `last`: this process has no
 * more passes in this step. */
const struct gradient_listener *gradient_pieces_pass(struct gradient_pieces *own, bool last);
/* Collective, after the last pass, if there was one: completes the sums of the own pieces. Returns earlier errors
 * too. */
int gradient_pieces_finish(struct gradient_pieces *own, struct error *err);
/* The sums of the own pieces: packed floats (struct piece). */
const void *gradient_pieces_sums(const struct gradient_pieces *own);

/* The listener for a pass between steps whose gradients are not summed. `look` (may be NULL) is called for each group
 * while its gradients exist: values[0] is element `from` of flat memory. */
struct gradient_look {
    void (*group)(void *context, const void *values, size_t from, struct chunk_range chunks);
    void *context;
};
const struct gradient_listener *gradient_pieces_alone(struct gradient_pieces *own, const struct gradient_look *look);

/* As in gradient_sum.h. */
double gradient_pieces_waited(const struct gradient_pieces *own);
uint64_t gradient_pieces_wire_bytes(const struct gradient_pieces *own);
const struct bucket_times *gradient_pieces_times(const struct gradient_pieces *own, size_t *count);

#endif

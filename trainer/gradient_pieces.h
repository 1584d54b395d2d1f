/* Gradients under ZeRO, stage 2 (Rajbhandari et al. 2020): a process keeps the sums of its own pieces (pieces.h), and
 * beside them only what a pass is at. After every pass each group of gradients (struct bucket) is added over all
 * processes, as soon as it is final, and each process adds what it holds to its sums.
 *
 *     a pass   heads ─► layer 11 ─► layer 10 ─► … ─► embeddings      slots: the embeddings', and a few that layers share
 *                └─ sum ──┴── sum ────┴── …               └─ sum     each bucket: to its holders
 *     sums     own pieces, packed  +=
 *
 * A round is a pass of every process; one that has no pass left gives zeros, until all are done. So a step sends its
 * gradients as often as the process with the most micro-batches has some. With same_bits passes are added as integers,
 * and the sums are those of gradient_sum.h to the bit. Sums over processes are made in the host's memory. One thread
 * calls; calls that say "of all" are made by all processes in the same order. */
#ifndef TRAINER_GRADIENT_PIECES_H
#define TRAINER_GRADIENT_PIECES_H

#include "base/error.h"
#include "trainer/comm.h"
#include "trainer/comm/meet.h"
#include "trainer/gradient_sum.h"

#include <stdbool.h>
#include <stdint.h>

struct gradient_pieces;

/* Takes the memory. `options` of gradient_sum_open, with `pieces`; with same_bits a gradient that cannot be added sets
 * *refused, the device's. */
struct gradient_pieces *gradient_pieces_open(const struct gradient_sum_options *options, int64_t *refused);
void gradient_pieces_close(struct gradient_pieces *own); /* NULL is fine */

/* Bytes of the device's memory that it takes at `rank`. */
uint64_t gradient_pieces_bytes(const struct params *params, const struct pieces *pieces, uint32_t rank, bool same_bits,
                               bool overlap);

/* Begins step `number`; `unit` is of fixed_add. */
void gradient_pieces_begin(struct gradient_pieces *own, uint64_t number, double unit);
/* Of all, before every pass: begins a round. The listener is of this pass; `last`: no other one follows. */
const struct gradient_listener *gradient_pieces_pass(struct gradient_pieces *own, bool last);
/* Of all, after the last pass, if there was one: the sums of the own pieces are complete. What failed earlier is told
 * here. */
int gradient_pieces_finish(struct gradient_pieces *own, struct error *err);
/* The sums: packed floats (struct piece). */
const void *gradient_pieces_sums(const struct gradient_pieces *own);

/* A listener for a pass between steps whose gradients nobody adds. `look` (or NULL) is given each group while it is
 * there: values[0] is element `from` of flat memory. */
struct gradient_look {
    void (*group)(void *context, const void *values, size_t from, struct chunk_range chunks);
    void *context;
};
const struct gradient_listener *gradient_pieces_alone(struct gradient_pieces *own, const struct gradient_look *look);

/* As gradient_sum.h has them. */
double gradient_pieces_waited(const struct gradient_pieces *own);
uint64_t gradient_pieces_wire_bytes(const struct gradient_pieces *own);
const struct bucket_times *gradient_pieces_times(const struct gradient_pieces *own, size_t *count);

#endif

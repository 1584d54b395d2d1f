/* Gradients with ZeRO stage 2 (Rajbhandari et al. 2020): a process keeps the sums of its own slices (partition.h), and
 * otherwise only the gradients that a pass is computing. In every pass each group of gradients (struct bucket) is
 * summed over all processes as soon as it is final, and each process adds the slices that it holds to its sums.
 *
 *     a pass   words ─► heads ─► layer 11 ─► … ─► embeddings ─► words     slots: the embeddings', a few for the others
 *                └─ sum ──┴─ sum ───┴─ sum             └─ sum     └─ sum  each bucket: to its holders
 *     sums     own slices, packed  +=
 *
 * The word table is the decoder's too, so the heads write its gradient first and the embeddings add to it last. In host
 * memory (`tokens`) it never exists as a whole: the decoder computes blocks of rows, each of which is summed to its
 * holders at once, except for the rows that the pass's input names. Those are set aside, packed, the embeddings add to
 * them, and then the rows that any process has set aside are summed, again in blocks. Every number is made by the same
 * additions in the same order as in a whole table: a row's gradient is rounded to an integer once in a pass, after the
 * embeddings have added to it or, if the input does not name it, after the decoder. On a device with its own memory the
 * table is a part of the embeddings' slot.
 *
 * A round is one pass of every process; processes that have no pass left add zeros until all are done. So gradients are
 * sent as often in a step as the process with the most micro-batches has passes. With same_bits passes are added as
 * integers, and the sums are bit for bit those of gradient_sum.h. Sums over processes are made in host memory. One
 * thread calls; collective calls are made by all processes in the same order. */
#pragma once

#include "trainer/parallel/gradient_sum.h"

struct zero2;

/* Allocates the memory. `options` are those of gradient_sum_open, with `partition` and without `gradients`. */
struct zero2 *zero2_open(const struct gradient_sum_options *options);
void zero2_close(struct zero2 *zero2); /* NULL is fine */

/* Bytes of the device's memory that zero2_open allocates at `rank`. `tokens`: maximum of a pass if every
 * process has its gradients in host memory, otherwise 0. */
uint64_t zero2_bytes(const struct params *params, const struct partition *partition, uint32_t rank, bool same_bits,
                     bool overlap, size_t tokens);

/* As in gradient_sum.h. */
void zero2_begin(struct zero2 *zero2, uint64_t number, double loss_scale);
/* Collective, before every pass: begins a round and returns the listener for this pass over `batch`. `last`: this
 * process has no more passes in this step. */
const struct gradient_listener *zero2_pass(struct zero2 *zero2, const struct batch *batch, bool last);
/* Collective, after the last pass, if there was one: completes the sums of the own slices; *refused as in
 * gradient_sum_finish. Returns earlier errors too. */
int zero2_finish(struct zero2 *zero2, int64_t *refused, struct error *err);
/* The sums of the own slices: packed floats (struct slice). */
const void *zero2_sums(const struct zero2 *zero2);

/* The listener for a pass over `batch` between steps whose gradients are not summed. `observer` (may be NULL) is called
 * for all gradients while they exist, perhaps several times for one chunk, with different parts of it and zeros for
 * the others: values[0] is element `from` of flat memory. */
struct gradient_observer {
    void (*group)(void *context, const void *values, size_t from, struct chunk_range chunks);
    void *context;
};
const struct gradient_listener *zero2_alone(struct zero2 *zero2, const struct batch *batch,
                                            const struct gradient_observer *observer);

struct sum_record zero2_record(const struct zero2 *zero2); /* as in gradient_sum.h */

/* Adds the gradients of a step over the processes of a run, bucket by bucket (buckets.h), while the rest of the
 * backward pass is computed.
 *
 *     gradient_sum_open
 *       → for each step { gradient_sum_begin → gradient_sum_pass after every pass, the last one with the listener
 *                         → gradient_sum_finish }
 *     gradient_sum_close
 *
 * These are plain sums: every process has gradients of its share, times loss_scale / counts of the whole batch (Law 4),
 * and nothing is divided by the number of processes. A process without a share makes no pass and adds zeros.
 *
 * With same_bits gradients are added as integers (struct fixed_add_args), also over the passes of one process. Each
 * pass is one part of the batch, and the sums do not depend on which process computed which part, nor on the order. A
 * single process then does the same. Without same_bits, if all processes have their gradients in host memory, the rows
 * of the word table that are not inputs of any process's last pass are summed right after the heads (word_rows.h); the
 * processes exchange which rows these are when the last pass begins.
 *
 * With `pieces` each process gets the sums of its own pieces only, added in rank order; its other gradients are then
 * undefined. Without `gradients` they exist only for those pieces and are sent after every pass (gradient_pieces.h).
 * With `wire` COMM_BF16 every process rounds its gradients once, and the sums are rounded once. One thread calls. */
#ifndef TRAINER_GRADIENT_SUM_H
#define TRAINER_GRADIENT_SUM_H

#include "base/error.h"
#include "trainer/comm.h"
#include "trainer/comm/meet.h"
#include "trainer/buckets.h"
#include "trainer/model/model.h"
#include "trainer/pieces.h"

#include <stdbool.h>
#include <stdint.h>

#define FIXED_LIMIT 0x1p61 /* limit of fixed_add times the number of parts; sums over all parts stay below 2^62 */

struct gradient_sum_options {
    const struct ops *ops; /* the first five outlive the gradient_sum */
    const struct params *params;
    void *gradients; /* flat, real (floats), in the device's memory; NULL: only those of `pieces` are kept */
    struct comm *comm;
    struct meet *meet; /* is told which bucket comes next; NULL: one process */
    bool same_bits;
    enum comm_type wire; /* type in which gradients are sent without same_bits: COMM_FLOAT or COMM_BF16 */
    /* For same_bits: the parts of a batch, and those of each process: borders[size + 1], from 0 to `parts`. Copied. */
    uint64_t parts;
    const uint64_t *borders;
    bool on_hosts;               /* every process has its gradients in host memory */
    size_t tokens;               /* maximum of a pass */
    bool overlap;                /* sums are made during the last pass, else after it */
    uint64_t bucket;             /* maximum of elements per bucket, as in buckets_init */
    const struct pieces *pieces; /* --zero: each process gets only the sums of its own pieces; NULL: all get all */
};

struct gradient_sum;
struct gradient_pieces;

/* Allocates all memory, except a number per token of the last pass: with same_bits 8 bytes per parameter, otherwise
 * very little, plus 2 bytes per parameter of host memory with COMM_BF16. */
struct gradient_sum *gradient_sum_open(const struct gradient_sum_options *options);
void gradient_sum_close(struct gradient_sum *sum); /* NULL is fine */

/* Bytes of the device's memory that gradient_sum_open allocates if all gradients are kept. */
uint64_t gradient_sum_bytes(const struct params *params, bool same_bits);

/* Begins step `number`, from 1. `own`: gradients are not summed, only losses are. */
void gradient_sum_begin(struct gradient_sum *sum, uint64_t number, double loss_scale, bool own);
/* The listener for model_forward_backward with this batch; `last`: it is the step's last pass. NULL: nothing is summed
 * during the pass. */
const struct gradient_listener *gradient_sum_listener(struct gradient_sum *sum, const struct batch *batch, bool last);
/* After a pass: adds its gradients and its sums of losses. */
void gradient_sum_pass(struct gradient_sum *sum, const double sums[STEP_SUMS]);
/* Waits until gradients and `sums`, of losses, are those of the whole batch; sums[0] is NaN if a gradient could not be
 * added. On error the gradients are undefined, and the process can only leave. */
int gradient_sum_finish(struct gradient_sum *sum, double sums[STEP_SUMS], struct error *err);

/* The gradients of the own pieces, if only those are kept; else NULL. */
struct gradient_pieces *gradient_sum_pieces(const struct gradient_sum *sum);

/* Between steps: changes the borders of parts; without same_bits does nothing. */
void gradient_sum_recut(struct gradient_sum *sum, const uint64_t *borders);
/* Seconds for which the passes of this step have waited for other processes. */
double gradient_sum_waited(const struct gradient_sum *sum);

/* Bytes that this process sent for the last step's gradients, computed (comm_wire_bytes). */
uint64_t gradient_sum_wire_bytes(const struct gradient_sum *sum);

/* Times of each bucket, in the order in which they are summed. */
const struct bucket_times *gradient_sum_times(const struct gradient_sum *sum, size_t *count);

#endif

/* Adds the gradients of a step over the processes of a run, bucket by bucket (buckets.h), while the rest of the
 * backward pass is worked out.
 *
 *     gradient_sum_open
 *       → { gradient_sum_begin → gradient_sum_pass after every pass, the last one with the listener
 *           → gradient_sum_finish } …, a step each
 *     gradient_sum_close
 *
 * Sums only: every process has gradients of its share, × loss_scale / counts of the whole batch (Law 4), and
 * nothing is divided by the number of processes. A process without a share makes no pass and adds zeros.
 *
 * With same_bits gradients are added as integers (struct fixed_add_args), over the passes of a process too: each pass
 * is one part of the batch, and the sums depend on neither who computed which part nor in which order. A single process
 * does the same then. Without same_bits, and where all processes have their gradients in the host's memory, the rows of
 * the word table that no last pass has as its input are summed right after the heads (word_rows.h); which rows these
 * are is exchanged when the last pass begins. With `pieces` a sum reaches the process that holds its piece, added in
 * rank order; what the gradients are elsewhere is not defined then. Without `gradients` they exist for those pieces
 * alone, and travel in every pass (gradient_pieces.h). With `wire` COMM_BF16 each process rounds its
 * gradients once, and so are the sums. One thread calls. */
#ifndef TRAINER_GRADIENT_SUM_H
#define TRAINER_GRADIENT_SUM_H

#include "base/error.h"
#include "trainer/comm.h"
#include "trainer/comm/meet.h"
#include "trainer/model/model.h"
#include "trainer/pieces.h"

#include <stdbool.h>
#include <stdint.h>

#define FIXED_LIMIT 0x1p61 /* of fixed_add, over the number of parts: no sum of so many reaches 2^62 */

struct gradient_sum_options {
    const struct ops *ops; /* these five outlive it */
    const struct params *params;
    void *gradients; /* flat, real: floats. The device's; NULL: those of `pieces` alone are kept */
    struct comm *comm;
    struct meet *meet; /* hears which bucket is waited for; NULL: one process */
    bool same_bits;
    enum comm_type wire; /* what travels without same_bits: COMM_FLOAT or COMM_BF16 */
    /* same_bits: the parts of a batch, and which each process has: borders[size + 1], from 0 to `parts`. Copied. */
    uint64_t parts;
    const uint64_t *borders;
    bool on_hosts;               /* every process has its gradients in the host's memory */
    bool overlap;                /* sums are made while the last pass goes on, else after it */
    uint64_t bucket;             /* elements of one at most, as buckets_init has it */
    const struct pieces *pieces; /* --zero: each process gets the sums of its own pieces alone; NULL: all get all */
};

struct gradient_sum;
struct gradient_pieces;

/* Takes all memory but a number for each token of a last pass: 8 bytes a parameter with same_bits; without next to
 * none, and 2 of the host's for bf16. */
struct gradient_sum *gradient_sum_open(const struct gradient_sum_options *options);
void gradient_sum_close(struct gradient_sum *sum); /* NULL is fine */

/* Bytes of the device's memory that gradient_sum_open takes where all gradients are kept. */
uint64_t gradient_sum_bytes(const struct params *params, bool same_bits);

/* Begins step `number`, from 1. `own`: its gradients stay those of this process, and only losses are summed. */
void gradient_sum_begin(struct gradient_sum *sum, uint64_t number, double loss_scale, bool own);
/* For model_forward_backward, in a pass of this batch, the step's last or another; NULL where nothing is summed before
 * it ends. */
const struct gradient_listener *gradient_sum_listener(struct gradient_sum *sum, const struct batch *batch, bool last);
/* After a pass: `sums` are of its losses. */
void gradient_sum_pass(struct gradient_sum *sum, const double sums[STEP_SUMS]);
/* Waits until the gradients are those of the whole batch, and so are `sums`: of losses, NaN where a gradient could not
 * be added. On error the gradients are not defined, and the process can only leave. */
int gradient_sum_finish(struct gradient_sum *sum, double sums[STEP_SUMS], struct error *err);

/* Where gradients of the own pieces alone are kept: those; else NULL. */
struct gradient_pieces *gradient_sum_pieces(const struct gradient_sum *sum);

/* Between steps: other borders of parts (same_bits; without nothing). */
void gradient_sum_recut(struct gradient_sum *sum, const uint64_t *borders);
/* Seconds that passes of this step have waited for other processes. */
double gradient_sum_waited(const struct gradient_sum *sum);

/* Bytes that this process sent for the last step's gradients, by the arithmetic of the algorithm (comm_wire_bytes). */
uint64_t gradient_sum_wire_bytes(const struct gradient_sum *sum);

/* Of each bucket, in the order in which they are summed. */
struct bucket_times {
    uint64_t bytes;       /* of what is summed, as it travels */
    uint64_t sums;        /* how many were made, */
    double taken, waited; /* seconds of all of them: in the library, and in gradient_sum_finish */
};
const struct bucket_times *gradient_sum_times(const struct gradient_sum *sum, size_t *count);

#endif

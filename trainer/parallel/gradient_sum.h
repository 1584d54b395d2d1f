/* Adds the gradients of a step over the processes of a run, bucket by bucket (partition.h), while the rest of the
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
 * With `partition` each process gets the sums of its own slices only, added in rank order; its other gradients are then
 * undefined.
 * With `wire` COMM_BF16 every process rounds its gradients once, and the sums are rounded once. One thread calls. */
#pragma once

#include "trainer/comm/comm.h"
#include "trainer/comm/rendezvous.h"
#include "trainer/model/model.h"
#include "trainer/parallel/partition.h"

#define FIXED_LIMIT 0x1p61 /* limit of fixed_add times the number of parts; sums over all parts stay below 2^62 */

struct gradient_sum_options {
    const struct ops *ops; /* the first five outlive the gradient_sum */
    const struct params *params;
    void *gradients; /* flat, real (floats), in the device's memory */
    struct comm *comm;
    struct rendezvous *rendezvous; /* is told which bucket comes next; NULL: one process */
    bool same_bits;
    enum comm_type wire; /* type in which gradients are sent without same_bits: COMM_FLOAT or COMM_BF16 */
    uint64_t parts;      /* of a batch, each of which is a pass; for same_bits */
    bool on_hosts;       /* every process has its gradients in host memory */
    size_t tokens;       /* maximum of a pass */
    bool overlap;        /* sums are made during the last pass, else after it */
    uint64_t bucket;     /* maximum of elements per bucket, as in buckets_init */
    const struct partition
        *partition; /* --zero: each process gets only the sums of its own slices; NULL: all get all */
};

struct gradient_sum;

/* Allocates all memory, except a number per token of the last pass: with same_bits 8 bytes per parameter, otherwise
 * very little, plus 2 bytes per parameter of host memory with COMM_BF16. */
struct gradient_sum *gradient_sum_open(const struct gradient_sum_options *options);
void gradient_sum_close(struct gradient_sum *sum); /* NULL is fine */

/* Bytes of the device's memory that gradient_sum_open allocates if all gradients are kept. */
uint64_t gradient_sum_bytes(const struct params *params, bool same_bits);

/* Begins step `number`, from 1. */
void gradient_sum_begin(struct gradient_sum *sum, uint64_t number, double loss_scale);
/* The listener for model_forward_backward with this batch; `last`: it is the step's last pass. NULL: nothing is summed
 * during the pass. */
const struct gradient_listener *gradient_sum_listener(struct gradient_sum *sum, const struct batch *batch, bool last);
/* After a pass: adds its gradients. */
void gradient_sum_pass(struct gradient_sum *sum);
/* Waits until the gradients are those of the whole batch. *refused: how many of this process could not be added
 * (same_bits); then they are not. On error the gradients are undefined, and the process can only leave. */
int gradient_sum_finish(struct gradient_sum *sum, int64_t *refused, struct error *err);

struct sum_record {
    double waited;                    /* seconds, in the passes of this step, for other processes */
    uint64_t wire_bytes;              /* sent for the last step's gradients, computed (comm_wire_bytes) */
    const struct bucket_times *times; /* [count] of each bucket, in the order in which they are summed */
    size_t count;
};
struct sum_record gradient_sum_record(const struct gradient_sum *sum);

/* Reads a counter of fixed_add from the device's memory; waits for the device. */
int64_t fixed_refused(const struct ops *ops, int64_t *refused);

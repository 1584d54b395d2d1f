/* Sequences into a micro-batch (batch.h): sequences end to end, dead rows after them.
 *
 *     pack_init → { pack_clear → pack_add … until it does not fit → pack_finish → use } … → pack_release
 *
 *     │ sample 7 │ sample 8        │ sample 9 │ dead │     token rows, rounded up
 *     0          starts[1]         starts[2]  starts[3]
 *
 * Pure but for the memory that pack_init takes. One thread per batch. */
#ifndef TRAINER_DATA_PACK_H
#define TRAINER_DATA_PACK_H

#include "trainer/data/batch.h"
#include "trainer/data/sequence.h"

#include <stdbool.h>
#include <stdint.h>

/* What a micro-batch may hold: live rows, before they are rounded up.
 *
 * Row counts are rounded up to `shapes` of them at most, in even steps (0: to BATCH_ROW_MULTIPLE alone). A backend that
 * plans a product for every number of rows wants few: with 32 shapes, whatever the samples, a run soon meets none that
 * is new. Dead rows are multiplied too, but few are made: a micro-batch is filled until the next sample does not fit,
 * so all but a batch's last one round up to the whole budget, as they nearly do without (of 65,536 tokens at most 511
 * are dead, 0.8 %); the last one rounds up by half a step, 1.6 % of a budget, in the mean. */
struct pack_limits {
    int32_t tokens;
    int32_t sequences;
    int32_t marks[HEAD_KINDS]; /* labels of each head */
    bool reads_all;            /* a head reads all rows, so batches have no `read` */
    int32_t shapes;
};
#define PACK_SHAPES 32

void pack_init(struct batch *batch, const struct pack_limits *limits);
void pack_release(struct batch *batch); /* safe on a zeroed one */
void pack_clear(struct batch *batch);   /* no sequences */

/* Appends a sequence that is number `number` of its step; false (and nothing changed) where it would exceed a limit. */
bool pack_add(struct batch *batch, const struct pack_limits *limits, const struct sequence *sequence, uint32_t number);
/* Fills the dead rows, closes the last sequence and makes the batch of rows that heads read. */
void pack_finish(struct batch *batch, const struct pack_limits *limits);

#endif

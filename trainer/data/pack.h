/* Packs sequences into a micro-batch (batch.h): sequences end to end, followed by dead rows.
 *
 *     pack_init → { pack_clear → pack_add … until it does not fit → pack_finish → use } … → pack_release
 *
 *     │ sample 7 │ sample 8        │ sample 9 │ dead │     token rows, rounded up
 *     0          starts[1]         starts[2]  starts[3]
 *
 * Pure except for the memory that pack_init allocates. One thread per batch. */
#pragma once

#include "trainer/data/batch.h"
#include "trainer/data/sequence.h"

#include <stdbool.h>
#include <stdint.h>

/* What a micro-batch may hold: live rows, before rounding up.
 *
 * Row counts are rounded up to one of at most `shapes` values in even steps (0: to a multiple of BATCH_ROW_MULTIPLE). A
 * backend that plans a product for every number of rows needs few of them: with 32 shapes a run soon meets no new one,
 * whatever the samples. Dead rows cost computation, but there are few. A micro-batch is filled until the next sample
 * does not fit, so all but a batch's last one are rounded up to the full budget, which they nearly fill anyway (of
 * 65,536 tokens at most 511 are dead, 0.8 %). The last one is rounded up by half a step on average, 1.6 % of the
 * budget. */
struct pack_limits {
    int32_t tokens;
    int32_t sequences;
    int32_t marks[HEAD_KINDS]; /* labels of each head */
    bool reads_all;            /* a head reads all rows, so batches have no batch `read` */
    int32_t shapes;
};
#define PACK_SHAPES 32

void pack_init(struct batch *batch, const struct pack_limits *limits);
void pack_release(struct batch *batch); /* safe on a zeroed one */
void pack_clear(struct batch *batch);   /* no sequences */

/* Appends the sequence with number `number` in its step; false, with nothing changed, if it would exceed a limit. */
bool pack_add(struct batch *batch, const struct pack_limits *limits, const struct sequence *sequence, uint32_t number);
/* Ends the last sequence, fills the dead rows and makes the batch of the rows that heads read. */
void pack_finish(struct batch *batch, const struct pack_limits *limits);

/* One micro-batch as the model sees it, without padding (docs/DESIGN.md, section 5). B sequences are stored end to end
 * in T token rows; only attention needs to know where one ends. Row counts are rounded up (pack.h). The rows after the
 * live ones are dead: they are zero in every buffer, forward and backward, never stale memory. */
#pragma once

#include "trainer/data/heads.h"

#include <stdint.h>

#define BATCH_ROW_MULTIPLE 64

/* The rows that a head has labels for, in the order of the token rows. */
struct head_batch {
    int32_t live;    /* labels */
    int32_t total;   /* rounded up */
    int32_t *index;  /* [total] row of each label in batch_read(batch); dead rows -1 */
    int32_t *labels; /* [total] their meaning depends on the head (sequence.h); dead rows -1 */
};

struct batch {
    int32_t sequences;    /* B */
    int32_t tokens;       /* T: live token rows */
    int32_t token_rows;   /* T rounded up */
    int32_t *ids;         /* [token_rows] piece ids; dead rows -1 */
    int32_t *segments;    /* [token_rows] 0 = A, 1 = B */
    int32_t *positions;   /* [token_rows] place in its sequence, 0 to S-1 */
    int32_t *sequence_of; /* [token_rows] 0 to B-1: which sequence a row belongs to; dead rows -1 */
    int32_t *starts;      /* [B + 1] first row of each sequence ("cu_seqlens") */
    uint32_t *numbers;    /* [B] number of the sequence within the step, which selects its dropout */
    struct head_batch heads[HEAD_KINDS];
    /* The rows that any head reads, in the order of the token rows; the last layer is computed only for these. They
     * form a batch with the same sequences and numbers, some sequences possibly without a row, and no ids, segments or
     * heads. NULL, or without tokens: heads read all rows. */
    struct batch *read;
    int32_t *read_index; /* [read->token_rows] token row of each; dead rows -1 */
};

/* The batch of the rows that heads read. */
static inline const struct batch *batch_read(const struct batch *batch)
{
    return batch->read && batch->read->tokens > 0 ? batch->read : batch;
}

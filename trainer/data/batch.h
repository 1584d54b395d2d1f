/* One micro-batch as the model sees it: no padding travels (design 4). B sequences stand end to end in T token rows;
 * only attention knows where one ends. Row counts are rounded up (pack.h); rows beyond the live ones are dead: zeros
 * in every buffer, forward and backward, never stale memory. */
#ifndef TRAINER_DATA_BATCH_H
#define TRAINER_DATA_BATCH_H

#include "trainer/heads.h"

#include <stdint.h>

#define BATCH_ROW_MULTIPLE 64

/* The rows that a head has labels for, in the order of the token rows. */
struct head_batch {
    int32_t live;    /* labels */
    int32_t total;   /* rounded up */
    int32_t *index;  /* [total] token row of each; dead rows -1 */
    int32_t *labels; /* [total] what the head makes of them (sequence.h); dead rows -1 */
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
    uint32_t *numbers;    /* [B] number of the sequence within the step: names its dropout, whatever the micro-batch */
    struct head_batch heads[HEAD_KINDS];
};

#endif

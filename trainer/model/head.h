/* The heads on the last layer. A row of head_kinds says all that the rest of the program knows of one: its tensors, the
 * rows it reads, the buffers it wants, its work, its pass. A new head is a value of enum head_kind (trainer/heads.h),
 * its formulas in heads.c, and a row. */
#ifndef TRAINER_MODEL_HEAD_H
#define TRAINER_MODEL_HEAD_H

#include "trainer/data/batch.h"
#include "trainer/heads.h"
#include "trainer/model/tensors.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rows of the last layer that a head reads. The gradient of the others is zero, so the last layer is computed for
 * the union of its heads' rows alone (struct batch's read). */
enum head_reads {
    READS_MARKED, /* those with labels: some in each sequence, more in longer ones */
    READS_FIRST,  /* the first of each sequence, [CLS], which has the label */
    READS_ALL,    /* all, whichever have labels */
};

/* [the head's rows, columns], kept from the forward to the backward pass. */
struct head_buffer {
    const char *name; /* in the plan: "masked.logits" */
    size_t at;        /* of its pointer in struct model (parts.h) */
    int32_t columns;  /* a number or a size (tensors.h); the vocabulary's is padded */
    bool real;        /* else storage */
};

struct model;

struct head {
    enum head_reads reads;
    const struct tensor_row *tensors; /* whole names */
    size_t tensor_count;
    const struct head_buffer *buffers;
    size_t buffer_count;
    size_t logits; /* the place of theirs in struct model, as of a buffer */
    /* Multiply-adds of a row that it reads, forward. */
    double (*work)(const struct model_config *config);
    /* Forward and loss of a batch with at least one label: sums +=. In training backward too: the head's gradients,
     * those of tensors it shares with the model, and output_gradient +=. */
    void (*pass)(struct model *model, const struct batch *batch);
};

extern const struct head head_kinds[]; /* [HEAD_KINDS] */

/* What a head reads of a batch. */
struct head_rows {
    struct rows rows;
    const int32_t *index; /* [rows.total] place of each in batch_read; NULL: the token rows as they are */
};
struct head_rows head_rows(enum head_kind head, const struct batch *batch);

#endif

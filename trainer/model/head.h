/* The heads on the last layer. A row of head_kinds has all that the rest of the program knows of a head: its tensors,
 * the rows it reads, its buffers, its work, its pass. A new head is a value of enum head_kind (trainer/data/heads.h),
 * its formulas in heads.c, and a row. */
#ifndef TRAINER_MODEL_HEAD_H
#define TRAINER_MODEL_HEAD_H

#include "trainer/data/batch.h"
#include "trainer/data/heads.h"
#include "trainer/model/tensors.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rows of the last layer that a head reads. The gradient of the other rows is zero, so the last layer is computed
 * only for the union of its heads' rows (struct batch's read). */
enum head_reads {
    READS_MARKED, /* those with labels: some in each sequence, more in longer ones */
    READS_FIRST,  /* the first of each sequence, [CLS], which has the label */
    READS_ALL,    /* all rows, whether or not they have labels */
};

/* [the head's rows, columns], kept from the forward to the backward pass. */
struct head_buffer {
    const char *name; /* in the plan: "masked.logits" */
    size_t at;        /* offset of its pointer in struct model (parts.h) */
    int32_t columns;  /* a number or a size (tensors.h); the vocabulary's is padded */
    bool real;        /* else storage */
};

struct model;

struct head {
    enum head_reads reads;
    const struct tensor_row *tensors; /* with full names */
    size_t tensor_count;
    const struct head_buffer *buffers;
    size_t buffer_count;
    size_t logits; /* offset of their pointer in struct model, as of a buffer */
    /* Multiply-adds per row that it reads, forward. */
    double (*work)(const struct model_config *config);
    /* Forward pass and loss of a batch with at least one label: sums +=. In training also the backward pass: the head's
     * gradients, those of tensors that it shares with the model, and output_gradient +=. */
    void (*pass)(struct model *model, const struct batch *batch);
};

extern const struct head head_kinds[]; /* [HEAD_KINDS] */

/* The rows of a batch that a head reads. */
struct head_rows {
    struct rows rows;
    const int32_t *index; /* [rows.total] place of each row in batch_read; NULL: all token rows */
};
struct head_rows head_rows(enum head_kind head, const struct batch *batch);

#endif

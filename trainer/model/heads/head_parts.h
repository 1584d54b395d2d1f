/* What the files of the heads share: the pooler, a last product with few columns, and the scale of gradients. */
#ifndef TRAINER_MODEL_HEADS_HEAD_PARTS_H
#define TRAINER_MODEL_HEADS_HEAD_PARTS_H

#include "trainer/model/head.h"
#include "trainer/model/parts.h"

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

/* What a gradient of the head's mean loss over the whole step is multiplied by; 0 in evaluation. */
double slope_factor(const struct model *model, enum head_kind head);

/* The pooler, tanh(x W_p + b) for the first row x of each sequence. Heads that begin with it have these tensors and
 * buffers first. As its tensors have one name each, a model has only one of them. */
enum { POOLER_WEIGHT, POOLER_BIAS, POOLER_TENSORS };
#define POOLER_TENSOR_ROWS                                                                                             \
    MATRIX("bert.pooler.dense.weight", OF_HIDDEN, OF_HIDDEN), BIAS("bert.pooler.dense.bias", OF_HIDDEN)
enum { POOLER_FIRST, POOLER_OUT, POOLER_BUFFERS };
void pool(struct model *model, const struct batch *batch, enum head_kind head);
/* `gradient` [B, H]: of the pooler's output; it is overwritten. */
void pool_backward(struct model *model, const struct batch *batch, enum head_kind head, void *gradient);

/* A product with few columns on rows x: logits, and backward its gradients and dx (or dx +=). */
struct output {
    void *logits;  /* [rows, out] */
    const void *x; /* [rows, H] */
    void *dx;      /* of the same shape, in other memory: x is read after dx is written */
    bool adds;     /* to what is in dx */
    struct rows rows;
    int32_t out;
    const struct param *weight, *bias;
};
void output_forward(struct model *model, const struct output *output);
void output_backward(struct model *model, const struct output *output);

#endif

/* What the files of the heads share: pooler and transform, a last product with few columns, the scale of gradients. */
#pragma once

#include "trainer/model/parts.h"

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

/* What a gradient of the head's mean loss over the whole step is multiplied by; 0 in evaluation. */
double slope_factor(const struct model *model, enum head_kind head);

/* The transform of rows x, LN(gelu(x W_t + b)): of the masked head, and in models that transform also of those of
 * fine-tuning. Heads that have it have these tensors first (`of_begin`: enum head_begin), and these buffers. */
enum { TRANSFORM_WEIGHT, TRANSFORM_BIAS, TRANSFORM_GAIN, TRANSFORM_SHIFT, TRANSFORM_TENSORS };
#define TRANSFORM_TENSOR_ROWS(of_begin)                                                                                \
    MATRIX("cls.predictions.transform.dense.weight", OF_HIDDEN, OF_HIDDEN, .begin = of_begin),                         \
        BIAS("cls.predictions.transform.dense.bias", OF_HIDDEN, .optional = OPTIONAL_HEAD_BIASES, .begin = of_begin),  \
        GAIN("cls.predictions.transform.LayerNorm.weight", OF_HIDDEN, .begin = of_begin),                              \
        NORM_BIAS("cls.predictions.transform.LayerNorm.bias", .begin = of_begin)
enum { TRANSFORM_IN, TRANSFORM_OUT, TRANSFORM_PRODUCT, TRANSFORM_ACTIVATED, TRANSFORM_STATISTICS, TRANSFORM_BUFFERS };
/* The last three of them: before GELU, after it, and of the norm. */
#define TRANSFORM_BUFFER_ROWS(of_head, of_tuned)                                                                       \
    [TRANSFORM_PRODUCT] = {of_head ".transform", OF_HIDDEN, .transform = of_tuned},                                    \
    [TRANSFORM_ACTIVATED] = {of_head ".transform_out", OF_HIDDEN, .transform = of_tuned},                              \
    [TRANSFORM_STATISTICS] = {of_head ".stats", 2, .real = true, .transform = of_tuned}
static inline bool model_transforms(const struct model *model)
{
    return architecture_of(&model->config)->transforms;
}
/* Makes TRANSFORM_OUT of x. */
void transform(struct model *model, enum head_kind head, const void *x, struct rows rows);
/* `gradient`, of TRANSFORM_OUT, is overwritten; dx, or with `adds` dx +=, may be x. */
void transform_backward(struct model *model, enum head_kind head, const void *x, struct rows rows, void *gradient,
                        void *dx, bool adds);

/* The pooler, tanh(x W_p + b) for the first row x of each sequence, or where the model lacks it the transform of x.
 * With pools_mean x is the mean of the sequence. Heads that begin with it have these tensors after those of a
 * transform, or (the next head) first, and these buffers. As its tensors have one name each, a model has only one of
 * them. */
enum { POOLER_WEIGHT, POOLER_BIAS, POOLER_TENSORS };
#define POOLER_TENSOR_ROWS(of_begin)                                                                                   \
    MATRIX("bert.pooler.dense.weight", OF_HIDDEN, OF_HIDDEN, .begin = of_begin),                                       \
        BIAS("bert.pooler.dense.bias", OF_HIDDEN, .begin = of_begin)
enum { POOLER_FIRST = TRANSFORM_IN, POOLER_OUT = TRANSFORM_OUT, POOLER_BUFFERS };
/* `pooler`: the place of POOLER_WEIGHT among the head's. */
void pool(struct model *model, const struct batch *batch, enum head_kind head, size_t pooler);
/* `gradient` [B, H]: of the pooler's output; it is overwritten. */
void pool_backward(struct model *model, const struct batch *batch, enum head_kind head, size_t pooler, void *gradient);

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

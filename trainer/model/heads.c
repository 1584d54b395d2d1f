/* The two pre-training heads, forward, loss and backward in one go. In: the last layer's rows; out: sums, and in
 * training the heads' gradients and dhidden +=.
 *
 *     masked: logits = LN(gelu(x W_t)) E^T + b for rows x of masked tokens, E the word embedding (tied)
 *     next:   logits = tanh(x W_p) W_n for the first row x of each sequence */
#include "trainer/model/parts.h"

#define HEAD(place) params_head(&model->table, place)

static double slope_factor(const struct model *model, enum head_kind head)
{
    return model->training ? model->step.loss_scale / (double)model->step.counts[head] : 0;
}

static void masked_backward(struct model *model, const struct batch *batch, struct rows rows)
{
    const struct ops *ops = model->ops;
    const struct param *word = &model->table.items[PARAM_WORD];
    const int32_t hidden = model->config.hidden, vocabulary = vocabulary_padded(&model->config);
    const enum gelu gelu = model->config.gelu;
    void *gradient = model->dfeatures;
    CALL(ops, linear_backward_input, .dx = gradient, .dy = model->logits, .w = weight_of(model, word), .rows = rows,
         .out = vocabulary, .in = hidden);
    CALL(ops, linear_backward_weight, .dw = gradient_of(model, word), .db = gradient_of(model, HEAD(HEAD_BIAS)),
         .dy = model->logits, .x = model->features, .rows = rows, .out = vocabulary, .in = hidden,
         .scratch = model->scratch);
    CALL(ops, norm_backward, .dz = gradient, .dgain = gradient_of(model, HEAD(HEAD_NORM_WEIGHT)),
         .dbias = gradient_of(model, HEAD(HEAD_NORM_BIAS)), .dy = gradient, .z = model->transform_out,
         .statistics = model->transform_stats, .gain = vector_of(model, HEAD(HEAD_NORM_WEIGHT)), .rows = rows,
         .hidden = hidden, .scratch = model->scratch);
    ops->gelu_backward(ops->device, gradient, model->transform, rows, hidden, gelu);
    CALL(ops, linear_backward_weight, .dw = gradient_of(model, HEAD(HEAD_TRANSFORM_WEIGHT)),
         .db = gradient_of(model, HEAD(HEAD_TRANSFORM_BIAS)), .dy = gradient, .x = model->picked, .rows = rows,
         .out = hidden, .in = hidden, .scratch = model->scratch);
    CALL(ops, linear_backward_input, .dx = model->picked, .dy = gradient,
         .w = weight_of(model, HEAD(HEAD_TRANSFORM_WEIGHT)), .rows = rows, .out = hidden, .in = hidden);
    ops->scatter(ops->device, model->dhidden, model->picked, batch->heads[HEAD_MASKED].index, rows, hidden);
}

void masked_head(struct model *model, const struct batch *batch)
{
    const struct ops *ops = model->ops;
    const struct rows rows = {batch->heads[HEAD_MASKED].live, batch->heads[HEAD_MASKED].total};
    const int32_t hidden = model->config.hidden, vocabulary = vocabulary_padded(&model->config);
    ops->gather(ops->device, model->picked, model_hidden(model), batch->heads[HEAD_MASKED].index, rows, hidden);
    CALL(ops, linear_gelu, .pre = model->transform, .y = model->transform_out, .x = model->picked,
         .w = weight_of(model, HEAD(HEAD_TRANSFORM_WEIGHT)), .b = vector_of(model, HEAD(HEAD_TRANSFORM_BIAS)),
         .rows = rows, .out = hidden, .in = hidden, .gelu = model->config.gelu);
    CALL(ops, norm, .y = model->features, .z = model->transform_out, .statistics = model->transform_stats,
         .x = model->transform_out, .gain = vector_of(model, HEAD(HEAD_NORM_WEIGHT)),
         .bias = vector_of(model, HEAD(HEAD_NORM_BIAS)), .epsilon = model->config.norm_epsilon, .rows = rows,
         .hidden = hidden);
    CALL(ops, linear, .y = model->logits, .x = model->features, .w = weight_of(model, &model->table.items[PARAM_WORD]),
         .b = vector_of(model, HEAD(HEAD_BIAS)), .rows = rows, .out = vocabulary, .in = hidden);
    ops->loss(ops->device, model->sums + HEAD_SUMS * HEAD_MASKED, model->logits, batch->heads[HEAD_MASKED].labels, rows,
              vocabulary, model->config.vocabulary, slope_factor(model, HEAD_MASKED), model->scratch);
    if (model->training)
        masked_backward(model, batch, rows);
}

static void next_backward(struct model *model, const struct batch *batch, struct rows rows)
{
    const struct ops *ops = model->ops;
    const int32_t hidden = model->config.hidden;
    void *gradient = model->dpooled;
    CALL(ops, linear_backward_input, .dx = gradient, .dy = model->next_logits,
         .w = weight_of(model, HEAD(HEAD_NEXT_WEIGHT)), .rows = rows, .out = 2, .in = hidden);
    CALL(ops, linear_backward_weight, .dw = gradient_of(model, HEAD(HEAD_NEXT_WEIGHT)),
         .db = gradient_of(model, HEAD(HEAD_NEXT_BIAS)), .dy = model->next_logits, .x = model->pooled, .rows = rows,
         .out = 2, .in = hidden, .scratch = model->scratch);
    ops->tanh_backward(ops->device, gradient, model->pooled, rows, hidden);
    CALL(ops, linear_backward_weight, .dw = gradient_of(model, HEAD(HEAD_POOLER_WEIGHT)),
         .db = gradient_of(model, HEAD(HEAD_POOLER_BIAS)), .dy = gradient, .x = model->first, .rows = rows,
         .out = hidden, .in = hidden, .scratch = model->scratch);
    CALL(ops, linear_backward_input, .dx = model->first, .dy = gradient,
         .w = weight_of(model, HEAD(HEAD_POOLER_WEIGHT)), .rows = rows, .out = hidden, .in = hidden);
    ops->scatter(ops->device, model->dhidden, model->first, batch->heads[HEAD_NEXT].index, rows, hidden);
}

void next_head(struct model *model, const struct batch *batch)
{
    const struct ops *ops = model->ops;
    const struct rows rows = {batch->heads[HEAD_NEXT].live, batch->heads[HEAD_NEXT].total};
    const int32_t hidden = model->config.hidden;
    ops->gather(ops->device, model->first, model_hidden(model), batch->heads[HEAD_NEXT].index, rows, hidden);
    CALL(ops, linear, .y = model->pooled, .x = model->first, .w = weight_of(model, HEAD(HEAD_POOLER_WEIGHT)),
         .b = vector_of(model, HEAD(HEAD_POOLER_BIAS)), .rows = rows, .out = hidden, .in = hidden);
    ops->tanh(ops->device, model->pooled, rows, hidden);
    CALL(ops, linear, .y = model->next_logits, .x = model->pooled, .w = weight_of(model, HEAD(HEAD_NEXT_WEIGHT)),
         .b = vector_of(model, HEAD(HEAD_NEXT_BIAS)), .rows = rows, .out = 2, .in = hidden);
    ops->loss(ops->device, model->sums + HEAD_SUMS * HEAD_NEXT, model->next_logits, batch->heads[HEAD_NEXT].labels,
              rows, 2, 2, slope_factor(model, HEAD_NEXT), model->scratch);
    if (model->training)
        next_backward(model, batch, rows);
}

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
    CALL(ops, gelu_backward, .dy = gradient, .pre = model->transform, .rows = rows, .columns = hidden, .gelu = gelu);
    CALL(ops, linear_backward_weight, .dw = gradient_of(model, HEAD(HEAD_TRANSFORM_WEIGHT)),
         .db = gradient_of(model, HEAD(HEAD_TRANSFORM_BIAS)), .dy = gradient, .x = model->picked, .rows = rows,
         .out = hidden, .in = hidden, .scratch = model->scratch);
    CALL(ops, linear_backward_input, .dx = model->picked, .dy = gradient,
         .w = weight_of(model, HEAD(HEAD_TRANSFORM_WEIGHT)), .rows = rows, .out = hidden, .in = hidden);
    CALL(ops, scatter, .y = model->dhidden, .x = model->picked, .index = batch->heads[HEAD_MASKED].index, .rows = rows,
         .hidden = hidden);
}

void masked_head(struct model *model, const struct batch *batch)
{
    const struct ops *ops = model->ops;
    const struct rows rows = {batch->heads[HEAD_MASKED].live, batch->heads[HEAD_MASKED].total};
    const int32_t hidden = model->config.hidden, vocabulary = vocabulary_padded(&model->config);
    CALL(ops, gather, .y = model->picked, .x = model_hidden(model), .index = batch->heads[HEAD_MASKED].index,
         .rows = rows, .hidden = hidden);
    CALL(ops, linear_gelu, .pre = model->transform, .y = model->transform_out, .x = model->picked,
         .w = weight_of(model, HEAD(HEAD_TRANSFORM_WEIGHT)), .b = vector_of(model, HEAD(HEAD_TRANSFORM_BIAS)),
         .rows = rows, .out = hidden, .in = hidden, .gelu = model->config.gelu);
    CALL(ops, norm, .y = model->features, .z = model->transform_out, .statistics = model->transform_stats,
         .x = model->transform_out, .gain = vector_of(model, HEAD(HEAD_NORM_WEIGHT)),
         .bias = vector_of(model, HEAD(HEAD_NORM_BIAS)), .epsilon = model->config.norm_epsilon, .rows = rows,
         .hidden = hidden);
    CALL(ops, linear, .y = model->logits, .x = model->features, .w = weight_of(model, &model->table.items[PARAM_WORD]),
         .b = vector_of(model, HEAD(HEAD_BIAS)), .rows = rows, .out = vocabulary, .in = hidden);
    CALL(ops, loss, .sums = model->sums + HEAD_SUMS * HEAD_MASKED, .logits = model->logits,
         .labels = batch->heads[HEAD_MASKED].labels, .rows = rows, .columns = vocabulary,
         .vocabulary = model->config.vocabulary, .factor = slope_factor(model, HEAD_MASKED), .scratch = model->scratch);
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
    CALL(ops, tanh_backward, .dy = gradient, .y = model->pooled, .rows = rows, .columns = hidden);
    CALL(ops, linear_backward_weight, .dw = gradient_of(model, HEAD(HEAD_POOLER_WEIGHT)),
         .db = gradient_of(model, HEAD(HEAD_POOLER_BIAS)), .dy = gradient, .x = model->first, .rows = rows,
         .out = hidden, .in = hidden, .scratch = model->scratch);
    CALL(ops, linear_backward_input, .dx = model->first, .dy = gradient,
         .w = weight_of(model, HEAD(HEAD_POOLER_WEIGHT)), .rows = rows, .out = hidden, .in = hidden);
    CALL(ops, scatter, .y = model->dhidden, .x = model->first, .index = batch->heads[HEAD_NEXT].index, .rows = rows,
         .hidden = hidden);
}

void next_head(struct model *model, const struct batch *batch)
{
    const struct ops *ops = model->ops;
    const struct rows rows = {batch->heads[HEAD_NEXT].live, batch->heads[HEAD_NEXT].total};
    const int32_t hidden = model->config.hidden;
    CALL(ops, gather, .y = model->first, .x = model_hidden(model), .index = batch->heads[HEAD_NEXT].index, .rows = rows,
         .hidden = hidden);
    CALL(ops, linear, .y = model->pooled, .x = model->first, .w = weight_of(model, HEAD(HEAD_POOLER_WEIGHT)),
         .b = vector_of(model, HEAD(HEAD_POOLER_BIAS)), .rows = rows, .out = hidden, .in = hidden);
    CALL(ops, tanh_rows, .x = model->pooled, .rows = rows, .columns = hidden);
    CALL(ops, linear, .y = model->next_logits, .x = model->pooled, .w = weight_of(model, HEAD(HEAD_NEXT_WEIGHT)),
         .b = vector_of(model, HEAD(HEAD_NEXT_BIAS)), .rows = rows, .out = 2, .in = hidden);
    CALL(ops, loss, .sums = model->sums + HEAD_SUMS * HEAD_NEXT, .logits = model->next_logits,
         .labels = batch->heads[HEAD_NEXT].labels, .rows = rows, .columns = 2, .vocabulary = 2,
         .factor = slope_factor(model, HEAD_NEXT), .scratch = model->scratch);
    if (model->training)
        next_backward(model, batch, rows);
}

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
    ops->linear_backward_input(ops->device, gradient, 0, model->logits, weight_of(model, word), NULL, rows, vocabulary,
                               hidden, gelu);
    ops->linear_backward_weight(ops->device, gradient_of(model, word), gradient_of(model, HEAD(HEAD_BIAS)),
                                model->logits, model->features, rows, vocabulary, hidden, model->scratch);
    ops->norm_backward(ops->device, NULL, gradient, 0, gradient_of(model, HEAD(HEAD_NORM_WEIGHT)),
                       gradient_of(model, HEAD(HEAD_NORM_BIAS)), gradient, model->transform_out, model->transform_stats,
                       vector_of(model, HEAD(HEAD_NORM_WEIGHT)), rows, hidden, NULL, NULL, model->scratch);
    ops->gelu_backward(ops->device, gradient, model->transform, rows, hidden, gelu);
    ops->linear_backward_weight(ops->device, gradient_of(model, HEAD(HEAD_TRANSFORM_WEIGHT)),
                                gradient_of(model, HEAD(HEAD_TRANSFORM_BIAS)), gradient, model->picked, rows, hidden,
                                hidden, model->scratch);
    ops->linear_backward_input(ops->device, model->picked, 0, gradient, weight_of(model, HEAD(HEAD_TRANSFORM_WEIGHT)),
                               NULL, rows, hidden, hidden, gelu);
    ops->scatter(ops->device, model->dhidden, model->picked, batch->heads[HEAD_MASKED].index, rows, hidden);
}

void masked_head(struct model *model, const struct batch *batch)
{
    const struct ops *ops = model->ops;
    const struct rows rows = {batch->heads[HEAD_MASKED].live, batch->heads[HEAD_MASKED].total};
    const int32_t hidden = model->config.hidden, vocabulary = vocabulary_padded(&model->config);
    ops->gather(ops->device, model->picked, model_hidden(model), batch->heads[HEAD_MASKED].index, rows, hidden);
    ops->linear_gelu(ops->device, model->transform, model->transform_out, model->picked,
                     weight_of(model, HEAD(HEAD_TRANSFORM_WEIGHT)), vector_of(model, HEAD(HEAD_TRANSFORM_BIAS)), rows,
                     hidden, hidden, model->config.gelu);
    ops->norm(ops->device, model->features, model->transform_out, model->transform_stats, model->transform_out, NULL,
              vector_of(model, HEAD(HEAD_NORM_WEIGHT)), vector_of(model, HEAD(HEAD_NORM_BIAS)),
              model->config.norm_epsilon, rows, hidden, NULL, NULL);
    ops->linear(ops->device, model->logits, model->features, weight_of(model, &model->table.items[PARAM_WORD]),
                vector_of(model, HEAD(HEAD_BIAS)), rows, vocabulary, hidden);
    ops->loss(ops->device, model->sums + HEAD_SUMS * HEAD_MASKED, model->logits, batch->heads[HEAD_MASKED].labels, rows,
              vocabulary, model->config.vocabulary, slope_factor(model, HEAD_MASKED), model->scratch);
    if (model->training)
        masked_backward(model, batch, rows);
}

static void next_backward(struct model *model, const struct batch *batch, struct rows rows)
{
    const struct ops *ops = model->ops;
    const int32_t hidden = model->config.hidden;
    const enum gelu gelu = model->config.gelu;
    void *gradient = model->dpooled;
    ops->linear_backward_input(ops->device, gradient, 0, model->next_logits, weight_of(model, HEAD(HEAD_NEXT_WEIGHT)),
                               NULL, rows, 2, hidden, gelu);
    ops->linear_backward_weight(ops->device, gradient_of(model, HEAD(HEAD_NEXT_WEIGHT)),
                                gradient_of(model, HEAD(HEAD_NEXT_BIAS)), model->next_logits, model->pooled, rows, 2,
                                hidden, model->scratch);
    ops->tanh_backward(ops->device, gradient, model->pooled, rows, hidden);
    ops->linear_backward_weight(ops->device, gradient_of(model, HEAD(HEAD_POOLER_WEIGHT)),
                                gradient_of(model, HEAD(HEAD_POOLER_BIAS)), gradient, model->first, rows, hidden,
                                hidden, model->scratch);
    ops->linear_backward_input(ops->device, model->first, 0, gradient, weight_of(model, HEAD(HEAD_POOLER_WEIGHT)), NULL,
                               rows, hidden, hidden, gelu);
    ops->scatter(ops->device, model->dhidden, model->first, batch->heads[HEAD_NEXT].index, rows, hidden);
}

void next_head(struct model *model, const struct batch *batch)
{
    const struct ops *ops = model->ops;
    const struct rows rows = {batch->heads[HEAD_NEXT].live, batch->heads[HEAD_NEXT].total};
    const int32_t hidden = model->config.hidden;
    ops->gather(ops->device, model->first, model_hidden(model), batch->heads[HEAD_NEXT].index, rows, hidden);
    ops->linear(ops->device, model->pooled, model->first, weight_of(model, HEAD(HEAD_POOLER_WEIGHT)),
                vector_of(model, HEAD(HEAD_POOLER_BIAS)), rows, hidden, hidden);
    ops->tanh(ops->device, model->pooled, rows, hidden);
    ops->linear(ops->device, model->next_logits, model->pooled, weight_of(model, HEAD(HEAD_NEXT_WEIGHT)),
                vector_of(model, HEAD(HEAD_NEXT_BIAS)), rows, 2, hidden);
    ops->loss(ops->device, model->sums + HEAD_SUMS * HEAD_NEXT, model->next_logits, batch->heads[HEAD_NEXT].labels,
              rows, 2, 2, slope_factor(model, HEAD_NEXT), model->scratch);
    if (model->training)
        next_backward(model, batch, rows);
}

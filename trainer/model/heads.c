/* The heads, forward, loss and backward in one go. In: the last layer's rows; out: sums, and in
 * training the heads' gradients and dhidden +=.
 *
 *     masked: logits = LN(gelu(x W_t)) E^T + b for rows x of masked tokens, E the word embedding (tied)
 *     next:   logits = tanh(x W_p) W_n for the first row x of each sequence */
#include "trainer/model/head.h"
#include "trainer/model/parts.h"

struct head_rows head_rows(enum head_kind head, const struct batch *batch)
{
    const struct head_batch *read = &batch->heads[head];
    if (head_kinds[head].reads == READS_ALL)
        return (struct head_rows){token_rows(batch), NULL};
    return (struct head_rows){{read->live, read->total}, read->index};
}

static double slope_factor(const struct model *model, enum head_kind head)
{
    return model->training ? model->step.loss_scale / (double)model->step.counts[head] : 0;
}

/* ---- masked tokens ---- */

enum { HEAD_TRANSFORM_WEIGHT, HEAD_TRANSFORM_BIAS, HEAD_NORM_WEIGHT, HEAD_NORM_BIAS, HEAD_BIAS };
static const struct tensor_row masked_tensors[] = {
    [HEAD_TRANSFORM_WEIGHT] = MATRIX("cls.predictions.transform.dense.weight", OF_HIDDEN, OF_HIDDEN),
    [HEAD_TRANSFORM_BIAS] = BIAS("cls.predictions.transform.dense.bias", OF_HIDDEN),
    [HEAD_NORM_WEIGHT] = GAIN("cls.predictions.transform.LayerNorm.weight", OF_HIDDEN),
    [HEAD_NORM_BIAS] = BIAS("cls.predictions.transform.LayerNorm.bias", OF_HIDDEN),
    [HEAD_BIAS] = BIAS("cls.predictions.bias", OF_VOCABULARY),
};
#define HEAD(place) params_head(&model->table, HEAD_MASKED, place)

static const struct head_buffer masked_buffers[] = {
    {"masked.picked", offsetof(struct model, picked), OF_HIDDEN, false},
    {"masked.transform", offsetof(struct model, transform), OF_HIDDEN, false},
    {"masked.transform_out", offsetof(struct model, transform_out), OF_HIDDEN, false},
    {"masked.stats", offsetof(struct model, transform_stats), 2, true},
    {"masked.features", offsetof(struct model, features), OF_HIDDEN, false},
    {"masked.logits", offsetof(struct model, logits), OF_VOCABULARY, false},
    {"masked.gradient", offsetof(struct model, dfeatures), OF_HIDDEN, false},
    {"masked.results", offsetof(struct model, results), 2 * sizeof(double) / sizeof(float), true},
};

static double masked_work(const struct model_config *config)
{
    const double hidden = config->hidden;
    return hidden * hidden + hidden * config->vocabulary;
}

static void masked_backward(struct model *model, const struct batch *batch, struct rows rows)
{
    const struct ops *ops = model->ops;
    const struct param *word = params_embedding(&model->table, PARAM_WORD);
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

static void masked_pass(struct model *model, const struct batch *batch)
{
    const struct ops *ops = model->ops;
    const struct rows rows = head_rows(HEAD_MASKED, batch).rows;
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
    CALL(ops, linear, .y = model->logits, .x = model->features,
         .w = weight_of(model, params_embedding(&model->table, PARAM_WORD)), .b = vector_of(model, HEAD(HEAD_BIAS)),
         .rows = rows, .out = vocabulary, .in = hidden);
    CALL(ops, loss, .sums = model->sums + HEAD_SUMS * HEAD_MASKED, .results = model->training ? NULL : model->results,
         .logits = model->logits, .labels = batch->heads[HEAD_MASKED].labels, .rows = rows, .columns = vocabulary,
         .vocabulary = model->config.vocabulary, .factor = slope_factor(model, HEAD_MASKED), .scratch = model->scratch);
    if (model->training)
        masked_backward(model, batch, rows);
}

/* ---- next sentence ---- */

enum { HEAD_POOLER_WEIGHT, HEAD_POOLER_BIAS, HEAD_NEXT_WEIGHT, HEAD_NEXT_BIAS };
static const struct tensor_row next_tensors[] = {
    [HEAD_POOLER_WEIGHT] = MATRIX("bert.pooler.dense.weight", OF_HIDDEN, OF_HIDDEN),
    [HEAD_POOLER_BIAS] = BIAS("bert.pooler.dense.bias", OF_HIDDEN),
    [HEAD_NEXT_WEIGHT] = MATRIX("cls.seq_relationship.weight", 2, OF_HIDDEN),
    [HEAD_NEXT_BIAS] = BIAS("cls.seq_relationship.bias", 2),
};
#undef HEAD
#define HEAD(place) params_head(&model->table, HEAD_NEXT, place)

static const struct head_buffer next_buffers[] = {
    {"next.first", offsetof(struct model, first), OF_HIDDEN, false},
    {"next.pooled", offsetof(struct model, pooled), OF_HIDDEN, false},
    {"next.logits", offsetof(struct model, next_logits), 2, false},
    {"next.gradient", offsetof(struct model, dpooled), OF_HIDDEN, false},
};

static double next_work(const struct model_config *config)
{
    const double hidden = config->hidden;
    return hidden * hidden + 2 * hidden;
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

static void next_pass(struct model *model, const struct batch *batch)
{
    const struct ops *ops = model->ops;
    const struct rows rows = head_rows(HEAD_NEXT, batch).rows;
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

/* ---- all of them ---- */

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

const struct head head_kinds[] = {
    [HEAD_MASKED] =
        {
            .reads = READS_MARKED,
            .tensors = masked_tensors,
            .tensor_count = COUNT(masked_tensors),
            .buffers = masked_buffers,
            .buffer_count = COUNT(masked_buffers),
            .work = masked_work,
            .pass = masked_pass,
        },
    [HEAD_NEXT] =
        {
            .reads = READS_FIRST,
            .tensors = next_tensors,
            .tensor_count = COUNT(next_tensors),
            .buffers = next_buffers,
            .buffer_count = COUNT(next_buffers),
            .work = next_work,
            .pass = next_pass,
        },
};
_Static_assert(COUNT(head_kinds) == HEAD_KINDS, "a row for every head");

/* The heads: forward, loss and backward in one pass. In: the last layer's rows. Out: sums, and in training the heads'
 * gradients and output_gradient +=.
 *
 *     masked: logits = LN(gelu(x W_t)) E^T + b for rows x of masked tokens, E the word embedding (tied)
 *     next:   logits = tanh(x W_p) W_n for the first row x of each sequence
 *     class:  logits = dropout(tanh(x W_p)) W_c for the same (Devlin et al. 2019, 4.1)
 *     span:   logits = x W_s for all rows x; a softmax over the rows of each sequence (4.2) */
#include "trainer/model/head.h"
#include "trainer/model/parts.h"

struct head_rows head_rows(enum head_kind head, const struct batch *batch)
{
    const struct head_batch *read = &batch->heads[head];
    if (head_kinds[head].reads == READS_ALL)
        return (struct head_rows){token_rows(batch), NULL};
    return (struct head_rows){{read->live, read->total}, read->index};
}

int32_t read_rows_max(const struct model *model)
{
    int64_t rows = 0;
    for (enum head_kind h = 0; h < HEAD_KINDS; h++)
        if (model_has(&model->config, h) && head_kinds[h].reads == READS_ALL)
            return 0;
        else
            rows += model->budget.head_rows_max[h];
    return rows < model->budget.token_rows_max ? (int32_t)rows : model->budget.token_rows_max;
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

/* The decoder's weights are the word table. */
static void decoder_backward_weight(struct model *model, struct rows rows)
{
    const struct ops *ops = model->ops;
    const struct gradient_listener *listener = model->listener;
    const struct param *word = params_embedding(&model->table, PARAM_WORD);
    const int32_t hidden = model->config.hidden, vocabulary = vocabulary_padded(&model->config);
    char *bias = gradient_of(model, HEAD(HEAD_BIAS));
    struct word_block block;
    if (!listener || !listener->block) {
        CALL(ops, linear_backward_weight, .dw = gradient_of(model, word), .db = bias, .dy = model->logits,
             .x = model->features, .rows = rows, .out = vocabulary, .in = hidden, .scratch = model->scratch);
        return;
    }
    while (listener->block(listener->context, &block))
        CALL(ops, linear_backward_weight, .dw = block.gradient, .db = bias + (size_t)block.from * ops->real_size,
             .dy = (const char *)model->logits + (size_t)block.from * ops->storage_size, .columns = vocabulary,
             .x = model->features, .rows = rows, .out = block.to - block.from, .in = hidden, .scratch = model->scratch);
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
    decoder_backward_weight(model, rows);
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
    CALL(ops, scatter, .y = output_gradient(model, batch), .x = model->picked, .index = batch->heads[HEAD_MASKED].index,
         .rows = rows, .hidden = hidden);
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
         .vocabulary = model_pieces(&model->config), .factor = slope_factor(model, HEAD_MASKED),
         .scratch = model->scratch);
    if (model->training)
        masked_backward(model, batch, rows);
}

/* ---- the pooler, with which both heads of whole sequences begin ---- */

enum { HEAD_POOLER_WEIGHT, HEAD_POOLER_BIAS, HEAD_OUTPUT_WEIGHT, HEAD_OUTPUT_BIAS };
#define POOLER_TENSORS                                                                                                 \
    [HEAD_POOLER_WEIGHT] = MATRIX("bert.pooler.dense.weight", OF_HIDDEN, OF_HIDDEN), [HEAD_POOLER_BIAS] = BIAS(        \
                                                                                         "bert.pooler.dense.bias",     \
                                                                                         OF_HIDDEN)
#undef HEAD
#define HEAD(place) params_head(&model->table, head, place)

static void pool(struct model *model, const struct batch *batch, enum head_kind head)
{
    const struct ops *ops = model->ops;
    const struct rows rows = head_rows(head, batch).rows;
    const int32_t hidden = model->config.hidden;
    CALL(ops, gather, .y = model->first, .x = model_hidden(model), .index = batch->heads[head].index, .rows = rows,
         .hidden = hidden);
    CALL(ops, linear, .y = model->pooled, .x = model->first, .w = weight_of(model, HEAD(HEAD_POOLER_WEIGHT)),
         .b = vector_of(model, HEAD(HEAD_POOLER_BIAS)), .rows = rows, .out = hidden, .in = hidden);
    CALL(ops, tanh_rows, .x = model->pooled, .rows = rows, .columns = hidden);
}

/* The backward pass, from dpooled. */
static void pool_backward(struct model *model, const struct batch *batch, enum head_kind head)
{
    const struct ops *ops = model->ops;
    const struct rows rows = head_rows(head, batch).rows;
    const int32_t hidden = model->config.hidden;
    void *gradient = model->dpooled;
    CALL(ops, tanh_backward, .dy = gradient, .y = model->pooled, .rows = rows, .columns = hidden);
    CALL(ops, linear_backward_weight, .dw = gradient_of(model, HEAD(HEAD_POOLER_WEIGHT)),
         .db = gradient_of(model, HEAD(HEAD_POOLER_BIAS)), .dy = gradient, .x = model->first, .rows = rows,
         .out = hidden, .in = hidden, .scratch = model->scratch);
    CALL(ops, linear_backward_input, .dx = model->first, .dy = gradient,
         .w = weight_of(model, HEAD(HEAD_POOLER_WEIGHT)), .rows = rows, .out = hidden, .in = hidden);
    CALL(ops, scatter, .y = output_gradient(model, batch), .x = model->first, .index = batch->heads[head].index,
         .rows = rows, .hidden = hidden);
}

/* A product with few columns on rows x: logits, and backward its gradients and dx (or dx +=). */
struct output {
    void *logits;  /* [rows, out] */
    const void *x; /* [rows, H] */
    void *dx;      /* the same */
    bool adds;     /* to what is in dx */
    struct rows rows;
    int32_t out;
    const struct param *weight, *bias;
};

static void output_forward(struct model *model, const struct output *o)
{
    CALL(model->ops, linear, .y = o->logits, .x = o->x, .w = weight_of(model, o->weight),
         .b = vector_of(model, o->bias), .rows = o->rows, .out = o->out, .in = model->config.hidden);
}

static void output_backward(struct model *model, const struct output *o)
{
    const struct ops *ops = model->ops;
    const int32_t hidden = model->config.hidden;
    CALL(ops, linear_backward_input, .dx = o->dx, .adds = o->adds, .dy = o->logits, .w = weight_of(model, o->weight),
         .rows = o->rows, .out = o->out, .in = hidden);
    CALL(ops, linear_backward_weight, .dw = gradient_of(model, o->weight), .db = gradient_of(model, o->bias),
         .dy = o->logits, .x = o->x, .rows = o->rows, .out = o->out, .in = hidden, .scratch = model->scratch);
}

/* ---- next sentence ---- */

static const struct tensor_row next_tensors[] = {
    POOLER_TENSORS,
    [HEAD_OUTPUT_WEIGHT] = MATRIX("cls.seq_relationship.weight", 2, OF_HIDDEN),
    [HEAD_OUTPUT_BIAS] = BIAS("cls.seq_relationship.bias", 2),
};

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

static void next_pass(struct model *model, const struct batch *batch)
{
    const enum head_kind head = HEAD_NEXT;
    const struct rows rows = head_rows(head, batch).rows;
    const struct output output = {
        .logits = model->next_logits,
        .x = model->pooled,
        .dx = model->dpooled,
        .rows = rows,
        .out = 2,
        .weight = HEAD(HEAD_OUTPUT_WEIGHT),
        .bias = HEAD(HEAD_OUTPUT_BIAS),
    };
    pool(model, batch, head);
    output_forward(model, &output);
    CALL(model->ops, loss, .sums = model->sums + HEAD_SUMS * HEAD_NEXT, .logits = model->next_logits,
         .labels = batch->heads[HEAD_NEXT].labels, .rows = rows, .columns = 2, .vocabulary = 2,
         .factor = slope_factor(model, HEAD_NEXT), .scratch = model->scratch);
    if (model->training) {
        output_backward(model, &output);
        pool_backward(model, batch, head);
    }
}

/* ---- classes: never beside next sentence, because both use the pooler ---- */

static const struct tensor_row class_tensors[] = {
    POOLER_TENSORS,
    [HEAD_OUTPUT_WEIGHT] = MATRIX("classifier.weight", OF_LABELS, OF_HIDDEN),
    [HEAD_OUTPUT_BIAS] = BIAS("classifier.bias", OF_LABELS),
};

static const struct head_buffer class_buffers[] = {
    {"class.first", offsetof(struct model, first), OF_HIDDEN, false},
    {"class.pooled", offsetof(struct model, pooled), OF_HIDDEN, false},
    {"class.dropped", offsetof(struct model, dropped), OF_HIDDEN, false},
    {"class.logits", offsetof(struct model, class_logits), OF_LABELS, false},
    {"class.gradient", offsetof(struct model, dpooled), OF_HIDDEN, false},
};

static double class_work(const struct model_config *config)
{
    const double hidden = config->hidden;
    return hidden * hidden + config->labels * hidden;
}

static void class_loss(struct model *model, const struct batch *batch, struct rows rows)
{
    const int32_t labels = model->config.labels;
    double *sums = model->sums + HEAD_SUMS * HEAD_CLASS;
    if (labels == 1)
        CALL(model->ops, square_loss, .sums = sums, .logits = model->class_logits,
             .labels = batch->heads[HEAD_CLASS].labels, .rows = rows, .factor = slope_factor(model, HEAD_CLASS),
             .scratch = model->scratch);
    else
        CALL(model->ops, loss, .sums = sums, .logits = model->class_logits, .labels = batch->heads[HEAD_CLASS].labels,
             .rows = rows, .columns = labels, .vocabulary = labels, .factor = slope_factor(model, HEAD_CLASS),
             .scratch = model->scratch);
}

static void class_pass(struct model *model, const struct batch *batch)
{
    const enum head_kind head = HEAD_CLASS;
    const struct rows rows = head_rows(head, batch).rows;
    const int32_t *index = batch->heads[head].index, hidden = model->config.hidden;
    const struct dropout dropout = dropout_at(model, model->config.layers, SITE_POOLED);
    const struct output output = {
        .logits = model->class_logits,
        .x = model->dropped,
        .dx = model->dpooled,
        .rows = rows,
        .out = model->config.labels,
        .weight = HEAD(HEAD_OUTPUT_WEIGHT),
        .bias = HEAD(HEAD_OUTPUT_BIAS),
    };
    pool(model, batch, head);
    CALL(model->ops, dropout, .y = model->dropped, .x = model->pooled, .batch = batch_read(batch), .index = index,
         .rows = rows, .hidden = hidden, .dropout = &dropout);
    output_forward(model, &output);
    class_loss(model, batch, rows);
    if (!model->training)
        return;
    output_backward(model, &output);
    CALL(model->ops, dropout, .y = model->dpooled, .x = model->dpooled, .batch = batch_read(batch), .index = index,
         .rows = rows, .hidden = hidden, .dropout = &dropout);
    pool_backward(model, batch, head);
}

/* ---- spans ---- */

enum { HEAD_SPAN_WEIGHT, HEAD_SPAN_BIAS };
static const struct tensor_row span_tensors[] = {
    [HEAD_SPAN_WEIGHT] = MATRIX("qa_outputs.weight", 2, OF_HIDDEN),
    [HEAD_SPAN_BIAS] = BIAS("qa_outputs.bias", 2),
};

static const struct head_buffer span_buffers[] = {
    {"span.logits", offsetof(struct model, span_logits), 2, false},
};

static double span_work(const struct model_config *config)
{
    return 2.0 * config->hidden;
}

static void span_pass(struct model *model, const struct batch *batch)
{
    const enum head_kind head = HEAD_SPAN;
    const struct output output = {
        .logits = model->span_logits,
        .x = model_hidden(model),
        .dx = output_gradient(model, batch),
        .adds = true,
        .rows = head_rows(head, batch).rows,
        .out = 2,
        .weight = HEAD(HEAD_SPAN_WEIGHT),
        .bias = HEAD(HEAD_SPAN_BIAS),
    };
    output_forward(model, &output);
    CALL(model->ops, span_loss, .sums = model->sums + HEAD_SUMS * HEAD_SPAN, .logits = model->span_logits,
         .batch = batch, .first = batch->heads[HEAD_SPAN].index, .last = batch->heads[HEAD_SPAN].labels,
         .factor = slope_factor(model, HEAD_SPAN), .scratch = model->scratch);
    if (model->training)
        output_backward(model, &output);
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
            .logits = offsetof(struct model, logits),
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
            .logits = offsetof(struct model, next_logits),
            .work = next_work,
            .pass = next_pass,
        },
    [HEAD_CLASS] =
        {
            .reads = READS_FIRST,
            .tensors = class_tensors,
            .tensor_count = COUNT(class_tensors),
            .buffers = class_buffers,
            .buffer_count = COUNT(class_buffers),
            .logits = offsetof(struct model, class_logits),
            .work = class_work,
            .pass = class_pass,
        },
    [HEAD_SPAN] =
        {
            .reads = READS_ALL,
            .tensors = span_tensors,
            .tensor_count = COUNT(span_tensors),
            .buffers = span_buffers,
            .buffer_count = COUNT(span_buffers),
            .logits = offsetof(struct model, span_logits),
            .work = span_work,
            .pass = span_pass,
        },
};
_Static_assert(COUNT(head_kinds) == HEAD_KINDS, "a row for every head");

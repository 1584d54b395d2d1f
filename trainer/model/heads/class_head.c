/* The class of a sequence, several classes, or with one class a number (Devlin et al. 2019, 4.1): logits =
 * dropout(tanh(x W_p)) W_c for the first row x of each sequence; in models that transform, its transform instead of
 * tanh(x W_p), and with pools_mean the mean of the sequence's rows as x. */
#include "trainer/model/heads/head_parts.h"

#define TENSOR(place) params_head(&model->table, HEAD_CLASS, place)
#define BUFFER(place) model->head_buffers[HEAD_CLASS][place]

enum { POOLER = TRANSFORM_TENSORS, OUTPUT_WEIGHT = POOLER + POOLER_TENSORS, OUTPUT_BIAS };
static const struct tensor_row class_tensors[] = {
    TRANSFORM_TENSOR_ROWS(OF_TRANSFORM),
    POOLER_TENSOR_ROWS(OF_POOLER),
    [OUTPUT_WEIGHT] = MATRIX("classifier.weight", OF_LABELS, OF_HIDDEN),
    [OUTPUT_BIAS] = BIAS("classifier.bias", OF_LABELS),
};

enum { DROPPED = TRANSFORM_BUFFERS, LOGITS, GRADIENT };
static const struct head_buffer class_buffers[] = {
    [POOLER_FIRST] = {"class.first", OF_HIDDEN, .real = false},
    [POOLER_OUT] = {"class.pooled", OF_HIDDEN, .real = false},
    [DROPPED] = {"class.dropped", OF_HIDDEN, .real = false},
    [LOGITS] = {"class.logits", OF_LABELS, .real = false},
    [GRADIENT] = {"class.gradient", OF_HIDDEN, .real = false},
    TRANSFORM_BUFFER_ROWS("class", true),
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
    if (model->config.several)
        CALL(model->ops, bits_loss, .sums = sums, .logits = BUFFER(LOGITS), .labels = batch->heads[HEAD_CLASS].labels,
             .rows = rows, .columns = labels, .factor = slope_factor(model, HEAD_CLASS));
    else if (labels == 1)
        CALL(model->ops, square_loss, .sums = sums, .logits = BUFFER(LOGITS), .labels = batch->heads[HEAD_CLASS].labels,
             .rows = rows, .factor = slope_factor(model, HEAD_CLASS), .scratch = model->scratch);
    else
        CALL(model->ops, loss, .sums = sums, .logits = BUFFER(LOGITS), .labels = batch->heads[HEAD_CLASS].labels,
             .weights = model->label_weights, .rows = rows, .columns = labels, .vocabulary = labels,
             .factor = slope_factor(model, HEAD_CLASS), .scratch = model->scratch);
}

static void class_pass(struct model *model, const struct batch *batch)
{
    const enum head_kind head = HEAD_CLASS;
    const struct rows rows = head_rows(head, batch).rows;
    const int32_t *index = batch->heads[head].index, hidden = model->config.hidden;
    const struct dropout dropout = dropout_at(model, model->config.layers, SITE_HEAD);
    const struct output output = {
        .logits = BUFFER(LOGITS),
        .x = BUFFER(DROPPED),
        .dx = BUFFER(GRADIENT),
        .rows = rows,
        .out = model->config.labels,
        .weight = TENSOR(OUTPUT_WEIGHT),
        .bias = TENSOR(OUTPUT_BIAS),
    };
    pool(model, batch, head, POOLER);
    CALL(model->ops, dropout, .y = BUFFER(DROPPED), .x = BUFFER(POOLER_OUT), .batch = batch_read(batch), .index = index,
         .rows = rows, .hidden = hidden, .dropout = &dropout);
    output_forward(model, &output);
    class_loss(model, batch, rows);
    if (!model->training)
        return;
    output_backward(model, &output);
    CALL(model->ops, dropout, .y = BUFFER(GRADIENT), .x = BUFFER(GRADIENT), .batch = batch_read(batch), .index = index,
         .rows = rows, .hidden = hidden, .dropout = &dropout);
    pool_backward(model, batch, head, POOLER, BUFFER(GRADIENT));
}

static const char *class_problem(const struct model_config *config)
{
    return config->several       ? "multi_label_classification"
           : config->labels == 1 ? "regression"
                                 : "single_label_classification";
}

const struct head head_class = {
    .reads = READS_FIRST,
    .tensors = class_tensors,
    .tensor_count = COUNT(class_tensors),
    .buffers = class_buffers,
    .buffer_count = COUNT(class_buffers),
    .logits = LOGITS,
    .work = class_work,
    .pass = class_pass,
    .class_end = "ForSequenceClassification",
    .prefix = "classifier.",
    .tuned = true,
    .problem = class_problem,
    .pipeline = "text-classification",
    .trial = PIPELINE("text-classification", "(\"It was a good day.\")"),
};

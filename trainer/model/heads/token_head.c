/* The class of each token that has a label (Devlin et al. 2019, 5.3): logits = dropout(x) W_c for those rows x,
 * or in models that transform for their transform. */
#include "trainer/model/heads/head_parts.h"

#define TENSOR(place) params_head(&model->table, HEAD_TOKEN, place)
#define BUFFER(place) model->head_buffers[HEAD_TOKEN][place]

enum { OUTPUT_WEIGHT = TRANSFORM_TENSORS, OUTPUT_BIAS };
static const struct tensor_row token_tensors[] = {
    TRANSFORM_TENSOR_ROWS(OF_TRANSFORM),
    [OUTPUT_WEIGHT] = MATRIX("classifier.weight", OF_LABELS, OF_HIDDEN),
    [OUTPUT_BIAS] = BIAS("classifier.bias", OF_LABELS),
};

enum { LOGITS = TRANSFORM_BUFFERS, GRADIENT };
static const struct head_buffer token_buffers[] = {
    [TRANSFORM_IN] = {"token.picked", OF_HIDDEN, .real = false},
    [TRANSFORM_OUT] = {"token.features", OF_HIDDEN, .transform = true},
    TRANSFORM_BUFFER_ROWS("token", true),
    [LOGITS] = {"token.logits", OF_LABELS, .real = false},
    [GRADIENT] = {"token.gradient", OF_HIDDEN, .real = false},
};

static double token_work(const struct model_config *config)
{
    const double hidden = config->hidden;
    return (architecture_of(config)->transforms ? hidden * hidden : 0) + config->labels * hidden;
}

static void drop(struct model *model, const struct batch *batch, void *x)
{
    const struct dropout dropout = dropout_at(model, model->config.layers, SITE_HEAD);
    CALL(model->ops, dropout, .y = x, .x = x, .batch = batch_read(batch), .index = batch->heads[HEAD_TOKEN].index,
         .rows = head_rows(HEAD_TOKEN, batch).rows, .hidden = model->config.hidden, .dropout = &dropout);
}

static void token_pass(struct model *model, const struct batch *batch)
{
    const struct ops *ops = model->ops;
    const struct head_batch *marked = &batch->heads[HEAD_TOKEN];
    const struct rows rows = head_rows(HEAD_TOKEN, batch).rows;
    const int32_t hidden = model->config.hidden, labels = model->config.labels;
    void *const picked = BUFFER(TRANSFORM_IN), *const features =
                                                   model_transforms(model) ? BUFFER(TRANSFORM_OUT) : picked;
    void *const gradient = BUFFER(GRADIENT), *const below = model_transforms(model) ? picked : gradient;
    const struct output output = {
        .logits = BUFFER(LOGITS),
        .x = features,
        .dx = gradient,
        .rows = rows,
        .out = labels,
        .weight = TENSOR(OUTPUT_WEIGHT),
        .bias = TENSOR(OUTPUT_BIAS),
    };
    CALL(ops, gather, .y = picked, .x = model_hidden(model), .index = marked->index, .rows = rows, .hidden = hidden);
    if (model_transforms(model))
        transform(model, HEAD_TOKEN, picked, rows);
    drop(model, batch, features);
    output_forward(model, &output);
    CALL(ops, loss, .sums = model->sums + HEAD_SUMS * HEAD_TOKEN, .logits = BUFFER(LOGITS), .labels = marked->labels,
         .rows = rows, .columns = labels, .vocabulary = labels, .factor = slope_factor(model, HEAD_TOKEN),
         .scratch = model->scratch);
    if (!model->training)
        return;
    output_backward(model, &output);
    drop(model, batch, gradient);
    if (model_transforms(model))
        transform_backward(model, HEAD_TOKEN, picked, rows, gradient, below, false);
    CALL(ops, scatter, .y = output_gradient(model, batch), .x = below, .index = marked->index, .rows = rows,
         .hidden = hidden);
}

const struct head head_token = {
    .reads = READS_MARKED,
    .tensors = token_tensors,
    .tensor_count = COUNT(token_tensors),
    .buffers = token_buffers,
    .buffer_count = COUNT(token_buffers),
    .logits = LOGITS,
    .work = token_work,
    .pass = token_pass,
    .class_end = "ForTokenClassification",
    .prefix = "classifier.",
    .tuned = true,
    .pipeline = "token-classification",
    .trial = PIPELINE("token-classification", "(\"Paris is in France.\")"),
};

/* A head more, as an example: whether a token was replaced by another (Clark et al. 2020, 3.1). logits = x W_r for the
 * rows x of the last layer that have a label, 0 or 1. CONTRIBUTING.md, "A head", says what a head costs;
 * tests/flow/new_head.sh compiles this one. */
#include "trainer/model/heads/head_parts.h"

#define TENSOR(place) params_head(&model->table, HEAD_REPLACED, place)
#define BUFFER(place) model->head_buffers[HEAD_REPLACED][place]

enum { OUTPUT_WEIGHT, OUTPUT_BIAS };
static const struct tensor_row replaced_tensors[] = {
    [OUTPUT_WEIGHT] = MATRIX("replaced.weight", 2, OF_HIDDEN),
    [OUTPUT_BIAS] = BIAS("replaced.bias", 2),
};

enum { PICKED, LOGITS, GRADIENT };
static const struct head_buffer replaced_buffers[] = {
    [PICKED] = {.name = "replaced.picked", .columns = OF_HIDDEN},
    [LOGITS] = {.name = "replaced.logits", .columns = 2},
    [GRADIENT] = {.name = "replaced.gradient", .columns = OF_HIDDEN},
};

static double replaced_work(const struct model_config *config)
{
    return 2.0 * config->hidden;
}

static void replaced_pass(struct model *model, const struct batch *batch)
{
    const struct ops *ops = model->ops;
    const struct head_batch *marked = &batch->heads[HEAD_REPLACED];
    const struct rows rows = head_rows(HEAD_REPLACED, batch).rows;
    const int32_t hidden = model->config.hidden;
    const struct output output = {
        .logits = BUFFER(LOGITS),
        .x = BUFFER(PICKED),
        .dx = BUFFER(GRADIENT),
        .rows = rows,
        .out = 2,
        .weight = TENSOR(OUTPUT_WEIGHT),
        .bias = TENSOR(OUTPUT_BIAS),
    };
    CALL(ops, gather, .y = BUFFER(PICKED), .x = model_hidden(model), .index = marked->index, .rows = rows,
         .hidden = hidden);
    output_forward(model, &output);
    CALL(ops, loss, .sums = model->sums + HEAD_SUMS * HEAD_REPLACED, .logits = BUFFER(LOGITS), .labels = marked->labels,
         .rows = rows, .columns = 2, .vocabulary = 2, .factor = slope_factor(model, HEAD_REPLACED),
         .scratch = model->scratch);
    if (!model->training)
        return;
    output_backward(model, &output);
    CALL(ops, scatter, .y = output_gradient(model, batch), .x = BUFFER(GRADIENT), .index = marked->index, .rows = rows,
         .hidden = hidden);
}

const struct head head_replaced = {
    .reads = READS_MARKED,
    .tensors = replaced_tensors,
    .tensor_count = COUNT(replaced_tensors),
    .buffers = replaced_buffers,
    .buffer_count = COUNT(replaced_buffers),
    .logits = LOGITS,
    .work = replaced_work,
    .pass = replaced_pass,
    .class_end = "ForReplacedTokens",
    .prefix = "replaced.",
    .prefix_tells = true,
    .tuned = true,
};

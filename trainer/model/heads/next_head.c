/* Next sentence (Devlin et al. 2019, 3.1), or the order of two: logits = tanh(x W_p) W_n for the first row x of each
 * sequence. */
#include "trainer/model/heads/head_parts.h"

#define TENSOR(place) params_head(&model->table, HEAD_NEXT, place)
#define BUFFER(place) model->head_buffers[HEAD_NEXT][place]

enum { OUTPUT_WEIGHT = POOLER_TENSORS, OUTPUT_BIAS };
static const struct tensor_row next_tensors[] = {
    POOLER_TENSOR_ROWS(ANY_BEGIN),
    [OUTPUT_WEIGHT] = MATRIX("cls.seq_relationship.weight", 2, OF_HIDDEN),
    [OUTPUT_BIAS] = BIAS("cls.seq_relationship.bias", 2),
};

enum { LOGITS = POOLER_BUFFERS, GRADIENT };
static const struct head_buffer next_buffers[] = {
    [POOLER_FIRST] = {"next.first", OF_HIDDEN, .real = false},
    [POOLER_OUT] = {"next.pooled", OF_HIDDEN, .real = false},
    [LOGITS] = {"next.logits", 2, .real = false},
    [GRADIENT] = {"next.gradient", OF_HIDDEN, .real = false},
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
        .logits = BUFFER(LOGITS),
        .x = BUFFER(POOLER_OUT),
        .dx = BUFFER(GRADIENT),
        .rows = rows,
        .out = 2,
        .weight = TENSOR(OUTPUT_WEIGHT),
        .bias = TENSOR(OUTPUT_BIAS),
    };
    pool(model, batch, head, 0);
    output_forward(model, &output);
    CALL(model->ops, loss, .sums = model->sums + HEAD_SUMS * HEAD_NEXT, .logits = BUFFER(LOGITS),
         .labels = batch->heads[HEAD_NEXT].labels, .rows = rows, .columns = 2, .vocabulary = 2,
         .factor = slope_factor(model, HEAD_NEXT), .scratch = model->scratch);
    if (model->training) {
        output_backward(model, &output);
        pool_backward(model, batch, head, 0, BUFFER(GRADIENT));
    }
}

const struct head head_next = {
    .reads = READS_FIRST,
    .tensors = next_tensors,
    .tensor_count = COUNT(next_tensors),
    .buffers = next_buffers,
    .buffer_count = COUNT(next_buffers),
    .logits = LOGITS,
    .work = next_work,
    .pass = next_pass,
    .class_end = "ForNextSentencePrediction",
    .prefix = "cls.seq_relationship.",
    .prefix_tells = true,
};

/* Where a span begins and ends (Devlin et al. 2019, 4.2): logits = x W_s for all rows x, or in models that transform
 * for their transform with dropout; a softmax over the rows of each sequence. */
#include "trainer/model/heads/head_parts.h"

#define TENSOR(place) params_head(&model->table, HEAD_SPAN, place)
#define BUFFER(place) model->head_buffers[HEAD_SPAN][place]

enum { SPAN_WEIGHT = TRANSFORM_TENSORS, SPAN_BIAS };
static const struct tensor_row span_tensors[] = {
    TRANSFORM_TENSOR_ROWS(OF_TRANSFORM),
    [SPAN_WEIGHT] = MATRIX("qa_outputs.weight", 2, OF_HIDDEN, .name_transformed = "classifier.weight"),
    [SPAN_BIAS] = BIAS("qa_outputs.bias", 2, .name_transformed = "classifier.bias"),
};

/* No rows are picked, so the first buffer is free for the gradient. */
enum { GRADIENT = TRANSFORM_IN, LOGITS = TRANSFORM_BUFFERS };
static const struct head_buffer span_buffers[] = {
    [GRADIENT] = {"span.gradient", OF_HIDDEN, .transform = true},
    [TRANSFORM_OUT] = {"span.features", OF_HIDDEN, .transform = true},
    TRANSFORM_BUFFER_ROWS("span", true),
    [LOGITS] = {"span.logits", 2, .real = false},
};

static double span_work(const struct model_config *config)
{
    const double hidden = config->hidden;
    return (architecture_of(config)->transforms ? hidden * hidden : 0) + 2 * hidden;
}

static void drop(struct model *model, const struct batch *batch, void *x)
{
    const struct dropout dropout = dropout_at(model, model->config.layers, SITE_HEAD);
    CALL(model->ops, dropout, .y = x, .x = x, .batch = batch, .rows = head_rows(HEAD_SPAN, batch).rows,
         .hidden = model->config.hidden, .dropout = &dropout);
}

static void span_pass(struct model *model, const struct batch *batch)
{
    const enum head_kind head = HEAD_SPAN;
    const struct rows rows = head_rows(head, batch).rows;
    const bool transforms = model_transforms(model);
    const struct output output = {
        .logits = BUFFER(LOGITS),
        .x = transforms ? BUFFER(TRANSFORM_OUT) : model_hidden(model),
        .dx = transforms ? BUFFER(GRADIENT) : output_gradient(model, batch),
        .adds = !transforms,
        .rows = rows,
        .out = 2,
        .weight = TENSOR(SPAN_WEIGHT),
        .bias = TENSOR(SPAN_BIAS),
    };
    if (transforms) {
        transform(model, head, model_hidden(model), rows);
        drop(model, batch, BUFFER(TRANSFORM_OUT));
    }
    output_forward(model, &output);
    CALL(model->ops, span_loss, .sums = model->sums + HEAD_SUMS * HEAD_SPAN, .logits = BUFFER(LOGITS), .batch = batch,
         .first = batch->heads[HEAD_SPAN].index, .last = batch->heads[HEAD_SPAN].labels,
         .factor = slope_factor(model, HEAD_SPAN), .scratch = model->scratch);
    if (!model->training)
        return;
    output_backward(model, &output);
    if (transforms) {
        drop(model, batch, BUFFER(GRADIENT));
        transform_backward(model, head, model_hidden(model), rows, BUFFER(GRADIENT), output_gradient(model, batch),
                           true);
    }
}

/* transformers 5 has no pipeline for questions. */
#define ANSWER                                                                                                         \
    "import sys; from transformers import AutoModelForQuestionAnswering as M, AutoTokenizer as T; "                    \
    "t = T.from_pretrained(sys.argv[1]); x = t(\"Where is Paris?\", \"Paris is in France.\", return_tensors=\"pt\"); " \
    "y = M.from_pretrained(sys.argv[1])(**x); b = y.start_logits[0].argmax(); e = y.end_logits[0][b:].argmax() + b; "  \
    "print(t.decode(x[\"input_ids\"][0][b:e + 1]))"

const struct head head_span = {
    .reads = READS_ALL,
    .tensors = span_tensors,
    .tensor_count = COUNT(span_tensors),
    .buffers = span_buffers,
    .buffer_count = COUNT(span_buffers),
    .logits = LOGITS,
    .work = span_work,
    .pass = span_pass,
    .class_end = "ForQuestionAnswering",
    .prefix = "qa_outputs.",
    .prefix_transformed = "classifier.",
    .prefix_tells = true,
    .tuned = true,
    .pipeline = "question-answering",
    .trial = ANSWER,
};

/* Masked LM (Devlin et al. 2019, 3.1): logits = LN(gelu(x W_t)) E^T + b for rows x of masked tokens, E the word
 * embedding, or a tensor of its own. */
#include "trainer/model/heads/head_parts.h"

#define TENSOR(place) params_head(&model->table, HEAD_MASKED, place)
#define BUFFER(place) model->head_buffers[HEAD_MASKED][place]

enum { DECODER_BIAS = TRANSFORM_TENSORS, DECODER_WEIGHT };
static const struct tensor_row masked_tensors[] = {
    TRANSFORM_TENSOR_ROWS(ANY_BEGIN),
    [DECODER_BIAS] = BIAS("cls.predictions.bias", OF_VOCABULARY, .optional = OPTIONAL_DECODER_BIAS),
    [DECODER_WEIGHT] =
        MATRIX("cls.predictions.decoder.weight", OF_VOCABULARY, OF_HIDDEN, .smaller = true, .untied = true),
};

enum { LOGITS = TRANSFORM_BUFFERS, GRADIENT, RESULTS };
static const struct head_buffer masked_buffers[] = {
    /* rows of masked tokens, later the gradient of them */
    [TRANSFORM_IN] = {"masked.picked", OF_HIDDEN, .real = false},
    [TRANSFORM_OUT] = {"masked.features", OF_HIDDEN, .real = false},
    TRANSFORM_BUFFER_ROWS("masked", false),
    [LOGITS] = {"masked.logits", OF_VOCABULARY, .real = false},
    [GRADIENT] = {"masked.gradient", OF_HIDDEN, .real = false},
    /* in evaluation: loss and hit of each row */
    [RESULTS] = {"masked.results", 2 * sizeof(double) / sizeof(float), .real = true},
};

static double masked_work(const struct model_config *config)
{
    const double hidden = config->hidden;
    return hidden * hidden + hidden * config->vocabulary;
}

static const struct param *decoder(const struct model *model)
{
    const struct param *own = TENSOR(DECODER_WEIGHT);
    return own ? own : params_embedding(&model->table, PARAM_WORD);
}

static void decoder_backward_weight(struct model *model, struct rows rows)
{
    const struct ops *ops = model->ops;
    const struct gradient_listener *listener = model->listener;
    const int32_t hidden = model->config.hidden, vocabulary = vocabulary_padded(&model->config);
    char *bias = gradient_of(model, TENSOR(DECODER_BIAS));
    struct word_block block;
    if (!listener || !listener->block) {
        CALL(ops, linear_backward_weight, .dw = gradient_of(model, decoder(model)), .db = bias, .dy = BUFFER(LOGITS),
             .x = BUFFER(TRANSFORM_OUT), .rows = rows, .out = vocabulary, .in = hidden, .scratch = model->scratch);
        return;
    }
    while (listener->block(listener->context, &block))
        CALL(ops, linear_backward_weight, .dw = block.gradient, .db = bias + (size_t)block.from * ops->real_size,
             .dy = (const char *)BUFFER(LOGITS) + (size_t)block.from * ops->storage_size, .columns = vocabulary,
             .x = BUFFER(TRANSFORM_OUT), .rows = rows, .out = block.to - block.from, .in = hidden,
             .scratch = model->scratch);
}

static void masked_backward(struct model *model, const struct batch *batch, struct rows rows)
{
    const struct ops *ops = model->ops;
    const int32_t hidden = model->config.hidden, vocabulary = vocabulary_padded(&model->config);
    void *gradient = BUFFER(GRADIENT);
    CALL(ops, linear_backward_input, .dx = gradient, .dy = BUFFER(LOGITS), .w = weight_of(model, decoder(model)),
         .rows = rows, .out = vocabulary, .in = hidden);
    decoder_backward_weight(model, rows);
    transform_backward(model, HEAD_MASKED, BUFFER(TRANSFORM_IN), rows, gradient, BUFFER(TRANSFORM_IN), false);
    CALL(ops, scatter, .y = output_gradient(model, batch), .x = BUFFER(TRANSFORM_IN),
         .index = batch->heads[HEAD_MASKED].index, .rows = rows, .hidden = hidden);
}

static void masked_pass(struct model *model, const struct batch *batch)
{
    const struct ops *ops = model->ops;
    const struct rows rows = head_rows(HEAD_MASKED, batch).rows;
    const int32_t hidden = model->config.hidden, vocabulary = vocabulary_padded(&model->config);
    CALL(ops, gather, .y = BUFFER(TRANSFORM_IN), .x = model_hidden(model), .index = batch->heads[HEAD_MASKED].index,
         .rows = rows, .hidden = hidden);
    transform(model, HEAD_MASKED, BUFFER(TRANSFORM_IN), rows);
    CALL(ops, linear, .y = BUFFER(LOGITS), .x = BUFFER(TRANSFORM_OUT), .w = weight_of(model, decoder(model)),
         .b = vector_of(model, TENSOR(DECODER_BIAS)), .rows = rows, .out = vocabulary, .in = hidden);
    CALL(ops, loss, .sums = model->sums + HEAD_SUMS * HEAD_MASKED, .results = model->training ? NULL : BUFFER(RESULTS),
         .logits = BUFFER(LOGITS), .labels = batch->heads[HEAD_MASKED].labels, .rows = rows, .columns = vocabulary,
         .vocabulary = model_pieces(&model->config), .factor = slope_factor(model, HEAD_MASKED),
         .scratch = model->scratch);
    if (model->training)
        masked_backward(model, batch, rows);
}

const double *model_results(const struct model *model)
{
    return BUFFER(RESULTS);
}

const struct head head_masked = {
    .reads = READS_MARKED,
    .tensors = masked_tensors,
    .tensor_count = COUNT(masked_tensors),
    .buffers = masked_buffers,
    .buffer_count = COUNT(masked_buffers),
    .logits = LOGITS,
    .work = masked_work,
    .pass = masked_pass,
    .class_end = "ForMaskedLM",
    .prefix = "cls.predictions.transform.",
    .prefix_tells = true,
    .pipeline = "fill-mask",
    .trial = PIPELINE("fill-mask", "(sys.argv[2])"),
};

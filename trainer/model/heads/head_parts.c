#include "trainer/model/heads/head_parts.h"

#define TENSOR(place) params_head(&model->table, head, place)
#define BUFFER(place) model->head_buffers[head][place]

double slope_factor(const struct model *model, enum head_kind head)
{
    return model->training ? model->step.loss_scale / (double)model->step.counts[head] : 0;
}

/* Of a layout whose transform has the erf GELU, whatever the layers have. */
static enum gelu transform_gelu(const struct model *model)
{
    return architecture_of(&model->config)->layout->erf_head ? GELU_ERF : model->config.gelu;
}

void transform(struct model *model, enum head_kind head, const void *x, struct rows rows)
{
    const struct ops *ops = model->ops;
    const int32_t hidden = model->config.hidden;
    CALL(ops, linear_gelu, .pre = BUFFER(TRANSFORM_PRODUCT), .y = BUFFER(TRANSFORM_ACTIVATED), .x = x,
         .w = weight_of(model, TENSOR(TRANSFORM_WEIGHT)), .b = vector_of(model, TENSOR(TRANSFORM_BIAS)), .rows = rows,
         .out = hidden, .in = hidden, .gelu = transform_gelu(model));
    CALL(ops, norm, .y = BUFFER(TRANSFORM_OUT), .z = BUFFER(TRANSFORM_ACTIVATED),
         .statistics = BUFFER(TRANSFORM_STATISTICS), .x = BUFFER(TRANSFORM_ACTIVATED),
         .gain = vector_of(model, TENSOR(TRANSFORM_GAIN)), .bias = vector_of(model, TENSOR(TRANSFORM_SHIFT)),
         .epsilon = model->config.norm_epsilon, .rows = rows, .hidden = hidden);
}

void transform_backward(struct model *model, enum head_kind head, const void *x, struct rows rows, void *gradient,
                        void *dx, bool adds)
{
    const struct ops *ops = model->ops;
    const int32_t hidden = model->config.hidden;
    CALL(ops, norm_backward, .dz = gradient, .dgain = gradient_of(model, TENSOR(TRANSFORM_GAIN)),
         .dbias = gradient_of(model, TENSOR(TRANSFORM_SHIFT)), .dy = gradient, .z = BUFFER(TRANSFORM_ACTIVATED),
         .statistics = BUFFER(TRANSFORM_STATISTICS), .gain = vector_of(model, TENSOR(TRANSFORM_GAIN)), .rows = rows,
         .hidden = hidden, .scratch = model->scratch);
    CALL(ops, gelu_backward, .dy = gradient, .pre = BUFFER(TRANSFORM_PRODUCT), .rows = rows, .columns = hidden,
         .gelu = transform_gelu(model));
    CALL(ops, linear_backward_weight, .dw = gradient_of(model, TENSOR(TRANSFORM_WEIGHT)),
         .db = gradient_of(model, TENSOR(TRANSFORM_BIAS)), .dy = gradient, .x = x, .rows = rows, .out = hidden,
         .in = hidden, .scratch = model->scratch);
    CALL(ops, linear_backward_input, .dx = dx, .adds = adds, .dy = gradient,
         .w = weight_of(model, TENSOR(TRANSFORM_WEIGHT)), .rows = rows, .out = hidden, .in = hidden);
}

void pool(struct model *model, const struct batch *batch, enum head_kind head, size_t pooler)
{
    const struct ops *ops = model->ops;
    const struct rows rows = head_rows(head, batch).rows;
    const int32_t hidden = model->config.hidden;
    assert(head_kinds[head]->reads == READS_FIRST);
    if (model->config.pools_mean)
        CALL(ops, sequence_mean, .y = BUFFER(POOLER_FIRST), .x = model_hidden(model), .batch = batch,
             .index = batch->heads[head].index, .rows = rows, .hidden = hidden);
    else
        CALL(ops, gather, .y = BUFFER(POOLER_FIRST), .x = model_hidden(model), .index = batch->heads[head].index,
             .rows = rows, .hidden = hidden);
    if (!TENSOR(pooler + POOLER_WEIGHT)) {
        transform(model, head, BUFFER(POOLER_FIRST), rows);
        return;
    }
    CALL(ops, linear, .y = BUFFER(POOLER_OUT), .x = BUFFER(POOLER_FIRST),
         .w = weight_of(model, TENSOR(pooler + POOLER_WEIGHT)), .b = vector_of(model, TENSOR(pooler + POOLER_BIAS)),
         .rows = rows, .out = hidden, .in = hidden);
    CALL(ops, tanh_rows, .x = BUFFER(POOLER_OUT), .rows = rows, .columns = hidden);
}

void pool_backward(struct model *model, const struct batch *batch, enum head_kind head, size_t pooler, void *gradient)
{
    const struct ops *ops = model->ops;
    const struct rows rows = head_rows(head, batch).rows;
    const int32_t hidden = model->config.hidden;
    if (!TENSOR(pooler + POOLER_WEIGHT)) {
        transform_backward(model, head, BUFFER(POOLER_FIRST), rows, gradient, BUFFER(POOLER_FIRST), false);
    } else {
        CALL(ops, tanh_backward, .dy = gradient, .y = BUFFER(POOLER_OUT), .rows = rows, .columns = hidden);
        CALL(ops, linear_backward_weight, .dw = gradient_of(model, TENSOR(pooler + POOLER_WEIGHT)),
             .db = gradient_of(model, TENSOR(pooler + POOLER_BIAS)), .dy = gradient, .x = BUFFER(POOLER_FIRST),
             .rows = rows, .out = hidden, .in = hidden, .scratch = model->scratch);
        CALL(ops, linear_backward_input, .dx = BUFFER(POOLER_FIRST), .dy = gradient,
             .w = weight_of(model, TENSOR(pooler + POOLER_WEIGHT)), .rows = rows, .out = hidden, .in = hidden);
    }
    if (model->config.pools_mean)
        CALL(ops, sequence_mean_backward, .dx = output_gradient(model, batch), .dy = BUFFER(POOLER_FIRST),
             .batch = batch, .index = batch->heads[head].index, .rows = rows, .hidden = hidden);
    else
        CALL(ops, scatter, .y = output_gradient(model, batch), .x = BUFFER(POOLER_FIRST),
             .index = batch->heads[head].index, .rows = rows, .hidden = hidden);
}

void output_forward(struct model *model, const struct output *o)
{
    CALL(model->ops, linear, .y = o->logits, .x = o->x, .w = weight_of(model, o->weight),
         .b = vector_of(model, o->bias), .rows = o->rows, .out = o->out, .in = model->config.hidden);
}

void output_backward(struct model *model, const struct output *o)
{
    const struct ops *ops = model->ops;
    const int32_t hidden = model->config.hidden;
    CALL(ops, linear_backward_input, .dx = o->dx, .adds = o->adds, .dy = o->logits, .w = weight_of(model, o->weight),
         .rows = o->rows, .out = o->out, .in = hidden);
    CALL(ops, linear_backward_weight, .dw = gradient_of(model, o->weight), .db = gradient_of(model, o->bias),
         .dy = o->logits, .x = o->x, .rows = o->rows, .out = o->out, .in = hidden, .scratch = model->scratch);
}

#include "trainer/model/heads/head_parts.h"

#define TENSOR(place) params_head(&model->table, head, place)
#define BUFFER(place) model->head_buffers[head][place]

double slope_factor(const struct model *model, enum head_kind head)
{
    return model->training ? model->step.loss_scale / (double)model->step.counts[head] : 0;
}

void pool(struct model *model, const struct batch *batch, enum head_kind head)
{
    const struct ops *ops = model->ops;
    const struct rows rows = head_rows(head, batch).rows;
    const int32_t hidden = model->config.hidden;
    assert(head_kinds[head]->reads == READS_FIRST);
    CALL(ops, gather, .y = BUFFER(POOLER_FIRST), .x = model_hidden(model), .index = batch->heads[head].index,
         .rows = rows, .hidden = hidden);
    CALL(ops, linear, .y = BUFFER(POOLER_OUT), .x = BUFFER(POOLER_FIRST), .w = weight_of(model, TENSOR(POOLER_WEIGHT)),
         .b = vector_of(model, TENSOR(POOLER_BIAS)), .rows = rows, .out = hidden, .in = hidden);
    CALL(ops, tanh_rows, .x = BUFFER(POOLER_OUT), .rows = rows, .columns = hidden);
}

void pool_backward(struct model *model, const struct batch *batch, enum head_kind head, void *gradient)
{
    const struct ops *ops = model->ops;
    const struct rows rows = head_rows(head, batch).rows;
    const int32_t hidden = model->config.hidden;
    CALL(ops, tanh_backward, .dy = gradient, .y = BUFFER(POOLER_OUT), .rows = rows, .columns = hidden);
    CALL(ops, linear_backward_weight, .dw = gradient_of(model, TENSOR(POOLER_WEIGHT)),
         .db = gradient_of(model, TENSOR(POOLER_BIAS)), .dy = gradient, .x = BUFFER(POOLER_FIRST), .rows = rows,
         .out = hidden, .in = hidden, .scratch = model->scratch);
    CALL(ops, linear_backward_input, .dx = BUFFER(POOLER_FIRST), .dy = gradient,
         .w = weight_of(model, TENSOR(POOLER_WEIGHT)), .rows = rows, .out = hidden, .in = hidden);
    CALL(ops, scatter, .y = output_gradient(model, batch), .x = BUFFER(POOLER_FIRST), .index = batch->heads[head].index,
         .rows = rows, .hidden = hidden);
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

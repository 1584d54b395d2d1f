/* Embedding and layers, forward and backward. In: a batch; out: the last layer's rows, and from their gradients those
 * of all tensors below. Post-LayerNorm BERT (Devlin et al. 2019):
 *
 *     x = dropout(LN(word + position + type))
 *     h = LN(dropout(attention(x) W_o) + x);  x = LN(dropout(gelu(h W_up) W_down) + h)        in each layer
 *
 * A sum before a LayerNorm is made in place of the branch that enters it. */
#include "trainer/model/parts.h"

static struct attention_shape attention_shape(const struct model *model, int32_t layer)
{
    return (struct attention_shape){
        .heads = model->config.heads,
        .head_size = model->config.hidden / model->config.heads,
        .length_max = model->budget.length_max,
        .dropout = dropout_at(model, layer, SITE_PROBABILITIES),
    };
}

static const void *layer_input(const struct model *model, int32_t layer)
{
    return layer ? model->layers[layer - 1].out : model->embed_out;
}

static void embed_forward(struct model *model, const struct batch *batch)
{
    const struct ops *ops = model->ops;
    const struct param *table = model->table.items;
    const int32_t hidden = model->config.hidden;
    const struct dropout dropout = dropout_at(model, 0, SITE_EMBEDDING);
    ops->embed(ops->device, model->embed_sum, weight_of(model, &table[PARAM_WORD]),
               weight_of(model, &table[PARAM_POSITION]), weight_of(model, &table[PARAM_TYPE]), batch, hidden);
    ops->norm(ops->device, model->embed_out, model->embed_sum, model->embed_stats, model->embed_sum, NULL,
              vector_of(model, &table[PARAM_NORM_WEIGHT]), vector_of(model, &table[PARAM_NORM_BIAS]),
              model->config.norm_epsilon, token_rows(batch), hidden, NULL, NULL);
    ops->dropout(ops->device, model->embed_out, batch, hidden, &dropout);
}

static void layer_forward(struct model *model, const struct batch *batch, int32_t number)
{
    const struct ops *ops = model->ops;
    struct layer *layer = &model->layers[number];
    const void *x = layer_input(model, number);
    const struct rows rows = token_rows(batch);
    const int32_t hidden = model->config.hidden, inner = model->config.intermediate;
    const double epsilon = model->config.norm_epsilon;
    const struct attention_shape shape = attention_shape(model, number);
    const struct dropout drop_attention = dropout_at(model, number, SITE_ATTENTION);
    const struct dropout drop_down = dropout_at(model, number, SITE_DOWN);
#define WEIGHT(place) weight_of(model, params_layer(&model->table, number, place))
#define VECTOR(place) vector_of(model, params_layer(&model->table, number, place))
    ops->linear(ops->device, layer->qkv, x, WEIGHT(LAYER_QUERY_WEIGHT), VECTOR(LAYER_QUERY_BIAS), rows, 3 * hidden,
                hidden);
    ops->attention(ops->device, layer->context, layer->log_sums, layer->qkv, batch, &shape, model->scratch);
    ops->linear(ops->device, layer->attention_sum, layer->context, WEIGHT(LAYER_OUTPUT_WEIGHT),
                VECTOR(LAYER_OUTPUT_BIAS), rows, hidden, hidden);
    ops->norm(ops->device, layer->attention_out, layer->attention_sum, layer->attention_stats, layer->attention_sum, x,
              VECTOR(LAYER_ATTENTION_NORM_WEIGHT), VECTOR(LAYER_ATTENTION_NORM_BIAS), epsilon, rows, hidden, batch,
              &drop_attention);
    ops->linear_gelu(ops->device, layer->up, layer->activation, layer->attention_out, WEIGHT(LAYER_UP_WEIGHT),
                     VECTOR(LAYER_UP_BIAS), rows, inner, hidden, model->config.gelu);
    ops->linear(ops->device, layer->down_sum, layer->activation, WEIGHT(LAYER_DOWN_WEIGHT), VECTOR(LAYER_DOWN_BIAS),
                rows, hidden, inner);
    ops->norm(ops->device, layer->out, layer->down_sum, layer->down_stats, layer->down_sum, layer->attention_out,
              VECTOR(LAYER_NORM_WEIGHT), VECTOR(LAYER_NORM_BIAS), epsilon, rows, hidden, batch, &drop_down);
}

void forward(struct model *model, const struct batch *batch)
{
    embed_forward(model, batch);
    for (int32_t layer = 0; layer < model->config.layers; layer++)
        layer_forward(model, batch, layer);
}

/* dhidden: in, the gradient of the layer's output; out, that of its input. */
static void layer_backward(struct model *model, const struct batch *batch, int32_t number)
{
    const struct ops *ops = model->ops;
    const struct layer *layer = &model->layers[number];
    const void *x = layer_input(model, number);
    const struct rows rows = token_rows(batch);
    const int32_t hidden = model->config.hidden, inner = model->config.intermediate;
    const enum gelu gelu = model->config.gelu;
    const struct attention_shape shape = attention_shape(model, number);
    const struct dropout drop_attention = dropout_at(model, number, SITE_ATTENTION);
    const struct dropout drop_down = dropout_at(model, number, SITE_DOWN);
    void *dhidden = model->dhidden, *dbranch = model->dbranch;
#define GRADIENT(place) gradient_of(model, params_layer(&model->table, number, place))
    ops->norm_backward(ops->device, dbranch, dhidden, GRADIENT(LAYER_NORM_WEIGHT), GRADIENT(LAYER_NORM_BIAS), dhidden,
                       layer->down_sum, layer->down_stats, VECTOR(LAYER_NORM_WEIGHT), rows, hidden, batch, &drop_down,
                       model->scratch);
    ops->linear_backward_input(ops->device, model->dup, 0, dbranch, WEIGHT(LAYER_DOWN_WEIGHT), layer->up, rows, hidden,
                               inner, gelu);
    ops->linear_backward_weight(ops->device, GRADIENT(LAYER_DOWN_WEIGHT), GRADIENT(LAYER_DOWN_BIAS), dbranch,
                                layer->activation, rows, hidden, inner, model->scratch);
    ops->linear_backward_input(ops->device, dhidden, 1, model->dup, WEIGHT(LAYER_UP_WEIGHT), NULL, rows, inner, hidden,
                               gelu);
    ops->linear_backward_weight(ops->device, GRADIENT(LAYER_UP_WEIGHT), GRADIENT(LAYER_UP_BIAS), model->dup,
                                layer->attention_out, rows, inner, hidden, model->scratch);

    ops->norm_backward(ops->device, dbranch, dhidden, GRADIENT(LAYER_ATTENTION_NORM_WEIGHT),
                       GRADIENT(LAYER_ATTENTION_NORM_BIAS), dhidden, layer->attention_sum, layer->attention_stats,
                       VECTOR(LAYER_ATTENTION_NORM_WEIGHT), rows, hidden, batch, &drop_attention, model->scratch);
    ops->linear_backward_input(ops->device, model->dcontext, 0, dbranch, WEIGHT(LAYER_OUTPUT_WEIGHT), NULL, rows,
                               hidden, hidden, gelu);
    ops->linear_backward_weight(ops->device, GRADIENT(LAYER_OUTPUT_WEIGHT), GRADIENT(LAYER_OUTPUT_BIAS), dbranch,
                                layer->context, rows, hidden, hidden, model->scratch);
    ops->attention_backward(ops->device, model->dqkv, model->dcontext, layer->qkv, layer->context, layer->log_sums,
                            batch, &shape, model->scratch);
    ops->linear_backward_input(ops->device, dhidden, 1, model->dqkv, WEIGHT(LAYER_QUERY_WEIGHT), NULL, rows, 3 * hidden,
                               hidden, gelu);
    ops->linear_backward_weight(ops->device, GRADIENT(LAYER_QUERY_WEIGHT), GRADIENT(LAYER_QUERY_BIAS), model->dqkv, x,
                                rows, 3 * hidden, hidden, model->scratch);
#undef WEIGHT
#undef VECTOR
#undef GRADIENT
}

static void embed_backward(struct model *model, const struct batch *batch)
{
    const struct ops *ops = model->ops;
    const struct param *table = model->table.items;
    const int32_t hidden = model->config.hidden;
    const struct dropout dropout = dropout_at(model, 0, SITE_EMBEDDING);
    ops->dropout(ops->device, model->dhidden, batch, hidden, &dropout);
    ops->norm_backward(ops->device, NULL, model->dhidden, gradient_of(model, &table[PARAM_NORM_WEIGHT]),
                       gradient_of(model, &table[PARAM_NORM_BIAS]), model->dhidden, model->embed_sum,
                       model->embed_stats, vector_of(model, &table[PARAM_NORM_WEIGHT]), token_rows(batch), hidden, NULL,
                       NULL, model->scratch);
    ops->embed_backward(ops->device, gradient_of(model, &table[PARAM_WORD]), gradient_of(model, &table[PARAM_POSITION]),
                        gradient_of(model, &table[PARAM_TYPE]), model->dhidden, batch, hidden);
}

void backward(struct model *model, const struct batch *batch)
{
    for (int32_t layer = model->config.layers - 1; layer >= 0; layer--)
        layer_backward(model, batch, layer);
    embed_backward(model, batch);
}

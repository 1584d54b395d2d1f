/* Embedding and layers, forward and backward: from a batch to the rows of the last layer that heads read, and from
 * their gradients to those of all tensors below. A sum r runs through all layers; each layer adds two branches to it,
 * A = dropout(attention(x) W_o) and F = dropout(gelu(h W_up) W_down), and x, h, out are norms of it:
 *
 *                 begins with                        first norm        second norm
 *     post        x = r = e                          h = r = LN(r+A)   out = r = LN(r+F)       Devlin et al. 2019
 *     pre         r = e, x = LN_a(r)                 h = LN_f(r+A)     out = next LN_a(r+F)    DeepSpeed; after the
 *                                                                      last layer a norm of its own
 *     large       r = 0, x = e                       h = LN(r+A)       out = LN(r+F)           Habana
 *
 * with e = dropout(LN(word + position + type)). ModernBERT is pre without LN_a in its first layer, and has F =
 * dropout(act(u) g) W_down with [u | g] = h W_up. In pre and large r itself is never normed. All three are the same ops
 * in the same order: they differ in what a branch is added to and in which norm is used. A sum overwrites its
 * branch. */
#include "trainer/model/parts.h"

/* The rows of a depth's output: at the last depth only those that heads read. */
static const struct batch *depth_rows(const struct model *model, const struct batch *batch, int32_t depth)
{
    return depth + 1 == model->present ? batch_read(batch) : batch;
}

/* Where queries, keys and values are in a layer's qkv or in dqkv. */
struct attention_rows {
    void *q, *kv;
    int32_t q_stride, kv_stride; /* numbers from row to row */
};

static struct attention_rows attention_rows(const struct model *model, void *qkv, const struct batch *batch,
                                            const struct batch *queries)
{
    const int32_t hidden = model->config.hidden;
    const size_t row = (size_t)hidden * model->ops->storage_size;
    if (queries == batch)
        return (struct attention_rows){qkv, (char *)qkv + row, 3 * hidden, 3 * hidden};
    return (struct attention_rows){(char *)qkv + (size_t)batch->token_rows * 2 * row, qkv, hidden, 2 * hidden};
}

static struct attention_shape attention_shape(const struct model *model, int32_t layer)
{
    return (struct attention_shape){
        .heads = model->config.heads,
        .head_size = model->config.hidden / model->config.heads,
        .length_max = model->budget.length_max,
        .window = model_layer_is_global(&model->config, layer) ? 0 : model->config.window,
        .dropout = dropout_at(model, layer, SITE_PROBABILITIES),
    };
}

/* Dropout of a branch, divided by the layer's share. */
static struct dropout branch_dropout(const struct model *model, const struct layer *layer, enum dropout_site site)
{
    struct dropout dropout = dropout_at(model, layer->number, site);
    dropout.share = layer->share;
    return dropout;
}

/* The rows that a depth's products read. */
static const void *depth_input(const struct model *model, int32_t depth)
{
    return depth > 0 ? model->layers[depth - 1].out : model->entry;
}

/* The sum that its first branch is added to; NULL: none yet. */
static const void *depth_residual(const struct model *model, int32_t depth)
{
    if (!norms_of(model).unnormalised)
        return depth_input(model, depth);
    if (depth > 0)
        return model->layers[depth - 1].down_sum;
    return norms_of(model).from_embedding ? model->embed_out : NULL;
}

/* The tensors of a norm; NULL: the model lacks it. */
struct norm_tensors {
    const struct param *gain, *bias;
};

static struct norm_tensors layer_norm(const struct model *model, int32_t layer, enum layer_place gain)
{
    return (struct norm_tensors){params_layer(&model->table, layer, gain),
                                 params_layer(&model->table, layer, gain + 1)};
}

/* A depth's two norms. */
static struct norm_tensors first_norm(const struct model *model, int32_t depth)
{
    return layer_norm(model, model->layers[depth].number,
                      norms_of(model).pre_norm ? LAYER_NORM_WEIGHT : LAYER_ATTENTION_NORM_WEIGHT);
}

static struct norm_tensors second_norm(const struct model *model, int32_t depth)
{
    if (!norms_of(model).pre_norm)
        return layer_norm(model, model->layers[depth].number, LAYER_NORM_WEIGHT);
    if (depth + 1 == model->present)
        return (struct norm_tensors){params_final(&model->table, FINAL_NORM_WEIGHT),
                                     params_final(&model->table, FINAL_NORM_BIAS)};
    return layer_norm(model, model->layers[depth + 1].number, LAYER_ATTENTION_NORM_WEIGHT);
}

/* The norm before the first layer; without a gain: there is none. */
static struct norm_tensors entry_norm(const struct model *model)
{
    if (!has_entry_norm(model))
        return (struct norm_tensors){NULL, NULL};
    return layer_norm(model, model->layers[0].number, LAYER_ATTENTION_NORM_WEIGHT);
}

/* Whether a depth's first branch reads the sum itself. */
static bool reads_sum(const struct model *model, int32_t depth)
{
    return !norms_of(model).unnormalised || (depth == 0 && norms_of(model).pre_norm && !has_entry_norm(model));
}

static void embed_forward(struct model *model, const struct batch *batch)
{
    const struct ops *ops = model->ops;
    const struct params *table = &model->table;
    const int32_t hidden = model->config.hidden;
    const struct dropout dropout = dropout_at(model, 0, SITE_EMBEDDING);
    CALL(ops, embed, .y = model->embed_sum, .word = weight_of(model, params_embedding(table, PARAM_WORD)),
         .position = weight_of(model, params_embedding(table, PARAM_POSITION)),
         .type = weight_of(model, params_embedding(table, PARAM_TYPE)), .batch = batch, .hidden = hidden);
    CALL(ops, norm, .y = model->embed_out, .z = model->embed_sum, .statistics = model->embed_stats,
         .x = model->embed_sum, .gain = vector_of(model, params_embedding(table, PARAM_NORM_WEIGHT)),
         .bias = vector_of(model, params_embedding(table, PARAM_NORM_BIAS)), .epsilon = model->config.norm_epsilon,
         .rows = token_rows(batch), .hidden = hidden);
    CALL(ops, dropout, .y = model->embed_out, .x = model->embed_out, .batch = batch, .rows = token_rows(batch),
         .hidden = hidden, .dropout = &dropout);
    const struct norm_tensors entry = entry_norm(model);
    if (entry.gain)
        CALL(ops, norm, .y = model->entry, .z = model->embed_out, .statistics = model->entry_stats,
             .x = model->embed_out, .gain = vector_of(model, entry.gain), .bias = vector_of(model, entry.bias),
             .epsilon = model->config.norm_epsilon, .rows = token_rows(batch), .hidden = hidden);
}

#define WEIGHT(place)   weight_of(model, params_layer(&model->table, layer->number, place))
#define VECTOR(place)   vector_of(model, params_layer(&model->table, layer->number, place))
#define GRADIENT(place) gradient_of(model, params_layer(&model->table, layer->number, place))

static void gelu_forward(const struct model *model, const struct layer *layer, const struct batch *batch)
{
    CALL(model->ops, linear_gelu, .pre = layer->up, .y = layer->activation, .x = layer->attention_out,
         .w = WEIGHT(LAYER_UP_WEIGHT), .b = VECTOR(LAYER_UP_BIAS), .rows = token_rows(batch),
         .out = model->config.intermediate, .in = model->config.hidden, .gelu = model->config.gelu);
}

static void gelu_backward(const struct model *model, const struct layer *layer, const struct batch *batch)
{
    CALL(model->ops, linear_backward_input, .dx = model->dup, .dy = model->dbranch, .w = WEIGHT(LAYER_DOWN_WEIGHT),
         .pre = layer->up, .rows = token_rows(batch), .out = model->config.hidden, .in = model->config.intermediate,
         .gelu = model->config.gelu);
}

static void glu_forward(const struct model *model, const struct layer *layer, const struct batch *batch)
{
    const struct rows rows = token_rows(batch);
    const int32_t inner = model->config.intermediate;
    const struct dropout dropout = dropout_at(model, layer->number, SITE_INNER);
    CALL(model->ops, linear, .y = layer->up, .x = layer->attention_out, .w = WEIGHT(LAYER_UP_WEIGHT),
         .b = VECTOR(LAYER_UP_BIAS), .rows = rows, .out = 2 * inner, .in = model->config.hidden);
    CALL(model->ops, glu, .y = layer->activation, .x = layer->up, .rows = rows, .columns = inner,
         .gelu = model->config.gelu);
    CALL(model->ops, dropout, .y = layer->activation, .x = layer->activation, .batch = batch, .rows = rows,
         .hidden = inner, .dropout = &dropout);
}

static void glu_backward(const struct model *model, const struct layer *layer, const struct batch *batch)
{
    const struct rows rows = token_rows(batch);
    const int32_t inner = model->config.intermediate;
    const struct dropout dropout = dropout_at(model, layer->number, SITE_INNER);
    CALL(model->ops, linear_backward_input, .dx = model->dgated, .dy = model->dbranch, .w = WEIGHT(LAYER_DOWN_WEIGHT),
         .rows = rows, .out = model->config.hidden, .in = inner);
    CALL(model->ops, dropout, .y = model->dgated, .x = model->dgated, .batch = batch, .rows = rows, .hidden = inner,
         .dropout = &dropout);
    CALL(model->ops, glu_backward, .dx = model->dup, .dy = model->dgated, .x = layer->up, .rows = rows,
         .columns = inner, .gelu = model->config.gelu);
}

const struct feed_forward feed_forward_glu = {
    .ups = 2,
    .forward = glu_forward,
    .backward = glu_backward,
};

const struct feed_forward feed_forward_gelu = {
    .ups = 1,
    .forward = gelu_forward,
    .backward = gelu_backward,
};

/* Queries, keys and values of a depth's input. */
static void project_forward(const struct model *model, const struct layer *layer, const void *x,
                            const struct batch *batch, const struct batch *queries)
{
    const struct ops *ops = model->ops;
    const struct attention_rows at = attention_rows(model, layer->qkv, batch, queries);
    const int32_t hidden = model->config.hidden;
    if (queries == batch) {
        CALL(ops, linear, .y = layer->qkv, .x = x, .w = WEIGHT(LAYER_QUERY_WEIGHT), .b = VECTOR(LAYER_QUERY_BIAS),
             .rows = token_rows(batch), .out = 3 * hidden, .in = hidden);
        return;
    }
    CALL(ops, linear, .y = at.kv, .x = x, .w = WEIGHT(LAYER_KEY_WEIGHT), .b = VECTOR(LAYER_KEY_BIAS),
         .rows = token_rows(batch), .out = 2 * hidden, .in = hidden);
    CALL(ops, gather, .y = model->read_in, .x = x, .index = batch->read_index, .rows = token_rows(queries),
         .hidden = hidden);
    CALL(ops, linear, .y = at.q, .x = model->read_in, .w = WEIGHT(LAYER_QUERY_WEIGHT), .b = VECTOR(LAYER_QUERY_BIAS),
         .rows = token_rows(queries), .out = hidden, .in = hidden);
}

/* Turns queries and keys, or their gradients back, by their positions. */
static void rotate(const struct model *model, const struct layer *layer, const struct attention_rows *at,
                   const struct batch *batch, const struct batch *queries, bool back)
{
    const void *turns = model->turns[model_layer_is_global(&model->config, layer->number)];
    const int32_t heads = model->config.heads, size = model->config.hidden / heads;
    if (!turns)
        return;
    CALL(model->ops, rotate, .x = at->q, .stride = at->q_stride, .turns = turns, .batch = queries, .heads = heads,
         .head_size = size, .back = back);
    CALL(model->ops, rotate, .x = at->kv, .stride = at->kv_stride, .turns = turns, .batch = batch, .heads = heads,
         .head_size = size, .back = back);
}

/* depth_residual for the rows of the depth's output. */
static const void *residual_rows(const struct model *model, int32_t depth, const struct batch *batch,
                                 const struct batch *queries)
{
    const void *residual = depth_residual(model, depth);
    if (queries == batch || !residual)
        return residual;
    if (reads_sum(model, depth))
        return model->read_in;
    CALL(model->ops, gather, .y = model->read_sum, .x = residual, .index = batch->read_index,
         .rows = token_rows(queries), .hidden = model->config.hidden);
    return model->read_sum;
}

static void layer_forward(struct model *model, const struct batch *batch, int32_t depth)
{
    const struct ops *ops = model->ops;
    const struct layer *layer = &model->layers[depth];
    const struct norm_tensors first = first_norm(model, depth), second = second_norm(model, depth);
    const struct batch *queries = depth_rows(model, batch, depth);
    const struct attention_rows at = attention_rows(model, layer->qkv, batch, queries);
    const struct rows rows = token_rows(queries);
    const int32_t hidden = model->config.hidden, inner = model->config.intermediate;
    const bool unnormalised = norms_of(model).unnormalised;
    const struct feed_forward *feed_forward = architecture_of(&model->config)->feed_forward;
    const double epsilon = model->config.norm_epsilon;
    const struct attention_shape shape = attention_shape(model, layer->number);
    const struct dropout drop_attention = branch_dropout(model, layer, SITE_ATTENTION);
    const struct dropout drop_down = branch_dropout(model, layer, SITE_DOWN);
    project_forward(model, layer, depth_input(model, depth), batch, queries);
    rotate(model, layer, &at, batch, queries, false);
    CALL(ops, attention, .context = layer->context, .log_sums = layer->log_sums, .q = at.q, .kv = at.kv,
         .q_stride = at.q_stride, .kv_stride = at.kv_stride, .batch = batch, .queries = queries, .shape = &shape,
         .scratch = model->scratch);
    CALL(ops, linear, .y = layer->attention_sum, .x = layer->context, .w = WEIGHT(LAYER_OUTPUT_WEIGHT),
         .b = VECTOR(LAYER_OUTPUT_BIAS), .rows = rows, .out = hidden, .in = hidden);
    CALL(ops, norm, .y = layer->attention_out, .z = layer->attention_sum, .statistics = layer->attention_stats,
         .x = layer->attention_sum, .residual = residual_rows(model, depth, batch, queries),
         .gain = vector_of(model, first.gain), .bias = vector_of(model, first.bias), .epsilon = epsilon, .rows = rows,
         .hidden = hidden, .batch = queries, .dropout = &drop_attention);
    feed_forward->forward(model, layer, queries);
    CALL(ops, linear, .y = layer->down_sum, .x = layer->activation, .w = WEIGHT(LAYER_DOWN_WEIGHT),
         .b = VECTOR(LAYER_DOWN_BIAS), .rows = rows, .out = hidden, .in = inner);
    CALL(ops, norm, .y = layer->out, .z = layer->down_sum, .statistics = layer->down_stats, .x = layer->down_sum,
         .residual = unnormalised ? layer->attention_sum : layer->attention_out, .gain = vector_of(model, second.gain),
         .bias = vector_of(model, second.bias), .epsilon = epsilon, .rows = rows, .hidden = hidden, .batch = queries,
         .dropout = &drop_down);
}

void forward(struct model *model, const struct batch *batch)
{
    embed_forward(model, batch);
    for (int32_t depth = 0; depth < model->present; depth++)
        layer_forward(model, batch, depth);
}

/* From dqkv computes the gradients of weights and dinput, the gradient of the input. Where the input is the sum too
 * (`is_sum`), whose gradient dinput holds already, it is added to; in the last layer, where only some rows have one,
 * dinput is written anew, and dread is then added to the gradient of the sum. */
static void project_backward(const struct model *model, const struct layer *layer, const void *x, void *dinput,
                             bool is_sum, const struct batch *batch, const struct batch *queries)
{
    const struct ops *ops = model->ops;
    const struct attention_rows at = attention_rows(model, model->dqkv, batch, queries);
    const struct rows rows = token_rows(batch), read = token_rows(queries);
    const int32_t hidden = model->config.hidden;
    if (queries == batch) {
        /* q, k and v are adjacent, in the activations and in the weights: one product serves them. */
        CALL(ops, linear_backward_input, .dx = dinput, .adds = is_sum, .dy = model->dqkv,
             .w = WEIGHT(LAYER_QUERY_WEIGHT), .rows = rows, .out = 3 * hidden, .in = hidden);
        CALL(ops, linear_backward_weight, .dw = GRADIENT(LAYER_QUERY_WEIGHT), .db = GRADIENT(LAYER_QUERY_BIAS),
             .dy = model->dqkv, .x = x, .rows = rows, .out = 3 * hidden, .in = hidden, .scratch = model->scratch);
        return;
    }
    /* Weights first: the products after them overwrite read_in, the rows of the input that queries were made of. */
    CALL(ops, linear_backward_weight, .dw = GRADIENT(LAYER_QUERY_WEIGHT), .db = GRADIENT(LAYER_QUERY_BIAS), .dy = at.q,
         .x = model->read_in, .rows = read, .out = hidden, .in = hidden, .scratch = model->scratch);
    CALL(ops, linear_backward_weight, .dw = GRADIENT(LAYER_KEY_WEIGHT), .db = GRADIENT(LAYER_KEY_BIAS), .dy = at.kv,
         .x = x, .rows = rows, .out = 2 * hidden, .in = hidden, .scratch = model->scratch);
    CALL(ops, linear_backward_input, .dx = dinput, .dy = at.kv, .w = WEIGHT(LAYER_KEY_WEIGHT), .rows = rows,
         .out = 2 * hidden, .in = hidden);
    CALL(ops, linear_backward_input, .dx = model->read_in, .dy = at.q, .w = WEIGHT(LAYER_QUERY_WEIGHT), .rows = read,
         .out = hidden, .in = hidden);
    CALL(ops, scatter, .y = dinput, .x = model->read_in, .index = batch->read_index, .rows = read, .hidden = hidden);
    /* From here on all rows of the sum have a gradient. Where dhidden is dinput it has one by now; otherwise it still
     * holds nothing of this pass. */
    if (!is_sum)
        CALL(ops, clear, .memory = model->dhidden,
             .bytes = (size_t)rows.total * (size_t)hidden * model->ops->storage_size);
    CALL(ops, scatter, .y = model->dhidden, .x = model->dread, .index = batch->read_index, .rows = read,
         .hidden = hidden);
}

/* Gradients are final from this tensor of a layer on; after the last layer, from the norm that follows it. Layers that
 * were dropped have no gradient to wait for. */
static void report_from(struct model *model, int32_t layer, enum layer_place place)
{
    report_final(model, layer < model->config.layers ? params_layer(&model->table, layer, place)->offset
                                                     : params_final(&model->table, FINAL_NORM_WEIGHT)->offset);
}

/* In post, dhidden is the gradient of the layer's output, then that of its input. In pre and large, dhidden is that of
 * the sum, dbranch that of the output, then of the input; the last layer finds its output's gradient in dhidden, where
 * the heads left it. In the last layer dread replaces dhidden, until project_backward returns to all rows.
 *
 * The layer's three parts become final one after another. With pre_norm, the norm before the feed-forward part, the
 * last in the table, gets its gradient after that part, and the norm before the attention at the depth before. */
static void layer_backward(struct model *model, const struct batch *batch, int32_t depth)
{
    const struct ops *ops = model->ops;
    const struct layer *layer = &model->layers[depth];
    const struct norm_tensors first = first_norm(model, depth), second = second_norm(model, depth);
    const struct batch *queries = depth_rows(model, batch, depth);
    const struct attention_rows at = attention_rows(model, layer->qkv, batch, queries);
    const struct attention_rows gradients = attention_rows(model, model->dqkv, batch, queries);
    const struct rows rows = token_rows(queries);
    const int32_t hidden = model->config.hidden, inner = model->config.intermediate;
    const int32_t up = size_of(&model->config, OF_UP);
    const struct attention_shape shape = attention_shape(model, layer->number);
    const struct dropout drop_attention = branch_dropout(model, layer, SITE_ATTENTION);
    const struct dropout drop_down = branch_dropout(model, layer, SITE_DOWN);
    const bool unnormalised = norms_of(model).unnormalised, pre_norm = norms_of(model).pre_norm;
    const bool last = depth + 1 == model->present;
    void *dhidden = last ? output_gradient(model, batch) : model->dhidden;
    void *dbranch = model->dbranch, *dnorm = unnormalised ? dbranch : dhidden;
    assert(first.gain && second.gain && layer->number < model->config.layers);

    /* The norm of the sum after the feed-forward part. dz is the gradient of the sum, dx that of the branch, which is
     * the same but for dropout. The sum of an unnormalised layer has a gradient from the layers above already. */
    CALL(ops, norm_backward, .dx = dbranch, .dz = dhidden, .adds = unnormalised && !last,
         .dgain = gradient_of(model, second.gain), .dbias = gradient_of(model, second.bias),
         .dy = last ? dhidden : dnorm, .z = layer->down_sum, .statistics = layer->down_stats,
         .gain = vector_of(model, second.gain), .rows = rows, .hidden = hidden, .batch = queries, .dropout = &drop_down,
         .scratch = model->scratch);
    if (pre_norm)
        report_from(model, layer->number + 1, LAYER_QUERY_WEIGHT);

    /* The feed-forward part: through W_down and the activation to dup. */
    architecture_of(&model->config)->feed_forward->backward(model, layer, queries);
    /* Weights first: in pre and large the product after them overwrites dbranch, which this one reads. */
    CALL(ops, linear_backward_weight, .dw = GRADIENT(LAYER_DOWN_WEIGHT), .db = GRADIENT(LAYER_DOWN_BIAS), .dy = dbranch,
         .x = layer->activation, .rows = rows, .out = hidden, .in = inner, .scratch = model->scratch);
    if (!pre_norm)
        report_from(model, layer->number, LAYER_DOWN_WEIGHT);
    /* Through W_up. In post the input is the sum too, so this is added to its gradient. */
    CALL(ops, linear_backward_input, .dx = dnorm, .adds = !unnormalised, .dy = model->dup, .w = WEIGHT(LAYER_UP_WEIGHT),
         .rows = rows, .out = up, .in = hidden);
    CALL(ops, linear_backward_weight, .dw = GRADIENT(LAYER_UP_WEIGHT), .db = GRADIENT(LAYER_UP_BIAS), .dy = model->dup,
         .x = layer->attention_out, .rows = rows, .out = up, .in = hidden, .scratch = model->scratch);
    if (!pre_norm)
        report_from(model, layer->number, LAYER_UP_WEIGHT);

    /* The norm of the sum after the attention. In pre and large dhidden has the sum's gradient at every depth by now,
     * because the norm above has written it, so this one is added. */
    CALL(ops, norm_backward, .dx = dbranch, .dz = dhidden, .adds = unnormalised,
         .dgain = gradient_of(model, first.gain), .dbias = gradient_of(model, first.bias), .dy = dnorm,
         .z = layer->attention_sum, .statistics = layer->attention_stats, .gain = vector_of(model, first.gain),
         .rows = rows, .hidden = hidden, .batch = queries, .dropout = &drop_attention, .scratch = model->scratch);
    if (pre_norm)
        report_from(model, layer->number, LAYER_UP_WEIGHT);

    /* The attention: through W_o, the softmax, and the products that made queries, keys and values. */
    CALL(ops, linear_backward_input, .dx = model->dcontext, .dy = dbranch, .w = WEIGHT(LAYER_OUTPUT_WEIGHT),
         .rows = rows, .out = hidden, .in = hidden);
    CALL(ops, linear_backward_weight, .dw = GRADIENT(LAYER_OUTPUT_WEIGHT), .db = GRADIENT(LAYER_OUTPUT_BIAS),
         .dy = dbranch, .x = layer->context, .rows = rows, .out = hidden, .in = hidden, .scratch = model->scratch);
    CALL(ops, attention_backward, .dq = gradients.q, .dkv = gradients.kv, .dcontext = model->dcontext, .q = at.q,
         .kv = at.kv, .q_stride = at.q_stride, .kv_stride = at.kv_stride, .context = layer->context,
         .log_sums = layer->log_sums, .batch = batch, .queries = queries, .shape = &shape, .scratch = model->scratch);
    rotate(model, layer, &gradients, batch, queries, true);
    const bool is_sum = reads_sum(model, depth);
    project_backward(model, layer, depth_input(model, depth), is_sum ? model->dhidden : dbranch, is_sum, batch,
                     queries);
    if (!pre_norm)
        report_from(model, layer->number, LAYER_QUERY_WEIGHT);
}

static void embed_backward(struct model *model, const struct batch *batch)
{
    const struct ops *ops = model->ops;
    const struct params *table = &model->table;
    const int32_t hidden = model->config.hidden;
    const struct dropout dropout = dropout_at(model, 0, SITE_EMBEDDING);
    const struct norm_order norms = norms_of(model);
    /* A sum that begins at zero takes nothing of the embedding, which then enters as the first input only. */
    void *gradient = norms.unnormalised && !norms.from_embedding ? model->dbranch : model->dhidden;
    const struct norm_tensors entry = entry_norm(model);
    if (entry.gain) /* its input is the sum as well */
        CALL(ops, norm_backward, .dz = gradient, .adds = true, .dgain = gradient_of(model, entry.gain),
             .dbias = gradient_of(model, entry.bias), .dy = model->dbranch, .z = model->embed_out,
             .statistics = model->entry_stats, .gain = vector_of(model, entry.gain), .rows = token_rows(batch),
             .hidden = hidden, .scratch = model->scratch);
    CALL(ops, dropout, .y = gradient, .x = gradient, .batch = batch, .rows = token_rows(batch), .hidden = hidden,
         .dropout = &dropout);
    CALL(ops, norm_backward, .dz = gradient, .dgain = gradient_of(model, params_embedding(table, PARAM_NORM_WEIGHT)),
         .dbias = gradient_of(model, params_embedding(table, PARAM_NORM_BIAS)), .dy = gradient, .z = model->embed_sum,
         .statistics = model->embed_stats, .gain = vector_of(model, params_embedding(table, PARAM_NORM_WEIGHT)),
         .rows = token_rows(batch), .hidden = hidden, .scratch = model->scratch);
    CALL(ops, embed_backward, .dword = gradient_of(model, params_embedding(table, PARAM_WORD)),
         .dposition = gradient_of(model, params_embedding(table, PARAM_POSITION)),
         .dtype = gradient_of(model, params_embedding(table, PARAM_TYPE)), .dy = gradient, .batch = batch,
         .hidden = hidden, .scratch = model->scratch);
}

/* Before the last depth of a group whose activations were overwritten by the next group, the whole group is
 * recomputed. */
void backward(struct model *model, const struct batch *batch)
{
    const int32_t every = model->budget.recompute_every;
    for (int32_t depth = model->present - 1; depth >= 0; depth--) {
        if (depth % every == every - 1 && depth + 1 < model->present)
            for (int32_t again = depth - every + 1; again <= depth; again++)
                layer_forward(model, batch, again);
        layer_backward(model, batch, depth);
    }
    embed_backward(model, batch);
    report_final(model, 0);
}

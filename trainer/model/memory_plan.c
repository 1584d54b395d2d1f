/* Every buffer of a model, listed once: its name, size and place. The same walk counts bytes and hands out memory. */
#include "trainer/model/parts.h"

#include <stdio.h>
#include <string.h>

#define ALIGN 64 /* bytes */

struct planner {
    struct model_plan *plan;
    char *block; /* NULL: only count */
    uint64_t used;
};

static void take(struct planner *planner, void **buffer, const char *name, size_t count, size_t size)
{
    const uint64_t bytes = ((uint64_t)count * size + ALIGN - 1) / ALIGN * ALIGN;
    *buffer = planner->block ? planner->block + planner->used : NULL;
    planner->used += bytes;
    struct model_plan *plan = planner->plan;
    for (size_t i = 0; i < plan->count; i++)
        if (strcmp(plan->rows[i].name, name) == 0) {
            plan->rows[i].copies++;
            plan->rows[i].bytes += bytes;
            return;
        }
    assert(plan->count < PLAN_ROWS_MAX);
    struct plan_row *row = &plan->rows[plan->count++];
    snprintf(row->name, sizeof row->name, "%s", name);
    row->copies = 1;
    row->bytes = bytes;
}

/* The buffers of a depth. It shares memory with the one recompute_every before it, but the last of each group keeps
 * what the first of the next group reads: its output and, where it is unnormalised, the sum. */
static void plan_layer(struct planner *planner, const struct model *model, int32_t depth)
{
    const int32_t every = model->budget.recompute_every;
    const bool shares = depth >= every, ends = depth % every == every - 1;
    struct layer *layer = &model->layers[depth];
    const size_t rows = (size_t)model->budget.token_rows_max, hidden = (size_t)model->config.hidden;
    const size_t inner = (size_t)model->config.intermediate, up = (size_t)size_of(&model->config, OF_UP);
    const size_t heads = (size_t)model->config.heads;
    const size_t storage = model->ops->storage_size, real = model->ops->real_size;
    if (shares) {
        *layer = model->layers[depth - every];
        if (ends)
            take(planner, &layer->out, "layer.out", rows * hidden, storage);
        if (ends && norms_of(model).unnormalised)
            take(planner, &layer->down_sum, "layer.down_sum", rows * hidden, storage);
        return;
    }
    take(planner, &layer->qkv, "layer.qkv", rows * 3 * hidden, storage);
    take(planner, &layer->log_sums, "layer.log_sums", heads * rows, real);
    take(planner, &layer->context, "layer.context", rows * hidden, storage);
    take(planner, &layer->attention_sum, "layer.attention_sum", rows * hidden, storage);
    take(planner, &layer->attention_stats, "layer.attention_stats", rows * 2, real);
    take(planner, &layer->attention_out, "layer.attention_out", rows * hidden, storage);
    take(planner, &layer->up, "layer.up", rows * up, storage);
    take(planner, &layer->activation, "layer.activation", rows * inner, storage);
    take(planner, &layer->down_sum, "layer.down_sum", rows * hidden, storage);
    take(planner, &layer->down_stats, "layer.down_stats", rows * 2, real);
    take(planner, &layer->out, "layer.out", rows * hidden, storage);
}

/* The rows that its buffers have room for. */
static int32_t rows_of_head(const struct model *model, enum head_kind head)
{
    return head_kinds[head]->reads == READS_ALL ? model->budget.token_rows_max : model->budget.head_rows_max[head];
}

static void plan_head(struct planner *planner, struct model *model, enum head_kind head)
{
    const struct ops *ops = model->ops;
    const size_t rows = (size_t)rows_of_head(model, head);
    assert(head_kinds[head]->buffer_count <= HEAD_BUFFERS_MAX);
    for (size_t i = 0; i < head_kinds[head]->buffer_count; i++) {
        const struct head_buffer *buffer = &head_kinds[head]->buffers[i];
        if (buffer->transform && !architecture_of(&model->config)->transforms)
            continue;
        const int32_t columns = buffer->columns == OF_VOCABULARY ? vocabulary_padded(&model->config)
                                                                 : size_of(&model->config, buffer->columns);
        take(planner, &model->head_buffers[head][i], buffer->name, rows * (size_t)columns,
             buffer->real ? ops->real_size : ops->storage_size);
    }
}

/* The largest number of rows of a buffer with a column for each piece. */
static int32_t vocabulary_rows(const struct model *model)
{
    int32_t most = 0;
    for (enum head_kind h = 0; h < HEAD_KINDS; h++)
        for (size_t i = 0; model_has(&model->config, h) && i < head_kinds[h]->buffer_count; i++)
            if (head_kinds[h]->buffers[i].columns == OF_VOCABULARY && rows_of_head(model, h) > most)
                most = rows_of_head(model, h);
    return most;
}

static size_t scratch_bytes(const struct model *model)
{
    const struct model_config *config = &model->config;
    const int32_t up = size_of(config, OF_UP);
    int32_t most = model->budget.token_rows_max;
    for (int h = 0; h < HEAD_KINDS; h++)
        most = most > model->budget.head_rows_max[h] ? most : model->budget.head_rows_max[h];
    const struct ops_limits limits = {
        .rows_max = most,
        .columns_max = up > 3 * config->hidden ? up : 3 * config->hidden,
        .vocabulary_rows_max = vocabulary_rows(model),
        .vocabulary = vocabulary_padded(config),
        .length_max = model->budget.length_max,
        .head_size = config->hidden / config->heads,
    };
    return model->ops->scratch_bytes(model->ops->device, &limits);
}

void plan_buffers(struct model *model, struct model_plan *plan, char *block)
{
    const struct ops *ops = model->ops;
    const size_t rows = (size_t)model->budget.token_rows_max, hidden = (size_t)model->config.hidden;
    const size_t up = (size_t)size_of(&model->config, OF_UP), size = model->table.size;
    const size_t read = (size_t)read_rows_max(model);
    *plan = (struct model_plan){0};
    struct planner planner = {plan, block, 0};
    take(&planner, &model->params, "params", model_params_count(model), ops->real_size);
    if (!model->budget.placed)
        take(&planner, &model->gradients, "gradients", size, ops->real_size);
    if (ops->storage_size == ops->real_size)
        model->weights = model->params;
    else
        take(&planner, &model->weights, "weights", size, ops->storage_size);
    take(&planner, &model->embed_sum, "embed.sum", rows * hidden, ops->storage_size);
    take(&planner, &model->embed_stats, "embed.stats", rows * 2, ops->real_size);
    take(&planner, &model->embed_out, "embed.out", rows * hidden, ops->storage_size);
    model->entry = model->embed_out;
    if (has_entry_norm(model)) {
        take(&planner, &model->entry, "entry.out", rows * hidden, ops->storage_size);
        take(&planner, &model->entry_stats, "entry.stats", rows * 2, ops->real_size);
    }
    const size_t turns = (size_t)model->budget.length_max * hidden / (size_t)model->config.heads;
    for (int is_global = 0; is_global < 2 && model->config.theta_global > 0; is_global++)
        take(&planner, &model->turns[is_global], "turns", turns, ops->real_size);
    for (int32_t depth = 0; depth < model->config.layers; depth++)
        plan_layer(&planner, model, depth);
    for (enum head_kind h = 0; h < HEAD_KINDS; h++)
        if (model_has(&model->config, h))
            plan_head(&planner, model, h);
    if (read > 0) {
        take(&planner, &model->read_in, "read.in", read * hidden, ops->storage_size);
        if (norms_of(model).unnormalised)
            take(&planner, &model->read_sum, "read.sum", read * hidden, ops->storage_size);
        take(&planner, &model->dread, "gradient.read", read * hidden, ops->storage_size);
    }
    /* One set for all layers: a backward pass is in one layer at a time. What layers save for it was planned above. */
    take(&planner, &model->dhidden, "gradient.hidden", rows * hidden, ops->storage_size);
    take(&planner, &model->dbranch, "gradient.branch", rows * hidden, ops->storage_size);
    take(&planner, &model->dup, "gradient.up", rows * up, ops->storage_size);
    if (architecture_of(&model->config)->feed_forward->ups > 1)
        take(&planner, &model->dgated, "gradient.gated", rows * (size_t)model->config.intermediate, ops->storage_size);
    take(&planner, &model->dqkv, "gradient.qkv", rows * 3 * hidden, ops->storage_size);
    take(&planner, &model->dcontext, "gradient.context", rows * hidden, ops->storage_size);
    if (model->config.label_weights)
        take(&planner, (void **)&model->label_weights, "label.weights", (size_t)model->config.labels,
             sizeof *model->label_weights);
    take(&planner, (void **)&model->sums, "sums", STEP_SUMS, sizeof *model->sums);
    take(&planner, &model->scratch, "scratch", scratch_bytes(model), 1);
    plan->bytes = planner.used;
}

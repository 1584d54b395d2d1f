/* The life of a model: memory planned and taken, a step begun, micro-batches passed. The mathematics is in encoder.c
 * and heads/. */
#include "trainer/model/parts.h"

#include "base/mem.h"
#include "base/same_math.h"
#include "trainer/backend/copies.h"

static void set_sizes(struct model *model, const struct model_config *config, const struct ops *ops,
                      const struct model_budget *budget)
{
    model->config = *config;
    model->ops = ops;
    model->budget = *budget;
    model->budget.token_rows_max = rows_rounded(budget->token_rows_max);
    for (int h = 0; h < HEAD_KINDS; h++)
        model->budget.head_rows_max[h] = rows_rounded(budget->head_rows_max[h]);
    if (budget->recompute_every == 0 || budget->recompute_every > config->layers)
        model->budget.recompute_every = config->layers;
    assert(budget->length_max >= 1 && budget->length_max <= config->positions);
    assert(budget->sequences_max >= 1 && budget->recompute_every >= 0);
    params_init(&model->table, config);
}

void model_plan(const struct model_config *config, const struct ops *ops, const struct model_budget *budget,
                struct model_plan *plan)
{
    struct model model = {0};
    set_sizes(&model, config, ops, budget);
    model.layers = mem_clear((size_t)config->layers, sizeof *model.layers);
    plan_buffers(&model, plan, NULL);
    mem_free(model.layers);
    params_release(&model.table);
}

/* Cosine and sine of position p times theta^(-2j / size), with j the pair of a head of that size; everything in float,
 * as transformers has it, whatever the precision is. */
static void fill_turns(struct model *model, void *turns, double theta)
{
    const struct ops *ops = model->ops;
    const int32_t size = model->config.hidden / model->config.heads, positions = model->budget.length_max;
    const size_t bytes = (size_t)positions * (size_t)size * ops->real_size;
    void *host = ops->map(ops->device, turns, bytes, MAP_FILL);
    for (int32_t p = 0; p < positions; p++)
        for (int32_t j = 0; j < size / 2; j++) {
            const float power = (float)same_pow((double)(float)theta, (double)((float)(2 * j) / (float)size));
            const double angle = (double)((float)p * (1 / power));
            const float pair[] = {(float)same_cos(angle), (float)same_sin(angle)};
            for (int32_t i = 0; i < 2; i++)
                if (ops->real_size == sizeof(double))
                    ((double *)host)[p * size + 2 * j + i] = (double)pair[i];
                else
                    ((float *)host)[p * size + 2 * j + i] = pair[i];
        }
    ops->unmap(ops->device, turns, host, bytes, MAP_FILL);
}

struct model *model_open(const struct model_config *config, const struct ops *ops, const struct model_budget *budget)
{
    struct model *model = mem_clear(1, sizeof *model);
    set_sizes(model, config, ops, budget);
    model->layers = mem_clear((size_t)config->layers, sizeof *model->layers);
    struct model_plan plan;
    plan_buffers(model, &plan, NULL);
    plan_buffers(model, &plan, ops->allocate(ops->device, plan.bytes));
    if (model->label_weights)
        ops_write(ops, model->label_weights, config->label_weights,
                  (size_t)config->labels * sizeof *model->label_weights);
    if (config->theta_global > 0) {
        fill_turns(model, model->turns[0], config->theta_local);
        fill_turns(model, model->turns[1], config->theta_global);
    }
    return model;
}

void model_close(struct model *model)
{
    if (!model)
        return;
    model->ops->release(model->ops->device, model->params); /* the first buffer: where the block begins */
    mem_free(model->layers);
    params_release(&model->table);
    mem_free(model);
}

const struct params *model_table(const struct model *model)
{
    return &model->table;
}

const struct model_config *model_config(const struct model *model)
{
    return &model->config;
}

const struct ops *model_ops(const struct model *model)
{
    return model->ops;
}

void *model_params(struct model *model)
{
    return model->params;
}

void *model_weights(struct model *model)
{
    return model->weights;
}

size_t model_params_count(const struct model *model)
{
    return has_vectors_alone(model) ? model->table.vector_size : model->table.size;
}

void *model_gradients(struct model *model)
{
    return model->gradients;
}

const void *model_hidden(const struct model *model)
{
    return model->layers[model->present - 1].out;
}

void model_refresh(struct model *model)
{
    if (model->weights != model->params && !has_vectors_alone(model)) /* otherwise the holder of the rest stores it */
        CALL(model->ops, convert, .y = model->weights, .x = model->params, .count = model->table.size);
}

static double dropout_share(const struct model_config *config, enum dropout_site site)
{
    const bool inside = architecture_of(config)->drops_inside;
    switch (site) {
    case SITE_EMBEDDING:
        return inside ? config->embedding_dropout : config->hidden_dropout;
    case SITE_PROBABILITIES:
        return config->attention_dropout;
    case SITE_ATTENTION:
        return config->hidden_dropout;
    case SITE_INNER:
        return inside ? config->inner_dropout : 0;
    case SITE_DOWN:
        return inside ? 0 : config->hidden_dropout;
    case SITE_HEAD:
        return inside ? config->head_dropout : config->hidden_dropout;
    }
    return 0;
}

struct dropout dropout_at(const struct model *model, int32_t layer, enum dropout_site site)
{
    /* Each place where a model drops something needs a number of its own (Law 4). None drops before W_down and after
     * it, and the head is in no layer. */
    static const uint32_t numbers[] = {
        [SITE_PROBABILITIES] = 1, [SITE_HEAD] = 1, [SITE_ATTENTION] = 2, [SITE_INNER] = 3, [SITE_DOWN] = 3};
    enum { SITES_A_LAYER = 3 };
    const uint32_t number = site == SITE_EMBEDDING ? 0 : numbers[site] + (uint32_t)layer * SITES_A_LAYER;
    const long threshold = lround(65536 * dropout_share(&model->config, site));
    return (struct dropout){
        .key = {model->step.seed, model->step.step},
        .threshold = model->training ? (uint32_t)(threshold < 65536 ? threshold : 65535) : 0,
        .name = number * (uint32_t)model->config.heads,
    };
}

/* Discards the sums of passes. */
static void forget(struct model *model)
{
    CALL(model->ops, clear, .memory = model->sums, .bytes = STEP_SUMS * sizeof *model->sums);
    model->counts = (struct model_metrics){0};
}

const double *model_sums(const struct model *model)
{
    return model->sums;
}

void model_metrics_add(struct model_metrics *metrics, const double sums[STEP_SUMS])
{
    for (int h = 0; h < HEAD_KINDS; h++) {
        metrics->heads[h].loss += sums[HEAD_SUMS * h];
        metrics->heads[h].hits += sums[HEAD_SUMS * h + 1];
    }
}

bool model_metrics_finite(const struct model_metrics *metrics)
{
    bool finite = true;
    for (int h = 0; h < HEAD_KINDS; h++)
        finite = finite && isfinite(metrics->heads[h].loss);
    return finite;
}

void model_metrics_sums(const struct model_metrics *metrics, double sums[STEP_SUMS])
{
    for (int h = 0; h < HEAD_KINDS; h++) {
        sums[HEAD_SUMS * h] = metrics->heads[h].loss;
        sums[HEAD_SUMS * h + 1] = metrics->heads[h].hits;
    }
}

/* Adds the sums to a caller's metrics: the only place where a pass waits for the device. Training does not come
 * here. */
static void take(struct model *model, struct model_metrics *metrics)
{
    double sums[STEP_SUMS];
    ops_read(model->ops, model->sums, sums, sizeof sums);
    model_metrics_add(metrics, sums);
    for (int h = 0; h < HEAD_KINDS; h++)
        metrics->heads[h].count += model->counts.heads[h].count;
    metrics->sequences += model->counts.sequences;
    metrics->tokens += model->counts.tokens;
    forget(model);
}

void model_begin_step(struct model *model, const struct step_settings *settings)
{
    assert(settings->loss_scale > 0);
    model->step = *settings;
    if (model->ops->begin_step)
        model->ops->begin_step(model->ops->device, settings->step);
    if (model->gradients)
        CALL(model->ops, clear, .memory = model->gradients, .bytes = model->table.size * model->ops->real_size);
    forget(model);
}

static void check_batch(const struct model *model, const struct batch *batch)
{
    assert(batch->sequences >= 1 && batch->sequences <= model->budget.sequences_max);
    assert(batch->tokens >= 1 && batch->tokens <= batch->token_rows);
    assert(batch->token_rows <= model->budget.token_rows_max);
    for (int h = 0; h < HEAD_KINDS; h++) {
        assert(batch->heads[h].live >= 0 && batch->heads[h].live <= batch->heads[h].total);
        assert(batch->heads[h].total <= model->budget.head_rows_max[h]);
    }
    assert(batch_read(batch) == batch || batch->read->token_rows <= read_rows_max(model));
    assert(batch->starts[0] == 0 && batch->starts[batch->sequences] == batch->tokens);
    for (int32_t i = 0; i < batch->sequences; i++) {
        const int32_t length = batch->starts[i + 1] - batch->starts[i];
        assert(length >= 1 && length <= model->budget.length_max);
    }
}

void report_final(struct model *model, size_t from)
{
    if (!model->listener || from >= model->final_from)
        return;
    model->listener->final(model->listener->context, from, model->final_from);
    model->final_from = from;
}

static void pass(struct model *model, const struct batch *batch, bool training,
                 const struct gradient_listener *listener, struct model_metrics *metrics)
{
    check_batch(model, batch);
    assert(!training || !model->budget.placed || (listener && listener->place));
    model->listener = listener;
    model->final_from = model->table.size;
    if (model->training && !training)
        forget(model);
    model->training = training;
    choose_layers(model);
    const struct batch *there = model->ops->upload(model->ops->device, batch);
    forward(model, there);
    if (training)
        CALL(model->ops, clear, .memory = output_gradient(model, there),
             .bytes = (size_t)batch_read(there)->token_rows * (size_t)model->config.hidden * model->ops->storage_size);
    for (enum head_kind h = 0; h < HEAD_KINDS; h++)
        if (model_has(&model->config, h) && batch->heads[h].live > 0)
            head_kinds[h]->pass(model, there);
    if (training) {
        report_final(model, params_heads(&model->table)->offset);
        backward(model, listener && listener->words ? listener->words(listener->context, there) : there);
    }
    for (int h = 0; h < HEAD_KINDS; h++)
        model->counts.heads[h].count += batch->heads[h].live;
    model->counts.sequences += batch->sequences;
    model->counts.tokens += batch->tokens;
    if (metrics)
        take(model, metrics);
}

void model_forward_backward(struct model *model, const struct batch *batch, const struct gradient_listener *listener,
                            struct model_metrics *metrics)
{
    for (int h = 0; h < HEAD_KINDS; h++)
        assert(model->step.counts[h] >= batch->heads[h].live);
    pass(model, batch, true, listener, metrics);
}

void model_evaluate(struct model *model, const struct batch *batch, struct model_metrics *metrics)
{
    pass(model, batch, false, NULL, metrics);
}

void *model_logits(const struct model *model, enum head_kind head)
{
    assert(!model->training && model_has(&model->config, head));
    return model->head_buffers[head][head_kinds[head]->logits];
}

double model_flops(const struct model_config *config, double length, const double marks[HEAD_KINDS])
{
    const double hidden = config->hidden, inner = config->intermediate, up = size_of(config, OF_UP);
    const double token = 2 * hidden * hidden;                       /* key and value */
    const double row = 2 * hidden * hidden + hidden * (up + inner); /* all else but scores and context */
    const double within = fmin(length, 2 * (config->window / 2) + 1);
    double read = 0, heads = 0, seen = 0; /* keys of a query, over all layers but the last; of the last */
    double last = 0;
    for (int32_t i = 0; i < config->layers; i++) {
        seen += last;
        last = model_layer_is_global(config, i) ? length : within;
    }
    for (enum head_kind h = 0; h < HEAD_KINDS; h++)
        if (model_has(config, h)) {
            const double rows = head_kinds[h]->reads == READS_ALL ? length : marks[h];
            heads += rows * head_kinds[h]->work(config);
            read += head_reads_all(h, config) ? length : rows;
        }
    if (read > length)
        read = length;
    const double layers = config->layers * length * token + ((config->layers - 1) * length + read) * row +
                          2 * hidden * (length * seen + read * last);
    return 3 * 2 * (layers + heads);
}

/* The model against itself: every gradient against finite differences in double; micro-batches, threads and neighbours
 * in the batch must not change results. Comparison with PyTorch is in test_golden.c. */
#include "tests/trainer/made.h"
#include "tests/unit.h"
#include "trainer/optim/optimizer.h"
#include "trainer/parallel/word_rows.h"

static const struct model_config small = {
    .layers = 2,
    .hidden = 32,
    .heads = 2,
    .intermediate = 48,
    .vocabulary = 61,
    .positions = 16,
    .types = 2,
    .gelu = GELU_TANH,
    .task_heads = 1u << HEAD_MASKED | 1u << HEAD_NEXT,
    .norm_epsilon = 1e-12,
    .initializer_range = 0.02,
    .hidden_dropout = 0.1,
    .attention_dropout = 0.2,
};

static const int32_t lengths[] = {16, 9, 1, 3, 16, 2, 12, 5, 7, 16, 4, 11, 6, 1, 13, 8};

static struct model *open_model_with(const struct model_config *config, const struct ops *ops,
                                     const struct batch *batch, int32_t recompute_every)
{
    struct model_budget budget = made_budget(batch);
    budget.recompute_every = recompute_every;
    struct model *model = model_open(config, ops, &budget);
    assert_non_null(model);
    return model;
}

static struct model *open_model(const struct model_config *config, const struct ops *ops, const struct batch *batch)
{
    return open_model_with(config, ops, batch, 0);
}

/* Sets parameters far from their initial values, so that every tensor has an effect; padding stays zero. */
static void fill_params(struct model *model, const struct ops *ops, float matrices, float vectors)
{
    const struct params *params = model_table(model);
    SCOPED(mem_free_at) float *flat = mem_clear(params->size, sizeof *flat);
    for (size_t i = 0; i < params->count; i++) {
        struct param param = params->items[i];
        const float base = param.init == INIT_ONE, scale = param.dimensions == 2 ? matrices : vectors;
        param.init = INIT_NORMAL;
        param.deviation = 1;
        params_draw(params, &param, 7, flat);
        for (size_t j = 0; j < param.count; j++)
            flat[param.offset + j] = base + scale * flat[param.offset + j];
    }
    for (size_t i = 0; i < params->size; i++)
        if (ops->precision == PRECISION_FP64)
            ((double *)model_params(model))[i] = flat[i];
        else
            ((float *)model_params(model))[i] = flat[i];
    model_refresh(model);
}

static double loss_of(struct model *model, const struct batch *batch)
{
    struct model_metrics metrics = {0};
    const struct step_settings settings = made_step(11, 5, batch, 1);
    model_begin_step(model, &settings);
    model_forward_backward(model, batch, NULL, &metrics);
    double loss = 0;
    for (enum head_kind h = 0; h < HEAD_KINDS; h++)
        loss += metrics.heads[h].count > 0 && model_has(model_config(model), h) ? made_mean(&metrics, h) : 0;
    return loss;
}

#ifdef __SANITIZE_ADDRESS__
#define ENTRIES 10 /* checked in each tensor; more would be slow under sanitizers */
#else
#define ENTRIES 50
#endif

/* Central differences: the truncation error is about 1e-11 times the third derivative, the rounding error 1e-10. */
static double slope_of(struct model *model, const struct batch *batch, double *value)
{
    const double at = *value, step = 1e-5;
    *value = at + step;
    const double up = loss_of(model, batch);
    *value = at - step;
    const double down = loss_of(model, batch);
    *value = at;
    return (up - down) / (2 * step);
}

/* The gradients of a dropped layer are zero, and so are its slopes. */
static void check_slopes(const struct model_config *config, size_t entries_max)
{
    SCOPED(ops_close_at) struct ops *ops = made_ops(PRECISION_FP64, CPU_BASE, 1);
    const struct made_source source = {3, config->vocabulary, 4};
    SCOPED(made_batch_release) struct batch batch = made_batch(&source, lengths, 0, 4);
    for (enum head_kind h = 0; h < HEAD_KINDS; h++)
        if (model_has(config, h) && batch.heads[h].live == 0)
            fail_msg("made_batch gives no labels to the head of %s", head_kinds[h]->class_end);
    for (int32_t i = 0; i < 4 && config->labels == 1; i++)
        memcpy(&batch.heads[HEAD_CLASS].labels[i], &(const float){2.5f * (float)i - 1}, sizeof(float));
    SCOPED(model_close_at) struct model *model = open_model(config, ops, &batch);
    const struct params *params = model_table(model);
    fill_params(model, ops, 0.25f, 0.1f);
    loss_of(model, &batch);
    double *gradients = mem_array(params->size, sizeof *gradients), *values = model_params(model);
    memcpy(gradients, model_gradients(model), params->size * sizeof *gradients);

    const struct random_stream stream = random_stream(1, RANDOM_FRESH, 1, 0, 0, 0, 0);
    double key_weight = 0, before = 0;
    size_t dropped = 0;
    for (size_t i = 0; i < params->count; i++) {
        const struct param *param = &params->items[i];
        const size_t entries = param->count < entries_max ? param->count : entries_max;
        double error = 0, size = 0;
        for (size_t j = 0; j < entries; j++) {
            const uint32_t draw = random_at(&stream, (uint32_t)i, (uint32_t)j);
            const size_t at =
                param->offset + (param->count < entries_max ? j : random_below(draw, (uint32_t)param->count));
            const double slope = slope_of(model, &batch, &values[at]);
            error += (slope - gradients[at]) * (slope - gradients[at]);
            size += gradients[at] * gradients[at];
        }
        /* A constant added to all keys shifts all scores of a query equally, so the true gradient of key.bias is 0. */
        if (strstr(param->name, "key.weight"))
            key_weight = size;
        if (strstr(param->name, "key.bias"))
            size = key_weight;
        /* A constant added to all rows shifts all scores of a span equally: the error is relative to the tensor before
         * it. */
        if (model_has(config, HEAD_SPAN) &&
            (strstr(param->name, "1.output.LayerNorm.bias") || strstr(param->name, "transform.LayerNorm.bias") ||
             strstr(param->name, "outputs.bias") || strstr(param->name, "classifier.bias")))
            size = before;
        before = size;
        if (size == 0 && error == 0)
            dropped++;
        else if (!(size > 0) || !(sqrt(error / size) < 1e-6))
            fail_msg("%s: relative error %g, size %g", param->name, sqrt(error / size), sqrt(size));
    }
    assert_true(dropped % LAYER_PARAMS == 0 && (dropped > 0) == (config->layer_drop.theta > 0));
    mem_free(gradients);
}

/* A model of that architecture. With `drops` steps from 5 on drop some layers, where norms are before the branches. */
static struct model_config config_of(enum architecture_kind kind, int32_t layers, bool drops)
{
    struct model_config config = small;
    config.architecture = kind;
    config.layers = layers;
    config.own_decoder = true;
    if (architecture_of(&config)->drops_inside) {
        config.embedding_dropout = 0.15;
        config.inner_dropout = 0.05;
        config.head_dropout = 0.3;
    }
    if (drops)
        config.layer_drop = (struct layer_drop){.theta = 0.2, .gamma = 1};
    return config;
}

TEST(gradients_are_slopes_in_every_architecture)
{
    for (enum architecture_kind kind = 0; kind < ARCHITECTURE_KINDS; kind++) {
        const struct model_config config = config_of(kind, 2, false);
        check_slopes(&config, ENTRIES / 3);
    }
}

TEST(gradients_are_slopes_with_layers_dropped)
{
    const struct model_config config = config_of(ARCHITECTURE_PRE, 3, true);
    check_slopes(&config, ENTRIES / 3);
}

/* Every head of fine-tuned models, of models with a pooler and of those that transform; also with weights of labels,
 * with labels of which several are right, with the mean of a text's rows, and with one label where that is a number. */
TEST(gradients_of_heads_are_slopes)
{
    for (enum head_kind h = 0; h < 2 * HEAD_KINDS; h++) {
        const struct head *head = head_kinds[h % HEAD_KINDS];
        struct model_config config = h < HEAD_KINDS ? small : config_of(ARCHITECTURE_MODERN, 2, false);
        if (!head->tuned)
            continue;
        config.task_heads = 1u << h % HEAD_KINDS;
        config.labels = MADE_LABELS;
        check_slopes(&config, ENTRIES / 3);
        if (h % HEAD_KINDS == HEAD_CLASS) {
            struct model_config other = config;
            float weights[MADE_LABELS];
            for (int i = 0; i < MADE_LABELS; i++)
                weights[i] = 0.5f + (float)i;
            other.label_weights = weights;
            check_slopes(&other, ENTRIES / 3);
            other.several = true;
            check_slopes(&other, ENTRIES / 3);
            other.pools_mean = true;
            check_slopes(&other, ENTRIES / 3);
        }
        config.labels = 1;
        if (head->problem && strcmp(head->problem(&config), "regression") == 0)
            check_slopes(&config, ENTRIES / 3);
    }
}

/* Losses, hits and gradients (as doubles) of a training pass over sequences 0 to 15. */
static double *all_of_a_pass(const struct model_config *config, int32_t recompute_every, bool few, size_t *size)
{
    SCOPED(ops_close_at) struct ops *ops = made_ops(PRECISION_FP64, CPU_BASE, 1);
    const struct made_source source = {3, config->vocabulary, 4};
    SCOPED(made_batch_release) struct batch batch = made_batch(&source, lengths, 0, 16);
    if (!model_has(config, HEAD_NEXT))
        batch.heads[HEAD_NEXT].live = batch.heads[HEAD_NEXT].total = 0; /* then a sequence of one token has no row */
    SCOPED(model_close_at) struct model *model = open_model_with(config, ops, &batch, recompute_every);
    if (few)
        made_read(&batch);
    fill_params(model, ops, 0.1f, 0.1f);
    struct model_metrics metrics = {0}, evaluated = {0};
    const struct step_settings settings = made_step(9, 7, &batch, 1);
    model_begin_step(model, &settings);
    model_forward_backward(model, &batch, NULL, &metrics);
    const size_t count = model_table(model)->size;
    double *all = mem_array(count + 2 * STEP_SUMS, sizeof *all);
    memcpy(all, model_gradients(model), count * sizeof *all);
    model_evaluate(model, &batch, &evaluated);
    model_metrics_sums(&metrics, all + count);
    model_metrics_sums(&evaluated, all + count + STEP_SUMS);
    *size = count + 2 * STEP_SUMS;
    return all;
}

/* The last layer gives the same whether it is computed for all rows or only for those that heads read. */
TEST(the_last_layer_is_computed_where_it_is_read)
{
    for (enum architecture_kind kind = 0; kind < ARCHITECTURE_KINDS; kind++)
        for (int32_t layers = 1; layers <= 3; layers++)
            for (int form = 0; form < 4; form++) {
                const bool drops = form == 1 && architectures[kind]->norms.pre_norm && layers == 3;
                struct model_config config = config_of(kind, layers, drops);
                if (form == 2)
                    config.task_heads = 1u << HEAD_MASKED;
                size_t size;
                double *whole = all_of_a_pass(&config, form == 3, false, &size), error = 0, sum = 0;
                SCOPED(mem_free_at) double *few = all_of_a_pass(&config, form == 3, true, &size);
                for (size_t i = 0; i < size; i++) {
                    error += (few[i] - whole[i]) * (few[i] - whole[i]);
                    sum += whole[i] * whole[i];
                }
                assert_true(sum > 0 && sqrt(error / sum) < 1e-13);
                mem_free(whole);
            }
}

/* Gradients of sequences 0 to 15 as one batch, or in micro-batches of `size`. */
static float *gradients_in_parts(const struct ops *ops, const struct model_config *config, int32_t size,
                                 struct model_metrics *metrics)
{
    const struct made_source source = {3, config->vocabulary, 4};
    SCOPED(made_batch_release) struct batch whole = made_batch(&source, lengths, 0, 16);
    SCOPED(model_close_at) struct model *model = open_model(config, ops, &whole);
    fill_params(model, ops, 0.05f, 0.02f);
    const struct step_settings settings = made_step(9, 3, &whole, 1);
    model_begin_step(model, &settings);
    for (int32_t first = 0; first < 16; first += size) {
        SCOPED(made_batch_release) struct batch batch = made_batch(&source, lengths + first, first, size);
        model_forward_backward(model, &batch, NULL, metrics);
    }
    float *gradients = mem_array(model_table(model)->size, sizeof *gradients);
    memcpy(gradients, model_gradients(model), model_table(model)->size * sizeof *gradients);
    return gradients;
}

static double difference(const float *a, const float *b, size_t count)
{
    double error = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        error += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        size += (double)b[i] * (double)b[i];
    }
    return sqrt(error / size);
}

/* Copies each range of gradients when it is reported as final. */
struct finals {
    const float *gradients;
    float *copy;    /* [size] */
    size_t down_to; /* start of the previous range */
    size_t ranges;
    bool follows; /* each range ended at down_to */
};

static void copy_final(void *context, size_t from, size_t to)
{
    struct finals *finals = context;
    finals->follows = finals->follows && to == finals->down_to && from < to;
    memcpy(finals->copy + from, finals->gradients + from, (to - from) * sizeof *finals->copy);
    finals->down_to = from;
    finals->ranges++;
}

/* Memory for gradients outside the model, which may be written only until it is final. */
struct placed {
    float *gradients;  /* [size] */
    size_t final_from; /* in this pass */
};

static void *place(void *context, size_t element)
{
    struct placed *placed = context;
    assert_true(element < placed->final_from);
    return placed->gradients + element;
}

static void note_final(void *context, size_t from, size_t to)
{
    struct placed *placed = context;
    assert_true(to == placed->final_from && from < to);
    placed->final_from = from;
}

/* Two passes write the same gradients to the memory that the listener provides. */
static void check_placed(const struct model_config *config, const struct batch *batch, int32_t recompute_every,
                         const struct step_settings *settings, const float *wanted)
{
    SCOPED(ops_close_at) struct ops *ops = made_ops(PRECISION_FP32, cpu_level(), 1);
    struct model_budget budget = made_budget(batch);
    budget.recompute_every = recompute_every;
    budget.placed = true;
    SCOPED(model_close_at) struct model *model = model_open(config, ops, &budget);
    const size_t size = model_table(model)->size;
    struct placed placed = {mem_aligned(size * sizeof *placed.gradients), size};
    const struct gradient_listener listener = {.final = note_final, .context = &placed, .place = place};
    memset(placed.gradients, 0, size * sizeof *placed.gradients);
    fill_params(model, ops, 0.05f, 0.02f);
    model_begin_step(model, settings);
    assert_null(model_gradients(model));
    for (int pass = 0; pass < 2; pass++) {
        placed.final_from = size;
        model_forward_backward(model, batch, &listener, NULL);
        assert_true(placed.final_from == 0);
    }
    assert_memory_equal(placed.gradients, wanted, size * sizeof *wanted);
    mem_free(placed.gradients);
}

/* Gradients that a pass reports as final do not change afterwards, and in the end all are final. */
static void check_finals(const struct model_config *config, const struct batch *batch, int32_t recompute_every,
                         size_t ranges)
{
    SCOPED(ops_close_at) struct ops *ops = made_ops(PRECISION_FP32, cpu_level(), 1);
    SCOPED(model_close_at) struct model *model = open_model_with(config, ops, batch, recompute_every);
    const size_t size = model_table(model)->size;
    fill_params(model, ops, 0.05f, 0.02f);
    for (uint32_t step = 1; step <= 9; step++) { /* some of which drop layers */
        struct finals finals = {model_gradients(model), mem_clear(size, sizeof(float)), size, 0, true};
        const struct gradient_listener listener = {.final = copy_final, .context = &finals};
        struct model_metrics metrics = {0};
        const struct step_settings settings = made_step(9, step, batch, 2);
        model_begin_step(model, &settings);
        model_forward_backward(model, batch, NULL, &metrics);
        assert_int_equal(finals.ranges, 0);
        model_forward_backward(model, batch, &listener, &metrics);
        assert_true(finals.follows && finals.down_to == 0);
        assert_true(config->layer_drop.theta > 0 ? finals.ranges <= ranges : finals.ranges == ranges);
        assert_memory_equal(finals.copy, model_gradients(model), size * sizeof(float));
        check_placed(config, batch, recompute_every, &settings, model_gradients(model));
        mem_free(finals.copy);
        finals.ranges = 0;
        model_evaluate(model, batch, &metrics);
        assert_int_equal(finals.ranges, 0);
    }
}

TEST(gradients_that_are_final_do_not_change)
{
    const struct made_source source = {3, small.vocabulary, 4};
    struct batch batch = made_batch(&source, lengths, 0, 16), bare = batch;
    bare.heads[HEAD_MASKED].live = bare.heads[HEAD_MASKED].total = 0;
    for (enum architecture_kind kind = 0; kind < ARCHITECTURE_KINDS; kind++) {
        const struct model_config config = config_of(kind, 3, false);
        /* heads, three parts of three layers, embeddings; or heads, last norm, the feed-forward part of each layer with
         * the attention of the one after it, and the first attention with the embeddings */
        const size_t ranges = architectures[kind]->norms.pre_norm ? 8 : 11;
        check_finals(&config, &batch, 0, ranges);
        check_finals(&config, &batch, 1, ranges);
        check_finals(&config, &bare, 0, ranges);
    }
    const struct model_config drops = config_of(ARCHITECTURE_PRE, 3, true);
    check_finals(&drops, &batch, 0, 8);
    made_batch_release(&batch);
}

/* Word rows reported after the heads are done. */
struct early {
    struct word_rows *rows;
    const float *gradients;
    float *copy;  /* [final] */
    size_t final; /* final elements from the start of the table */
    uint32_t calls;
};

static void ignore_final(void *context, size_t from, size_t to)
{
    (void)context, (void)from, (void)to;
}

static const struct batch *copy_words(void *context, const struct batch *batch)
{
    struct early *early = context;
    word_rows_tell(early->rows, batch);
    early->final = word_rows_move(early->rows);
    memcpy(early->copy, early->gradients, early->final * sizeof *early->copy);
    early->calls++;
    return word_rows_batch(early->rows, batch);
}

/* Rows of words that are not in the input are final after the heads; moving the other rows changes no bit. */
TEST(words_that_no_input_names_are_final_early)
{
    const struct made_source source = {3, small.vocabulary, 4};
    SCOPED(made_batch_release) struct batch batch = made_batch(&source, lengths, 0, 3);
    SCOPED(ops_close_at) struct ops *ops = made_ops(PRECISION_FP32, cpu_level(), 1);
    SCOPED(model_close_at) struct model *model = open_model(&small, ops, &batch);
    const size_t size = model_table(model)->size;
    float *gradients = model_gradients(model), *usual = mem_array(size, sizeof *usual);
    fill_params(model, ops, 0.05f, 0.02f);
    struct early early = {word_rows_open(model_table(model), gradients, 0, 1), gradients,
                          mem_clear(size, sizeof(float)), 0, 0};
    const struct gradient_listener listener = {.final = ignore_final, .words = copy_words, .context = &early};
    for (int pass = 0; pass < 2; pass++) {
        const struct step_settings settings = made_step(9, 4, &batch, 1);
        model_begin_step(model, &settings);
        model_forward_backward(model, &batch, pass ? &listener : NULL, NULL);
        if (pass == 0)
            memcpy(usual, gradients, size * sizeof *usual);
    }
    assert_int_equal(early.calls, 1);
    assert_in_range(early.final, (size_t)small.hidden, 55 * (size_t)small.hidden); /* some words are in the batch, not
                                                                                    * all */
    assert_memory_equal(early.copy, gradients, early.final * sizeof *early.copy);
    assert_true(memcmp(usual, gradients, size * sizeof *usual) != 0);
    word_rows_back(early.rows);
    assert_memory_equal(usual, gradients, size * sizeof *usual);
    word_rows_close(early.rows);
    mem_free(early.copy);
    mem_free(usual);
}

TEST(micro_batches_change_only_rounding)
{
    const struct model_config configs[] = {small, config_of(ARCHITECTURE_PRE, 4, true),
                                           config_of(ARCHITECTURE_LARGE, 2, false)};
    const double limits[] = {2e-6, 1e-2};
    for (size_t i = 0; i < 2 * sizeof configs / sizeof *configs; i++) {
        const struct model_config *config = &configs[i / 2];
        const double limit = limits[i % 2];
        SCOPED(ops_close_at) struct ops *ops = made_ops(i % 2 ? PRECISION_BF16 : PRECISION_FP32, cpu_level(), 2);
        struct params params;
        struct model_metrics one = {0};
        params_init(&params, config);
        SCOPED(mem_free_at) float *whole = gradients_in_parts(ops, config, 16, &one);
        for (int32_t size = 1; size <= 4; size *= 4) {
            struct model_metrics parts = {0};
            SCOPED(mem_free_at) float *sum = gradients_in_parts(ops, config, size, &parts);
            assert_true(difference(sum, whole, params.size) < limit);
            assert_true(difference(sum, whole, params.size) > 0); /* otherwise the computation would be the same */
            assert_int_equal(one.heads[HEAD_MASKED].count, parts.heads[HEAD_MASKED].count);
            assert_int_equal(one.tokens, parts.tokens);
            assert_true(fabs(one.heads[HEAD_MASKED].loss - parts.heads[HEAD_MASKED].loss) <
                        limit * one.heads[HEAD_MASKED].loss);
        }
        params_release(&params);
    }
}

/* Gradients of three micro-batches of a step. */
static float *gradients_recomputed(enum precision precision, unsigned threads, const struct model_config *config,
                                   int32_t recompute_every, size_t *size)
{
    SCOPED(ops_close_at) struct ops *ops = made_ops(precision, cpu_level(), threads);
    const struct made_source source = {3, config->vocabulary, 4};
    SCOPED(made_batch_release) struct batch whole = made_batch(&source, lengths, 0, 12);
    SCOPED(model_close_at) struct model *model = open_model_with(config, ops, &whole, recompute_every);
    struct model_metrics metrics = {0};
    fill_params(model, ops, 0.1f, 0.05f);
    const struct step_settings settings = made_step(11, 5, &whole, 1);
    model_begin_step(model, &settings);
    for (int32_t first = 0; first < 12; first += 4) {
        SCOPED(made_batch_release) struct batch batch = made_batch(&source, lengths + first, first, 4);
        model_forward_backward(model, &batch, NULL, &metrics);
    }
    *size = model_table(model)->size;
    float *gradients = mem_array(*size, sizeof *gradients);
    memcpy(gradients, model_gradients(model), *size * sizeof *gradients);
    return gradients;
}

TEST(recomputation_and_threads_change_no_bit)
{
    const struct model_config configs[] = {
        config_of(ARCHITECTURE_BERT, 5, false), config_of(ARCHITECTURE_PRE, 5, false),
        config_of(ARCHITECTURE_LARGE, 5, false), config_of(ARCHITECTURE_PRE, 5, true)};
    for (size_t i = 0; i < 2 * sizeof configs / sizeof *configs; i++) {
        const struct model_config *config = &configs[i / 2];
        const enum precision precision = i % 2 ? PRECISION_BF16 : PRECISION_FP32;
        size_t size, again;
        SCOPED(mem_free_at) float *kept = gradients_recomputed(precision, 1, config, 0, &size);
        for (int32_t every = 1; every <= 5; every++) {
            SCOPED(mem_free_at)
            float *gradients = gradients_recomputed(precision, 1 + (unsigned)every % 3, config, every, &again);
            assert_true(size == again);
            assert_memory_equal(kept, gradients, size * sizeof *kept);
        }
    }
}

/* With theta 1 no layer is dropped and no branch is divided, so a step equals that of a model without layer drop. An
 * evaluation uses all layers undivided. */
TEST(layers_that_never_drop_change_nothing)
{
    struct model_config plain = config_of(ARCHITECTURE_PRE, 3, false), kept = plain,
                        drops = config_of(ARCHITECTURE_PRE, 3, true);
    kept.layer_drop = (struct layer_drop){.theta = 1, .gamma = 1};
    size_t size;
    SCOPED(mem_free_at) float *a = gradients_recomputed(PRECISION_FP32, 1, &plain, 0, &size);
    SCOPED(mem_free_at) float *b = gradients_recomputed(PRECISION_FP32, 1, &kept, 0, &size);
    assert_memory_equal(a, b, size * sizeof *a);

    SCOPED(ops_close_at) struct ops *ops = made_ops(PRECISION_FP32, cpu_level(), 1);
    const struct made_source source = {3, plain.vocabulary, 4};
    SCOPED(made_batch_release) struct batch batch = made_batch(&source, lengths, 0, 5);
    double losses[2];
    for (int i = 0; i < 2; i++) {
        SCOPED(model_close_at) struct model *model = open_model(i ? &drops : &plain, ops, &batch);
        struct model_metrics metrics = {0};
        fill_params(model, ops, 0.1f, 0.1f);
        loss_of(model, &batch);
        model_evaluate(model, &batch, &metrics);
        losses[i] = metrics.heads[HEAD_MASKED].loss;
    }
    assert_true(losses[0] == losses[1]);
}

/* Numbers of DeepSpeed's formula; its code counts from the second step on. */
TEST(theta_falls_as_published)
{
    const struct layer_drop ours = {0.5, 0.001, false}, theirs = {0.5, 0.001, true};
    const struct {
        uint32_t t;
        double theta;
    } cases[] = {{0, 1},
                 {1, 0.9995002499},
                 {100, 0.9524187090},
                 {1000, 0.6839397206},
                 {5000, 0.5033689735},
                 {10000, 0.5000227000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(fabs(layer_drop_theta(&ours, cases[i].t + 1) - cases[i].theta) < 1e-10);
        assert_true(fabs(layer_drop_theta(&theirs, cases[i].t + 2) - cases[i].theta) < 1e-10);
    }
    assert_true(layer_drop_theta(&theirs, 1) == 1);
}

/* Runs three steps with updates and returns the parameters. */
static float *parameters_after_steps(enum precision precision, unsigned threads, size_t *size)
{
    struct model_config config;
    assert_int_equal(model_config_named("tiny", &config), 0);
    config.vocabulary = 1001;
    config.layers = 1;
    const int32_t mixed[] = {128, 77, 1, 128, 33, 128, 90, 128, 17, 64};
    SCOPED(ops_close_at) struct ops *ops = made_ops(precision, cpu_level(), threads);
    const struct made_source source = {3, config.vocabulary, 7};
    SCOPED(made_batch_release) struct batch batch = made_batch(&source, mixed, 0, 10);
    SCOPED(model_close_at) struct model *model = open_model(&config, ops, &batch);
    const struct params *params = model_table(model);
    params_draw_all(params, 1, model_params(model));
    model_refresh(model);
    const struct update_memory memory = {.params = model_params(model),
                                         .first = mem_aligned(params->size * 4),
                                         .second = mem_aligned(params->size * 4),
                                         .gradients = model_gradients(model)};
    struct update_work work;
    optimizer_work_init(&work, OPTIMIZER_ADAM, ops, params);
    for (uint32_t step = 0; step < 3; step++) {
        struct model_metrics metrics = {0};
        const struct step_settings settings = made_step(1, step, &batch, 1);
        model_begin_step(model, &settings);
        model_forward_backward(model, &batch, NULL, &metrics);
        optimizer_update(&optimizer_type("Adam")->optimizer, ops, &memory, &work,
                         &(struct update){step + 1, 1e-3, 1, 1, true, model_sums(model)});
        assert_true(work.record->norm > 0 && !work.record->skipped);
        model_refresh(model);
    }
    *size = params->size;
    float *result = mem_array(params->size, sizeof *result);
    memcpy(result, memory.params, params->size * sizeof *result);
    /* Padding is unchanged. */
    const struct param *word = &params->items[PARAM_WORD];
    for (size_t i = word->offset + word->count; i < params->items[PARAM_POSITION].offset; i++)
        assert_true(result[i] == 0 && ((const float *)memory.gradients)[i] == 0);
    mem_free(memory.first);
    mem_free(memory.second);
    optimizer_work_release(&work, ops);
    return result;
}

TEST(bits_do_not_depend_on_threads)
{
    const enum precision precisions[] = {PRECISION_FP32, PRECISION_BF16};
    for (int i = 0; i < 2; i++) {
        size_t size;
        SCOPED(mem_free_at) float *one = parameters_after_steps(precisions[i], 1, &size);
        for (unsigned threads = 2; threads <= 33; threads += 31) { /* many threads divide some sums differently */
            SCOPED(mem_free_at) float *several = parameters_after_steps(precisions[i], threads, &size);
            assert_memory_equal(one, several, size * sizeof *one);
        }
    }
}

TEST(first_loss_is_that_of_guessing)
{
    struct model_config config;
    assert_int_equal(model_config_named("tiny", &config), 0);
    const int32_t full[] = {64, 64, 64, 64};
    SCOPED(ops_close_at) struct ops *ops = made_ops(cpu_default_precision(cpu_level()), cpu_level(), 2);
    const struct made_source source = {3, config.vocabulary, 4};
    SCOPED(made_batch_release) struct batch batch = made_batch(&source, full, 0, 4);
    SCOPED(model_close_at) struct model *model = open_model(&config, ops, &batch);
    params_draw_all(model_table(model), 42, model_params(model));
    model_refresh(model);
    struct model_metrics metrics = {0};
    model_evaluate(model, &batch, &metrics);
    assert_true(fabs(made_mean(&metrics, HEAD_MASKED) - log(30522)) < 0.15);
    assert_true(fabs(made_mean(&metrics, HEAD_NEXT) - log(2)) < 0.15);
}

/* The dropout that the ops of a pass were given, in order. */
static struct {
    const struct ops *ops;
    struct dropout seen[16];
    bool of_attention[16], by_dropout[17];
    size_t count;
} spied;

static void note(const struct dropout *dropout, bool of_attention)
{
    if (!dropout || dropout->threshold == 0)
        return;
    assert_in_range(spied.count, 0, 15);
    spied.of_attention[spied.count] = of_attention;
    spied.seen[spied.count++] = *dropout;
}

static void spy_norm(struct device *device, const struct norm_args *args)
{
    note(args->dropout, false);
    spied.ops->norm(device, args);
}

static void spy_attention(struct device *device, const struct attention_args *args)
{
    note(&args->shape->dropout, true);
    spied.ops->attention(device, args);
}

static void spy_dropout(struct device *device, const struct dropout_args *args)
{
    bool again = false; /* the backward pass uses the same op with the same name */
    for (size_t i = 0; i < spied.count; i++)
        again |= spied.by_dropout[i] && spied.seen[i].name == args->dropout->name;
    if (!again && args->dropout->threshold > 0) {
        spied.by_dropout[spied.count] = true;
        note(args->dropout, false);
    }
    spied.ops->dropout(device, args);
}

/* Dropout masks are drawn from seed, step and the name of a place in the model. No two places of a pass share a name,
 * and each has its own probability: `counts` says how many places have that of `shares`. */
static void check_places(const struct model_config *config, const double *shares, const size_t *counts, size_t count)
{
    SCOPED(ops_close_at) struct ops *ops = made_ops(PRECISION_FP32, cpu_level(), 1);
    struct ops spying = *ops;
    memset(&spied, 0, sizeof spied);
    spied.ops = ops;
    spying.norm = spy_norm;
    spying.attention = spy_attention;
    spying.dropout = spy_dropout;
    const struct made_source source = {3, config->vocabulary, 4};
    SCOPED(made_batch_release) struct batch batch = made_batch(&source, lengths, 0, 5);
    SCOPED(model_close_at) struct model *model = open_model(config, &spying, &batch);
    fill_params(model, ops, 0.1f, 0.1f);
    loss_of(model, &batch); /* the backward pass has the same */
    size_t attentions = 0, all = 0;
    for (size_t i = 0; i < spied.count; i++) {
        const struct dropout *dropout = &spied.seen[i];
        const uint32_t names = (uint32_t)config->heads; /* attention adds the head's number to the name */
        attentions += spied.of_attention[i];
        assert_int_equal(spied.of_attention[i], dropout->threshold == lround(65536 * config->attention_dropout));
        assert_true(dropout->key[0] == 11 && dropout->key[1] == 5);
        for (size_t k = 0; k < i; k++)
            assert_true(spied.seen[k].name + names <= dropout->name || dropout->name + names <= spied.seen[k].name);
    }
    for (size_t i = 0; i < count; i++) {
        size_t found = 0;
        for (size_t k = 0; k < spied.count; k++)
            found += spied.seen[k].threshold == lround(65536 * shares[i]);
        assert_int_equal(found, counts[i]);
        all += found;
    }
    assert_int_equal(attentions, config->layers);
    assert_int_equal(spied.count, all);

    struct model_metrics metrics = {0};
    spied.count = 0;
    model_evaluate(model, &batch, &metrics);
    assert_int_equal(spied.count, 0);
}

TEST(each_place_has_its_own_dropout)
{
    const size_t layers = (size_t)small.layers;
    /* Embedding, and two a layer beside the probabilities; with a class, what the pooler gives. */
    struct model_config config = small;
    check_places(&config, (double[]){0.1, 0.2}, (size_t[]){1 + 2 * layers, layers}, 2);
    config.task_heads = 1u << HEAD_CLASS;
    config.labels = MADE_LABELS;
    check_places(&config, (double[]){0.1, 0.2}, (size_t[]){2 + 2 * layers, layers}, 2);
    config = config_of(ARCHITECTURE_MODERN, 2, false);
    config.labels = MADE_LABELS;
    const double shares[] = {config.embedding_dropout, config.attention_dropout, config.hidden_dropout,
                             config.inner_dropout, config.head_dropout};
    for (enum head_kind h = 0; h < HEAD_KINDS; h++) {
        config.task_heads = 1u << h;
        if (head_kinds[h]->tuned)
            check_places(&config, shares, (size_t[]){1, 2, 2, 2, 1}, 5);
    }
}

TEST(evaluation_leaves_gradients_and_is_training_without_dropout)
{
    SCOPED(ops_close_at) struct ops *ops = made_ops(PRECISION_FP32, cpu_level(), 2);
    const struct made_source source = {3, small.vocabulary, 4};
    SCOPED(made_batch_release) struct batch batch = made_batch(&source, lengths, 0, 5);
    struct model_config without = small;
    without.hidden_dropout = without.attention_dropout = 0;
    SCOPED(model_close_at)
    struct model *model = open_model(&small, ops, &batch), *other = open_model(&without, ops, &batch);
    fill_params(model, ops, 0.1f, 0.1f);
    fill_params(other, ops, 0.1f, 0.1f);
    const double still = loss_of(other, &batch), dropped = loss_of(model, &batch);
    const size_t bytes = model_table(model)->size * sizeof(float);
    SCOPED(mem_free_at) float *before = mem_array(1, bytes);
    memcpy(before, model_gradients(model), bytes);
    struct model_metrics metrics = {0};
    model_evaluate(model, &batch, &metrics);
    assert_memory_equal(before, model_gradients(model), bytes);
    const double evaluated = made_mean(&metrics, HEAD_MASKED) + made_mean(&metrics, HEAD_NEXT);
    assert_true(evaluated == still);
    assert_true(fabs(dropped - still) > 1e-4);
}

TEST(a_batch_without_masked_tokens_trains_the_next_head_alone)
{
    SCOPED(ops_close_at) struct ops *ops = made_ops(PRECISION_FP32, cpu_level(), 1);
    const struct made_source source = {3, small.vocabulary, 0};
    SCOPED(made_batch_release) struct batch batch = made_batch(&source, lengths, 0, 3);
    assert_int_equal(batch.heads[HEAD_MASKED].total, 0);
    SCOPED(model_close_at) struct model *model = open_model(&small, ops, &batch);
    fill_params(model, ops, 0.1f, 0.1f);
    struct model_metrics metrics = {0};
    const struct step_settings settings = made_step(1, 1, &batch, 1);
    model_begin_step(model, &settings);
    model_forward_backward(model, &batch, NULL, &metrics);
    assert_true(metrics.heads[HEAD_MASKED].loss == 0 && metrics.heads[HEAD_MASKED].count == 0 &&
                metrics.heads[HEAD_NEXT].loss > 0);
    const float *gradients = model_gradients(model);
    const struct params *params = model_table(model);
    assert_true(gradients[params_find(params, "cls.predictions.transform.dense.weight")->offset] == 0);
    assert_true(gradients[params_find(params, "bert.pooler.dense.weight")->offset] != 0);
    assert_true(gradients[params_layer(params, 0, LAYER_UP_WEIGHT)->offset] != 0);
}

/* The rows of a sequence are the same as without other sequences and dead rows. */
TEST(sequences_do_not_see_each_other)
{
    SCOPED(ops_close_at) struct ops *ops = made_ops(PRECISION_FP32, cpu_level(), 2);
    const struct made_source source = {3, small.vocabulary, 4};
    SCOPED(made_batch_release)
    struct batch all = made_batch(&source, lengths, 0, 6), alone = made_batch(&source, lengths + 4, 4, 1);
    SCOPED(model_close_at) struct model *model = open_model(&small, ops, &all);
    fill_params(model, ops, 0.1f, 0.1f);
    struct model_metrics metrics = {0};
    model_evaluate(model, &all, &metrics);
    const size_t hidden = (size_t)small.hidden, rows = (size_t)lengths[4];
    SCOPED(mem_free_at) float *kept = mem_array(rows * hidden, sizeof *kept);
    memcpy(kept, (const float *)model_hidden(model) + (size_t)all.starts[4] * hidden, rows * hidden * sizeof *kept);
    const float *out = model_hidden(model);
    for (size_t i = (size_t)all.tokens * hidden; i < (size_t)all.token_rows * hidden; i++)
        assert_true(out[i] == 0);
    model_evaluate(model, &alone, &metrics);
    assert_true(difference(model_hidden(model), kept, rows * hidden) < 1e-6);
}

TEST(the_loss_scale_scales_gradients)
{
    SCOPED(ops_close_at) struct ops *ops = made_ops(PRECISION_FP32, cpu_level(), 1);
    const struct made_source source = {3, small.vocabulary, 4};
    SCOPED(made_batch_release) struct batch batch = made_batch(&source, lengths, 0, 5);
    SCOPED(model_close_at) struct model *model = open_model(&small, ops, &batch);
    fill_params(model, ops, 0.1f, 0.1f);
    loss_of(model, &batch);
    const size_t size = model_table(model)->size;
    SCOPED(mem_free_at) float *plain = mem_array(size, sizeof *plain);
    memcpy(plain, model_gradients(model), size * sizeof *plain);
    struct model_metrics metrics = {0};
    struct step_settings settings = made_step(11, 5, &batch, 1);
    settings.loss_scale = 1024;
    model_begin_step(model, &settings);
    model_forward_backward(model, &batch, NULL, &metrics);
    for (size_t i = 0; i < size; i++)
        plain[i] *= 1024;
    assert_true(difference(model_gradients(model), plain, size) < 1e-6);
}

TEST(the_plan_counts_every_byte)
{
    struct model_config config;
    assert_int_equal(model_config_named("base", &config), 0);
    SCOPED(ops_close_at) struct ops *ops = made_ops(PRECISION_BF16, cpu_level(), 2);
    struct model_budget budget = {
        .token_rows_max = 4096,
        .head_rows_max = {[HEAD_MASKED] = 640, [HEAD_NEXT] = 32},
        .sequences_max = 32,
        .length_max = 128,
    };
    struct model_plan plan;
    model_plan(&config, ops, &budget, &plan);
    uint64_t sum = 0;
    for (size_t i = 0; i < plan.count; i++) {
        assert_true(plan.rows[i].bytes > 0);
        sum += plan.rows[i].bytes;
    }
    assert_true(sum == plan.bytes);
    assert_string_equal(plan.rows[0].name, "params");
    assert_true(plan.rows[0].bytes / 4 >= 110106428 && plan.rows[0].bytes / 4 < 110200000);
    assert_true(plan.bytes > 2000000000 && plan.bytes < 3000000000);
    /* The forward pass of one sequence of 128 tokens in the base model takes 2 * 85 M * 128 operations plus attention,
     * minus 2 * 5.9 M for each of 107 rows that the last layer skips. */
    assert_true(fabs(model_flops(&config, 128, (const double[HEAD_KINDS]){20, 1}) / 6.60e10 - 1) < 0.02);

    /* Of twelve layers, three keep their activations; of the others every third keeps its output. */
    struct model_plan less;
    budget.recompute_every = 3;
    model_plan(&config, ops, &budget, &less);
    uint64_t layers[2] = {0, 0}, output = 0;
    for (size_t i = 0; i < plan.count; i++)
        if (strncmp(plan.rows[i].name, "layer.", 6) == 0) {
            layers[0] += plan.rows[i].bytes;
            layers[1] += less.rows[i].bytes;
            if (strcmp(plan.rows[i].name, "layer.out") == 0)
                output = plan.rows[i].bytes / 12;
        }
    assert_true(layers[1] == layers[0] / 4 + 3 * output && plan.bytes - less.bytes == layers[0] - layers[1]);
}

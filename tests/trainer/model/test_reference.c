/* reference/step.c against transformers, and models against reference/step.c.
 *
 * tests/golden/modern.json has losses and gradients of transformers' ModernBertForMaskedLM (version in the file), where
 * angles, rotations, softmax and loss were computed in double too. Weights, inputs and the probe vectors are made here
 * by the same formulas, whose numbers are exact in float. A gradient is given by its norm, its sum and its product with
 * a probe vector; a norm alone would miss elements that changed places. loss_error, gradient_error and the
 * fourth number of a gradient are what torch loses in float32. scripts/golden_modern.py writes the file and says how
 * these are measured. */
#include "base/json.h"
#include "reference/step.h"
#include "tests/trainer/made.h"
#include "tests/unit.h"
#include "trainer/model/config.h"
#include "trainer/optim/optimizer.h"

#define TENSORS_MAX 128
#define TOKENS_MAX  256
/* Half a step of floats in [2, 4), where the losses are. torch, which rounds its loss to one, may lose less by luck. */
#define FLOAT_ROUNDING 0x1p-23

/* ---- transformers' ModernBERT ---- */

/* SplitMix64 (Steele et al. 2014). */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* FNV-1a, continued from `hash`. */
static uint64_t name_hash(uint64_t hash, const char *name)
{
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3;
    return hash;
}
#define HASH_BEGIN 0xcbf29ce484222325

/* In [-1, 1), a multiple of 2^-19. */
static double value(uint64_t hash, size_t index)
{
    return (double)(mix(hash ^ mix(index)) >> 44) / (1 << 19) - 1;
}

static struct drawn {
    char name[96];
    size_t count;
    double *value, *gradient;
} drawn[TENSORS_MAX];
static size_t drawn_count;

static double weight(const char *name, size_t index)
{
    const double x = value(name_hash(HASH_BEGIN, name), index);
    const struct str text = str_of(name);
    if (str_ends(text, STR("norm.weight")))
        return 0.25 * x + 1;
    return x * (strstr(name, "Wqkv") && !str_ends(text, STR(".bias")) ? 0.5 : 0.25);
}

/* Draws the tensors that the golden file has gradients of; the others are not in the model. */
static struct tensor_memory draw(void *context, const char *name, int rows, int columns)
{
    const json_t *gradients = context;
    const size_t count = (size_t)rows * (size_t)columns;
    for (size_t i = 0; i < drawn_count; i++)
        if (strcmp(drawn[i].name, name) == 0)
            return (struct tensor_memory){drawn[i].value, drawn[i].gradient};
    if (!json_object_get(gradients, name))
        return (struct tensor_memory){0};
    struct drawn *new = &drawn[drawn_count++];
    assert_true(drawn_count <= TENSORS_MAX && strlen(name) < sizeof new->name);
    *new = (struct drawn){.count = count,
                          .value = mem_array(count, sizeof *new->value),
                          .gradient = mem_clear(count, sizeof *new->gradient)};
    snprintf(new->name, sizeof new->name, "%s", name);
    for (size_t i = 0; i < count; i++)
        new->value[i] = weight(name, i);
    return (struct tensor_memory){new->value, new->gradient};
}

static void forget_drawn(void)
{
    for (size_t i = 0; i < drawn_count; i++) {
        mem_free(drawn[i].value);
        mem_free(drawn[i].gradient);
    }
    drawn_count = 0;
}

/* 30 % of the tokens between the first and the last are predicted; four fifths of these become [MASK]. */
static struct {
    int starts[8], ids[TOKENS_MAX], masked_at[TOKENS_MAX], masked_ids[TOKENS_MAX];
} made;

static struct tokens make_tokens(const json_t *lengths, int vocabulary)
{
    struct tokens tokens = {.sequences = (int)json_array_size(lengths),
                            .starts = made.starts,
                            .ids = made.ids,
                            .masked_at = made.masked_at,
                            .masked_ids = made.masked_ids};
    int row = 0;
    for (int s = 0; s < tokens.sequences; s++) {
        const int length = (int)json_integer_value(json_array_get(lengths, (size_t)s));
        for (int i = 0; i < length; i++, row++) {
            const uint64_t draw = mix(name_hash(HASH_BEGIN, "ids") ^ mix((uint64_t)s * 65536 + (uint64_t)i));
            const bool inside = i > 0 && i < length - 1, masked = inside && (draw >> 32) % 10 < 3;
            const int id = 4 + (int)(draw % (uint64_t)(vocabulary - 4));
            made.ids[row] = i == 0 ? 1 : !inside ? 2 : masked && (draw >> 40) % 10 < 8 ? 3 : id;
            if (masked) {
                made.masked_at[tokens.masked] = row;
                made.masked_ids[tokens.masked++] = id;
            }
        }
        made.starts[s + 1] = row;
    }
    return tokens;
}

static const json_t *setting(const json_t *golden, const json_t *entry, const char *name)
{
    const json_t *own = json_object_get(json_object_get(entry, "settings"), name);
    return own ? own : json_object_get(json_object_get(golden, "base"), name);
}

static struct shape modern_shape(const json_t *golden, const json_t *entry, bool *is_global)
{
#define NUMBER(name) (int)json_integer_value(setting(golden, entry, name))
    const json_t *types = json_object_get(entry, "layer_types"), *thetas = json_object_get(entry, "thetas");
    const json_t *epsilon = setting(golden, entry, "norm_eps"), *kind = setting(golden, entry, "hidden_activation");
    const struct shape shape = {
        .is_modern = true,
        .layers = NUMBER("num_hidden_layers"),
        .hidden = NUMBER("hidden_size"),
        .heads = NUMBER("num_attention_heads"),
        .inner = NUMBER("intermediate_size"),
        .vocabulary = NUMBER("vocab_size"),
        .positions = NUMBER("max_position_embeddings"),
        .epsilon = epsilon ? json_real_value(epsilon) : 1e-5,
        .activation = kind ? SILU_FORM : GELU,
        .is_global = is_global,
        .window = NUMBER("local_attention"),
        .theta_global = json_number_value(json_object_get(thetas, "full_attention")),
        .theta_local = json_number_value(json_object_get(thetas, "sliding_attention")),
    };
#undef NUMBER
    for (int i = 0; i < shape.layers; i++)
        is_global[i] = strcmp(json_string_value(json_array_get(types, (size_t)i)), "full_attention") == 0;
    return shape;
}

static void check_gradient(const struct drawn *tensor, const json_t *golden)
{
    const uint64_t hash = name_hash(name_hash(HASH_BEGIN, "probe "), tensor->name);
    double square = 0, found[3] = {0};
    for (size_t i = 0; i < tensor->count; i++) {
        square += tensor->gradient[i] * tensor->gradient[i];
        found[1] += tensor->gradient[i];
        found[2] += tensor->gradient[i] * value(hash, i);
    }
    found[0] = sqrt(square);
    for (size_t i = 0; i < 3; i++) {
        const double theirs = json_real_value(json_array_get(golden, i));
        if (!(fabs(found[i] - theirs) < 1e-12))
            fail_msg("%s: %s %.17g, not %.17g", tensor->name, (const char *[]){"norm", "sum", "probe"}[i], found[i],
                     theirs);
    }
}

static void check_case(const char *name, const json_t *golden, const json_t *entry)
{
    bool is_global[16];
    struct shape shape = modern_shape(golden, entry, is_global);
    json_t *gradients = json_object_get(entry, "gradients");
    const struct tokens tokens = make_tokens(json_object_get(entry, "lengths"), shape.vocabulary);
    const struct tensors tensors = {draw, gradients};
    double loss = step_loss(&shape, &tokens, &tensors);
    if (!(fabs(loss - json_real_value(json_object_get(entry, "loss"))) < 1e-12))
        fail_msg("%s: the loss is %.17g", name, loss);
    assert_int_equal(drawn_count, json_object_size(gradients));
    for (size_t i = 0; i < drawn_count; i++)
        check_gradient(&drawn[i], json_object_get(gradients, drawn[i].name));
    shape.float_angles = true; /* powf, cosf and sinf of two libraries differ in the last bit */
    loss = step_loss(&shape, &tokens, &tensors);
    if (!(fabs(loss - json_real_value(json_object_get(entry, "loss_float_angles"))) < 1e-8))
        fail_msg("%s: with float angles the loss is %.17g", name, loss);
    forget_drawn();
}

TEST(reference_is_transformers_modern_bert)
{
    struct error err;
    json_t *golden, *entry;
    const char *name;
    assert_int_equal(json_read(SOURCE_DIR "/tests/golden/modern.json", 1u << 20, ERR_INPUT, &golden, &err), 0);
    json_object_foreach(json_object_get(golden, "cases"), name, entry) check_case(name, golden, entry);
    assert_int_equal(json_object_size(json_object_get(golden, "cases")), 13);
    json_decref(golden);
}

/* ---- our models ---- */

static struct model_config golden_config(const json_t *golden, const json_t *entry)
{
    char path[] = "/tmp/modern-XXXXXX";
    struct error err;
    struct model_config config;
    json_t *json = json_copy(json_object_get(golden, "base"));
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    json_object_update(json, json_object_get(entry, "settings"));
    json_object_set_new(json, "model_type", json_string("modernbert"));
    assert_int_equal(json_file_write(path, json, &err), 0);
    assert_int_equal(config_read(path, &config, &err), 0);
    json_decref(json);
    unlink(path);
    return config;
}

/* The tokens as a batch; its rows as made_batch places them. */
static struct batch batch_of(const struct tokens *tokens, int32_t vocabulary)
{
    int32_t lengths[8];
    for (int s = 0; s < tokens->sequences; s++)
        lengths[s] = tokens->starts[s + 1] - tokens->starts[s];
    struct batch batch = made_batch(&(struct made_source){1, vocabulary, 0}, lengths, 0, tokens->sequences);
    struct head_batch *masked = &batch.heads[HEAD_MASKED];
    memcpy(batch.ids, tokens->ids, (size_t)batch.tokens * sizeof *batch.ids);
    memcpy(masked->index, tokens->masked_at, (size_t)tokens->masked * sizeof *masked->index);
    memcpy(masked->labels, tokens->masked_ids, (size_t)tokens->masked * sizeof *masked->labels);
    masked->live = tokens->masked;
    masked->total = made_rounded(masked->live);
    return batch;
}

/* Sets our parameters to the tensors that were drawn, of which one may be several of ours. */
static void fill_drawn(const struct params *params, float *values)
{
    size_t found = 0;
    for (size_t i = 0; i < params->count; i++) {
        char theirs[128];
        layout_name(params->layout, params->task_heads, params->items[i].name, theirs, sizeof theirs);
        for (size_t j = 0; j < drawn_count && params->items[i].parts > 0; j++)
            if (strcmp(drawn[j].name, theirs) == 0) {
                for (size_t k = 0; k < drawn[j].count; k++)
                    values[params->items[i].offset + k] = (float)drawn[j].value[k];
                found++;
            }
    }
    assert_int_equal(found, drawn_count);
}

/* The error of all gradients, relative to their norm. The error of each must be below three times torch's. */
static double drawn_error(const struct params *params, const float *gradients, const json_t *golden)
{
    double error = 0, square = 0;
    for (size_t i = 0; i < params->count; i++) {
        char theirs[128];
        layout_name(params->layout, params->task_heads, params->items[i].name, theirs, sizeof theirs);
        for (size_t j = 0; j < drawn_count && params->items[i].parts > 0; j++) {
            if (strcmp(drawn[j].name, theirs) != 0)
                continue;
            const double torchs = json_real_value(json_array_get(json_object_get(golden, theirs), 3));
            double own = 0;
            for (size_t k = 0; k < drawn[j].count; k++) {
                own += pow((double)gradients[params->items[i].offset + k] - drawn[j].gradient[k], 2);
                square += pow(drawn[j].gradient[k], 2);
            }
            error += own;
            if (!(sqrt(own) < 3 * torchs))
                fail_msg("%s: the gradient's error is %.3g, torch's is %.3g", theirs, sqrt(own), torchs);
        }
    }
    return sqrt(error / square);
}

static void check_float(const char *name, const json_t *golden, const json_t *entry)
{
    bool is_global[16];
    struct shape shape = modern_shape(golden, entry, is_global);
    const struct model_config config = golden_config(golden, entry);
    const struct tokens tokens = make_tokens(json_object_get(entry, "lengths"), shape.vocabulary);
    const struct tensors tensors = {draw, json_object_get(entry, "gradients")};
    const double most = 3 * json_real_value(json_object_get(entry, "gradient_error"));
    const double loss_most = fmax(3 * json_real_value(json_object_get(entry, "loss_error")), FLOAT_ROUNDING);
    SCOPED(made_batch_release) struct batch batch = batch_of(&tokens, shape.vocabulary);
    const struct model_budget budget = made_budget(&batch);
    assert_true(most > 0);
    shape.float_angles = true;
    const double loss = step_loss(&shape, &tokens, &tensors);
    for (int level = (int)cpu_level(); level >= CPU_BASE; level--) {
        SCOPED(ops_close_at) struct ops *ops = made_ops(PRECISION_FP32, (enum cpu_level)level, 1);
        SCOPED(model_close_at) struct model *model = model_open(&config, ops, &budget);
        const struct step_settings settings = made_step(1, 1, &batch, 1);
        struct model_metrics metrics = {0};
        fill_drawn(model_table(model), model_params(model));
        model_refresh(model);
        model_begin_step(model, &settings);
        model_forward_backward(model, &batch, NULL, &metrics);
        const double error =
            drawn_error(model_table(model), model_gradients(model), json_object_get(entry, "gradients"));
        if (!(error < most))
            fail_msg("%s, level %d: the gradients' error is %.3g, torch's is %.3g", name, level, error, most / 3);
        const double ours = metrics.heads[HEAD_MASKED].loss / tokens.masked;
        if (!(fabs(ours - loss) < loss_most))
            fail_msg("%s, level %d: the loss is %.17g, not %.17g", name, level, ours, loss);
    }
    forget_drawn();
}

TEST(losses_and_gradients_in_fp32_are_as_good_as_torchs)
{
    struct error err;
    json_t *golden, *entry;
    const char *name;
    assert_int_equal(json_read(SOURCE_DIR "/tests/golden/modern.json", 1u << 20, ERR_INPUT, &golden, &err), 0);
    json_object_foreach(json_object_get(golden, "cases"), name, entry) check_float(name, golden, entry);
    json_decref(golden);
}

struct ours {
    const struct params *params;
    const struct layout *layout;
    double *values;   /* of the model */
    double *gradient; /* of the reference */
};

/* The first of our tensors that the reference's tensor of that name holds. */
static struct tensor_memory place_of(void *context, const char *name, int rows, int columns)
{
    struct ours *ours = context;
    for (size_t i = 0; i < ours->params->count; i++) {
        const struct param *param = &ours->params->items[i];
        char theirs[128];
        const int32_t parts = layout_name(ours->layout, 0, param->name, theirs, sizeof theirs);
        if (strcmp(theirs, name) != 0)
            continue;
        assert_int_equal((size_t)parts * param->count, (size_t)rows * (size_t)columns);
        return (struct tensor_memory){ours->values + param->offset, ours->gradient + param->offset};
    }
    return (struct tensor_memory){NULL, NULL};
}

static void draw_values(struct ours *ours, uint64_t seed)
{
    const struct random_stream stream = random_stream(seed, RANDOM_FRESH, 5, 0, 0, 0, 0);
    for (size_t i = 0; i < ours->params->count; i++)
        for (size_t j = 0; j < ours->params->items[i].count; j++) {
            const size_t at = ours->params->items[i].offset + j;
            const double draw = random_at(&stream, (uint32_t)at, 1) * 0x1p-32 - 0.5;
            ours->values[at] = (strstr(ours->params->items[i].name, "Norm.weight") ? 1 : 0) + draw;
        }
}

static void check_gradients(const struct ours *ours, const double *gradients, double most)
{
    for (size_t i = 0; i < ours->params->count; i++) {
        const struct param *param = &ours->params->items[i];
        double square = 0, error = 0;
        for (size_t at = param->offset; at < param->offset + param->count; at++) {
            square += ours->gradient[at] * ours->gradient[at];
            error = fmax(error, fabs(ours->gradient[at] - gradients[at]));
        }
        if (!(error < most * (1 + sqrt(square))))
            fail_msg("%s: an element differs by %g, the norm is %g", param->name, error, sqrt(square));
    }
}

/* The model's dropout (Law 4, trainer/backend/ops_args.h), one number at a time. */
static struct {
    const struct model_config *config;
    const uint32_t *numbers; /* of the sequences */
} dropped;

static double keep(enum site site, int layer, int head, int sequence, int position, int column)
{
    const struct model_config *config = dropped.config;
    const bool modern = config->architecture == ARCHITECTURE_MODERN;
    const double shares[] = {[AT_EMBEDDING] = modern ? config->embedding_dropout : config->hidden_dropout,
                             [AT_PROBABILITIES] = config->attention_dropout,
                             [AT_ATTENTION] = config->hidden_dropout,
                             [AT_INNER] = config->inner_dropout,
                             [AT_DOWN] = config->hidden_dropout};
    static const int places[] = {
        [AT_EMBEDDING] = 0, [AT_PROBABILITIES] = 1, [AT_ATTENTION] = 2, [AT_INNER] = 3, [AT_DOWN] = 3};
    const uint32_t threshold = (uint32_t)lround(65536 * shares[site]);
    const uint32_t name = (uint32_t)((places[site] + 3 * layer) * config->heads + head);
    uint32_t words[4];
    philox4x32((const uint32_t[4]){(uint32_t)column / 8, (uint32_t)position, dropped.numbers[sequence], name},
               (const uint32_t[2]){1, 1}, words); /* the seed and the step of made_step below */
    const uint32_t lane = words[column % 8 / 2] >> (column % 2 ? 16 : 0) & 0xffff;
    return lane < threshold ? 0 : 65536.0 / (65536 - threshold);
}

static void check_model(const struct model_config *config, uint64_t seed, bool reads_some)
{
    static const int32_t lengths[] = {13, 1, 7, 150, 2, 71};
    SCOPED(made_batch_release)
    struct batch batch = made_batch(&(struct made_source){seed, config->vocabulary, 3}, lengths, 0, 6);
    SCOPED(made_batch_release)
    struct batch whole = made_batch(&(struct made_source){seed, config->vocabulary, 3}, lengths, 0, 6);
    if (reads_some)
        made_read(&batch);
    struct model_budget budget = made_budget(&batch);
    budget.recompute_every = (int32_t)(seed % 3);
    SCOPED(ops_close_at) struct ops *ops = made_ops(PRECISION_FP64, CPU_BASE, 1);
    SCOPED(model_close_at) struct model *model = model_open(config, ops, &budget);
    const struct params *params = model_table(model);
    struct ours ours = {params, architecture_of(config)->layout, model_params(model),
                        mem_clear(params->size, sizeof(double))};
    draw_values(&ours, seed);
    model_refresh(model);
    const struct step_settings settings = made_step(1, 1, &batch, 1);
    struct model_metrics metrics = {0};
    model_begin_step(model, &settings);
    model_forward_backward(model, &batch, NULL, &metrics);

    bool is_global[LAYERS_MAX];
    for (int32_t i = 0; i < config->layers; i++)
        is_global[i] = model_layer_is_global(config, i);
    const bool pairs = model_has(config, HEAD_NEXT);
    const struct head_batch *masked = &whole.heads[HEAD_MASKED];
    const struct tokens tokens = {whole.sequences,
                                  whole.starts,
                                  whole.ids,
                                  whole.segments,
                                  masked->live,
                                  masked->index,
                                  masked->labels,
                                  pairs ? whole.heads[HEAD_NEXT].labels : NULL,
                                  config->attention_dropout > 0 ? keep : NULL};
    dropped.config = config;
    dropped.numbers = whole.numbers;
    static const enum activation activations[] = {[GELU_ERF] = GELU, [GELU_TANH] = GELU_TANH_FORM, [SILU] = SILU_FORM};
    const struct shape shape = {.is_modern = config->architecture == ARCHITECTURE_MODERN,
                                .layers = config->layers,
                                .hidden = config->hidden,
                                .heads = config->heads,
                                .inner = config->intermediate,
                                .vocabulary = config->vocabulary,
                                .positions = config->positions,
                                .epsilon = config->norm_epsilon,
                                .activation = activations[config->gelu],
                                .is_global = is_global,
                                .window = config->window,
                                .theta_global = config->theta_global,
                                .theta_local = config->theta_local,
                                .float_angles = true};
    const struct tensors tensors = {place_of, &ours};
    const double loss = step_loss(&shape, &tokens, &tensors);
    const double sum = made_mean(&metrics, HEAD_MASKED) + (pairs ? made_mean(&metrics, HEAD_NEXT) : 0);
    /* The model's angles are those of base/same_math.h, whose last bit in float may differ from the C library's. */
    const double most = shape.is_modern ? 1e-7 : 1e-12;
    if (!(fabs(loss - sum) < most * loss))
        fail_msg("the loss is %.17g, the reference's %.17g", sum, loss);
    check_gradients(&ours, model_gradients(model), most);
    mem_free(ours.gradient);
}

TEST(bert_is_the_reference)
{
    struct model_config config = {
        .layers = 2,
        .hidden = 32,
        .heads = 2,
        .intermediate = 48,
        .vocabulary = 90,
        .positions = 160,
        .types = 2,
        .task_heads = 1u << HEAD_MASKED | 1u << HEAD_NEXT,
        .norm_epsilon = 1e-12,
        .initializer_range = 0.02,
    };
    for (uint64_t seed = 1; seed <= 4; seed++) {
        config.gelu = seed % 2 ? GELU_TANH : GELU_ERF;
        config.layers = (int32_t)(seed % 3 + 1);
        config.norm_epsilon = seed > 2 ? 1e-5 : 1e-12;
        config.hidden_dropout = seed % 2 ? 0.1 : 0;
        config.attention_dropout = seed % 2 ? 0.2 : 0;
        check_model(&config, seed, seed % 2);
    }
}

/* With and without each kind of tensor, layers of all kinds, windows that cut nothing and that cut sequences of more
 * than one block. */
TEST(modern_bert_is_the_reference)
{
    struct model_config config;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        assert_int_equal(model_config_named("modern-base", &config), 0);
        config.layers = (int32_t)(seed % 4 + 1);
        config.hidden = 24;
        config.heads = seed % 2 ? 3 : 2;
        config.intermediate = 20;
        config.vocabulary = 90;
        config.window = (int32_t[]){128, 8, 5, 1, 40, 150, 310, 2}[seed - 1];
        config.global_layers[0] = seed * 5;
        config.gelu = (enum gelu)(seed % 3);
        config.theta_local = seed % 2 ? 10000 : 100;
        for (uint64_t part = OPTIONAL_NORM_BIASES; part <= OPTIONAL_DECODER_BIAS; part++)
            config.lacks ^= (seed >> part % 3 & 1) << part;
        config.own_decoder = seed % 3 == 0;
        if (seed % 3) { /* also where a local layer that is not the last has sequences of several blocks */
            config.attention_dropout = 0.15;
            config.hidden_dropout = 0.1;
            config.embedding_dropout = 0.08;
            config.inner_dropout = 0.05;
        }
        check_model(&config, seed, seed % 3);
    }
}

/* ---- updates ---- */

enum { COUNT = 20000 }; /* of the first tensor: two chunks, whose sums of squares are added */
static struct param parts[] = {
    {.name = "weight", .dimensions = 2, .shape = {COUNT / 10, 10}, .count = COUNT, .trained = COUNT, .decay = true},
    {.name = "bias", .dimensions = 1, .shape = {5, 1}, .count = 5, .trained = 5, .offset = COUNT},
    {.name = "zeros", .dimensions = 1, .shape = {3, 1}, .count = 3, .trained = 3, .offset = COUNT + 16, .decay = true},
};
static struct param_chunk pieces[] = {{0, PARAM_CHUNK, 0, true},
                                      {PARAM_CHUNK, COUNT - PARAM_CHUNK, 0, true},
                                      {COUNT, 5, 1, false},
                                      {COUNT + 16, 3, 2, true}};
static const struct params three = {.items = parts, .count = 3, .size = COUNT + 32, .chunks = pieces, .chunk_count = 4};

static double number(enum precision precision, const void *memory, size_t i)
{
    return precision == PRECISION_FP64 ? ((const double *)memory)[i] : (double)((const float *)memory)[i];
}

/* Five updates, in the precision's type of real numbers. Every parameter and both moments must agree to `most`. */
static void check_updates(const char *type, enum precision precision, enum cpu_level level, double most)
{
    static const double no_losses[STEP_SUMS];
    static double ours[4][COUNT + 32], expected[4][COUNT + 32]; /* parameters, gradients, moments */
    const struct random_stream stream = random_stream(8, RANDOM_INIT, 0, 0, 0, 0, 0);
    struct optimizer optimizer = optimizer_type(type)->optimizer;
    SCOPED(ops_close_at) struct ops *ops = made_ops(precision, level, 1);
    struct update_work work;
    optimizer.weight_decay = 0.1;
    const struct update_rule rule = {optimizer.kind == OPTIMIZER_LAMB,
                                     0.01,
                                     optimizer.beta1,
                                     optimizer.beta2,
                                     optimizer.epsilon,
                                     0.1,
                                     optimizer.ratio_min,
                                     optimizer.ratio_max};
    memset(ours, 0, sizeof ours);
    memset(expected, 0, sizeof expected);
    optimizer_work_init(&work, optimizer.kind, ops, &three);
    for (uint32_t t = 0; t <= 5; t++) {
        for (uint32_t i = 0; i < COUNT + 32; i++) { /* the numbers between tensors are not zero either */
            const bool zero = t == 0 && i >= COUNT + 16 && i < COUNT + 19;
            const float start = zero ? 0 : (float)(random_at(&stream, i, t) * 0x1p-32 - 0.5) / (float)(t > 0 ? t : 1);
            expected[t > 0][i] = (double)start;
            if (precision == PRECISION_FP64)
                ours[t > 0][i] = (double)start;
            else
                ((float *)ours[t > 0])[i] = start;
        }
        if (t == 0)
            continue;
        optimizer_update(
            &optimizer, ops,
            &(struct update_memory){.params = ours[0], .gradients = ours[1], .first = ours[2], .second = ours[3]},
            &work, &(struct update){t, 0.01, 0, 1, true, no_losses});
        for (size_t i = 0; i < three.count; i++) {
            struct update_rule own = rule;
            const size_t at = parts[i].offset;
            own.decay = parts[i].decay ? rule.decay : 0;
            tensor_update(&own, (int)t, (long)parts[i].count, expected[0] + at, expected[1] + at, expected[2] + at,
                          expected[3] + at);
        }
        for (size_t k = 0; k < COUNT + 32; k++)
            if (!(fabs(number(precision, ours[0], k) - expected[0][k]) < most &&
                  fabs(number(precision, ours[2], k) - expected[2][k]) < most &&
                  fabs(number(precision, ours[3], k) - expected[3][k]) < most))
                fail_msg("%s on %s: update %u, number %zu is off", type, ops->name, t, k);
    }
    optimizer_work_release(&work, ops);
}

TEST(updates_are_the_references)
{
    static const char *const types[] = {"Adam", "Lamb"};
    for (int i = 0; i < 2; i++) {
        check_updates(types[i], PRECISION_FP64, CPU_BASE, 1e-13);
        for (int level = (int)cpu_level(); level >= CPU_BASE; level--)
            check_updates(types[i], PRECISION_FP32, (enum cpu_level)level, 2e-6);
    }
}

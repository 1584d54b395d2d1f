/* ModernBERT (Warner et al. 2024), as transformers' ModernBertForMaskedLM computes it: norms before the branches, but
 * none before the first; rotary positions; gated units; windows in some layers; biases where flags ask for them. */
#include "trainer/model/params.h"

#include <inttypes.h>
#include <string.h>

#define EVERY_DEFAULT 3 /* each third layer is global, from the first on */

static void set_global_layers(struct model_config *config, int32_t every)
{
    memset(config->global_layers, 0, sizeof config->global_layers);
    for (int32_t i = 0; i < config->layers && i < LAYERS_MAX; i += every)
        config->global_layers[i / 64] |= UINT64_C(1) << i % 64;
}

/* The shapes of ModernBERT (base, large) and Ettin (17m to 68m; Weller et al. 2025); micro, tiny and mini are ours. */
int modern_config_named(const char *name, struct model_config *config)
{
    static const struct {
        const char *name;
        int32_t layers, hidden, heads, intermediate;
    } sizes[] = {
        {"modern-micro", 6, 64, 2, 96},     {"modern-tiny", 6, 128, 2, 192},      {"modern-mini", 6, 256, 4, 384},
        {"modern-17m", 7, 256, 4, 384},     {"modern-32m", 10, 384, 6, 576},      {"modern-68m", 19, 512, 8, 768},
        {"modern-base", 22, 768, 12, 1152}, {"modern-large", 28, 1024, 16, 2624},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (strcmp(name, sizes[i].name) != 0)
            continue;
        *config = (struct model_config){
            .layers = sizes[i].layers,
            .hidden = sizes[i].hidden,
            .heads = sizes[i].heads,
            .intermediate = sizes[i].intermediate,
            .vocabulary = 30522,
            .positions = 8192,
            .types = 1,
            .window = 128,
            .theta_global = 160000,
            .theta_local = 10000,
            .gelu = GELU_ERF,
            .task_heads = 1u << HEAD_MASKED,
            .norm_epsilon = 1e-5,
            .initializer_range = 0.02,
            .architecture = ARCHITECTURE_MODERN,
            .initializer = INITIALIZER_TRUNCATED,
            .lacks = 1u << OPTIONAL_POSITION_TABLE | 1u << OPTIONAL_TYPE_TABLE | 1u << OPTIONAL_ENTRY_NORM |
                     1u << OPTIONAL_NORM_BIASES | 1u << OPTIONAL_ATTENTION_BIASES | 1u << OPTIONAL_FEED_FORWARD_BIASES |
                     1u << OPTIONAL_HEAD_BIASES,
        };
        set_global_layers(config, EVERY_DEFAULT);
        return 0;
    }
    return -1;
}

static const struct config_choice activations[] = {
    {"gelu", GELU_ERF}, {"gelu_pytorch_tanh", GELU_TANH}, {"gelu_new", GELU_TANH}, {"silu", SILU}, {NULL, 0},
};
static const struct config_choice head_activations[] = {{"gelu", 0}, {NULL, 0}};
static const struct config_choice position_types[] = {{"absolute", 0}, {"sans_pos", 0}, {NULL, 0}};

/* Ours: ModernBERT was trained with dropout of the attention's output alone. In transformers attention_dropout is that
 * of both. */
#define OUTPUT_DROPOUT "attention_output_dropout"

#define CUTOFF      "initializer_cutoff_factor"
#define CUTOFF_ONLY 2.0

#define AT(field) offsetof(struct model_config, field)
static const struct config_key keys[] = {
    {"position_embedding_type", CONFIG_FIXED, .choices = position_types},
    {"classifier_activation", CONFIG_FIXED, .choices = head_activations},
    {"vocab_size", CONFIG_COUNT, .at = AT(vocabulary)},
    {"hidden_size", CONFIG_COUNT, .required = true, .at = AT(hidden)},
    {"intermediate_size", CONFIG_COUNT, .required = true, .at = AT(intermediate)},
    {"num_hidden_layers", CONFIG_COUNT, .required = true, .at = AT(layers)},
    {"num_attention_heads", CONFIG_COUNT, .required = true, .at = AT(heads)},
    {"hidden_activation", CONFIG_CHOICE, .at = AT(gelu), .choices = activations},
    {"max_position_embeddings", CONFIG_COUNT, .at = AT(positions)},
    {"norm_eps", CONFIG_REAL, .at = AT(norm_epsilon)},
    {"initializer_range", CONFIG_REAL, .at = AT(initializer_range)},
    {"attention_dropout", CONFIG_REAL, .at = AT(attention_dropout)},
    {OUTPUT_DROPOUT, CONFIG_REAL, .at = AT(hidden_dropout)},
    {"embedding_dropout", CONFIG_REAL, .at = AT(embedding_dropout)},
    {"mlp_dropout", CONFIG_REAL, .at = AT(inner_dropout)},
    {"classifier_dropout", CONFIG_REAL, .at = AT(head_dropout)},
    {.name = NULL},
};

/* Flags, and what a model has if one is set. */
static const struct {
    const char *name;
    enum optional optional;
} flags[] = {
    {"norm_bias", OPTIONAL_NORM_BIASES},        {"attention_bias", OPTIONAL_ATTENTION_BIASES},
    {"mlp_bias", OPTIONAL_FEED_FORWARD_BIASES}, {"classifier_bias", OPTIONAL_HEAD_BIASES},
    {"decoder_bias", OPTIONAL_DECODER_BIAS},
};
#define FLAGS (sizeof flags / sizeof *flags)

static int unsupported(const char *path, const char *key, struct error *err)
{
    return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "%s: a ModernBERT with this value is not supported", key);
}

static int take_flags(const char *path, const json_t *json, struct model_config *config, struct error *err)
{
    for (size_t i = 0; i < FLAGS; i++) {
        const json_t *value = json_object_get(json, flags[i].name);
        if (value && !json_is_boolean(value))
            return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "%s is neither true nor false", flags[i].name);
        if (json_is_true(value))
            config->lacks &= ~(1u << flags[i].optional);
        else if (value)
            config->lacks |= 1u << flags[i].optional;
    }
    return 0;
}

/* BERT's names mean other places. */
static int take_dropout(const char *path, const json_t *json, struct model_config *config, struct error *err)
{
    static const char *const others[] = {"hidden_dropout_prob", "attention_probs_dropout_prob"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (json_number_value(json_object_get(json, others[i])) != 0)
            return unsupported(path, others[i], err);
    if (!json_object_get(json, OUTPUT_DROPOUT))
        config->hidden_dropout = config->attention_dropout;
    return 0;
}

static int take_pooling(const char *path, const json_t *json, struct model_config *config, struct error *err)
{
    const json_t *value = json_object_get(json, "classifier_pooling");
    const char *name = value ? json_string_value(value) : "cls";
    config->pools_mean = name && strcmp(name, "mean") == 0;
    return name && (config->pools_mean || strcmp(name, "cls") == 0) ? 0 : unsupported(path, "classifier_pooling", err);
}

static const char *const layer_kinds[] = {"sliding_attention", "full_attention"};

/* local_attention; layer_types, or global_attn_every_n_layers. */
static int take_layers(const char *path, const json_t *json, struct model_config *config, struct error *err)
{
    const json_t *types = json_object_get(json, "layer_types");
    const json_t *every = json_object_get(json, "global_attn_every_n_layers");
    const json_t *window = json_object_get(json, "local_attention");
    if (window && !(json_integer_value(window) >= 1 && json_integer_value(window) <= INT32_MAX))
        return unsupported(path, "local_attention", err);
    if (window)
        config->window = (int32_t)json_integer_value(window);
    if (every && (!json_is_integer(every) || json_integer_value(every) < 1))
        return unsupported(path, "global_attn_every_n_layers", err);
    const json_int_t step = every ? json_integer_value(every) : EVERY_DEFAULT;
    set_global_layers(config, step > LAYERS_MAX ? LAYERS_MAX : (int32_t)step);
    if (!types || json_is_null(types))
        return 0;
    if (json_array_size(types) != (size_t)config->layers)
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "layer_types has %zu layers, num_hidden_layers %" PRId32,
                       json_array_size(types), config->layers);
    memset(config->global_layers, 0, sizeof config->global_layers);
    for (int32_t i = 0; i < config->layers && i < LAYERS_MAX; i++) {
        const char *type = json_string_value(json_array_get(types, (size_t)i));
        if (!type || (strcmp(type, layer_kinds[0]) != 0 && strcmp(type, layer_kinds[1]) != 0))
            return unsupported(path, "layer_types", err);
        if (strcmp(type, layer_kinds[1]) == 0)
            config->global_layers[i / 64] |= UINT64_C(1) << i % 64;
    }
    return 0;
}

static bool has_value(const json_t *value)
{
    return value && !json_is_null(value);
}

/* The new spelling, rope_parameters.KIND.rope_theta, or the old one. */
static int take_theta(const char *path, const json_t *json, const char *kind, const char *old, double *theta,
                      struct error *err)
{
    const json_t *kinds = json_object_get(json, "rope_parameters"), *rope = json_object_get(kinds, kind);
    if (has_value(kinds) && !json_is_object(kinds))
        return unsupported(path, "rope_parameters", err);
    if (has_value(rope) && !json_is_object(rope))
        return unsupported(path, kind, err);
    const json_t *value = json_object_get(rope, "rope_theta"), *type = json_object_get(rope, "rope_type");
    const bool is_old = !value;
    value = value ? value : json_object_get(json, old);
    if (type && (!json_is_string(type) || strcmp(json_string_value(type), "default") != 0))
        return unsupported(path, "rope_type", err);
    if (value && !(json_is_number(value) && json_number_value(value) >= 1))
        return unsupported(path, is_old ? old : "rope_theta", err);
    if (value)
        *theta = json_number_value(value);
    return 0;
}

/* Both kinds of layers, without other forms of rotary positions. */
static int take_rope(const char *path, const json_t *json, struct model_config *config, struct error *err)
{
    const json_t *kinds = json_object_get(json, "rope_parameters"), *value;
    const char *kind;
    if (has_value(json_object_get(json, "rope_scaling")))
        return unsupported(path, "rope_scaling", err);
    json_object_foreach((json_t *)kinds, kind, value)
    {
        if (strcmp(kind, layer_kinds[0]) != 0 && strcmp(kind, layer_kinds[1]) != 0)
            return unsupported(path, "rope_parameters", err);
    }
    TRY(take_theta(path, json, layer_kinds[1], "global_rope_theta", &config->theta_global, err));
    return take_theta(path, json, layer_kinds[0], "local_rope_theta", &config->theta_local, err);
}

/* Initial values are drawn as by default, from within two deviations. */
static int take_cutoff(const char *path, const json_t *json, struct error *err)
{
    const json_t *value = json_object_get(json, CUTOFF);
    return !value || json_number_value(value) == CUTOFF_ONLY ? 0 : unsupported(path, CUTOFF, err);
}

static int modern_take(const char *path, const json_t *json, struct model_config *config, struct error *err)
{
    if (config->layers > LAYERS_MAX)
        return unsupported(path, "num_hidden_layers", err);
    TRY(take_flags(path, json, config, err));
    TRY(take_dropout(path, json, config, err));
    TRY(take_pooling(path, json, config, err));
    TRY(take_layers(path, json, config, err));
    TRY(take_rope(path, json, config, err));
    TRY(take_cutoff(path, json, err));
    if (config->hidden % config->heads == 0 && config->hidden / config->heads % 2 != 0)
        return unsupported(path, "num_attention_heads", err);
    return 0;
}

/* n, if every n-th layer is global, from the first on; 0: there is no such n. */
static int32_t global_every(const struct model_config *config)
{
    int32_t every = 1;
    while (every < config->layers && !model_layer_is_global(config, every))
        every++;
    for (int32_t i = 0; i < config->layers; i++)
        if (model_layer_is_global(config, i) != (i % every == 0))
            return 0;
    return every;
}

/* Both spellings: transformers before 5 reads the old one. */
static void modern_add(json_t *json, const struct model_config *config)
{
    json_t *types = json_array();
    const int32_t every = global_every(config);
    for (int32_t i = 0; i < config->layers; i++)
        json_array_append_new(types, json_string(layer_kinds[model_layer_is_global(config, i)]));
    json_object_set_new(json, "local_attention", json_integer(config->window));
    json_object_set_new(json, "layer_types", types);
    if (every > 0)
        json_object_set_new(json, "global_attn_every_n_layers", json_integer(every));
    json_object_set_new(json, "rope_parameters",
                        json_pack("{s:{s:s, s:f}, s:{s:s, s:f}}", layer_kinds[1], "rope_type", "default", "rope_theta",
                                  config->theta_global, layer_kinds[0], "rope_type", "default", "rope_theta",
                                  config->theta_local));
    json_object_set_new(json, "global_rope_theta", json_real(config->theta_global));
    json_object_set_new(json, "local_rope_theta", json_real(config->theta_local));
    for (size_t i = 0; i < FLAGS; i++)
        json_object_set_new(json, flags[i].name, json_boolean(!(config->lacks >> flags[i].optional & 1)));
    json_object_set_new(json, "tie_word_embeddings", json_boolean(!config->own_decoder));
    json_object_set_new(json, CUTOFF, json_real(CUTOFF_ONLY));
    json_object_set_new(json, "classifier_activation", json_string(head_activations[0].name));
    json_object_set_new(json, "classifier_pooling", json_string(config->pools_mean ? "mean" : "cls"));
}

static const struct name_rule names[] = {
    {"bert.embeddings.word_embeddings", "model.embeddings.tok_embeddings", 0, 0},
    {"bert.embeddings.LayerNorm", "model.embeddings.norm", 0, 0},
    {"bert.encoder.layer.", "model.layers.", 0, 0},
    {"attention.self.query", "attn.Wqkv", 3, 0},
    {"attention.output.dense", "attn.Wo", 0, 0},
    {"PreAttentionLayerNorm", "attn_norm", 0, 0},
    {"PostAttentionLayerNorm", "mlp_norm", 0, 0},
    {"intermediate.dense", "mlp.Wi", 0, 0},
    {"output.dense", "mlp.Wo", 0, 0},
    {"bert.encoder.FinalLayerNorm", "model.final_norm", 0, 0},
    {"cls.predictions.transform.dense", "head.dense", 0, 0},
    {"cls.predictions.transform.LayerNorm", "head.norm", 0, 0},
    {"cls.predictions.bias", "decoder.bias", 0, 0},
    {"cls.predictions.decoder", "decoder", 0, 0},
    {NULL, NULL, 0, 0},
};
static const char *const starts[] = {
    "model.embeddings.", "model.layers.", "model.final_norm.", "head.", "decoder.", NULL};

const struct layout layout_modern = {
    .model_type = "modernbert",
    .architecture = ARCHITECTURE_MODERN,
    .noun = "ModernBERT",
    .keys = keys,
    .take = modern_take,
    .add = modern_add,
    .defaults = "modern-base",
    .class_begin = "ModernBert",
    .lacks = 1u << HEAD_NEXT,
    .unties = true,
    .erf_head = true,
    .names_ends = true,
    .names = names,
    .starts = starts,
};

const struct architecture architecture_modern = {
    .layout = &layout_modern,
    .suffix = "",
    .norms = {.unnormalised = true, .from_embedding = true, .pre_norm = true, .smaller = true},
    .feed_forward = &feed_forward_glu,
    .transforms = true,
    .drops_inside = true,
    .untried = true,
};

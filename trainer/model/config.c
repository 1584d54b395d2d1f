/* Keys are those of transformers' BertConfig. Unknown keys, which every published file has, are ignored; keys that
 * would change the mathematics are refused. */
#include "trainer/model/config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/json_write.h"
#include "trainer/model/head.h"

int config_choose(const char *name, struct model_config *config, struct error *err)
{
    if (model_config_named(name, config) == 0)
        return 0;
    if (!strchr(name, '/') && !strchr(name, '.') && !path_exists(name)) {
        fail(err, ERR_USAGE, "--model %.100s: no such model and no such file", name);
        return hint(err, "models: %s; or the path of a Hugging Face config.json", MODEL_NAMES);
    }
    return config_read(name, config, err);
}

/* Reads a whole number into *out, which keeps its value if the key is absent. */
static int take_count(const char *path, const json_t *json, const char *key, int32_t *out, struct error *err)
{
    const json_t *value = json_object_get(json, key);
    if (!value)
        return 0;
    if (!json_is_integer(value) || json_integer_value(value) < 1 || json_integer_value(value) > INT32_MAX)
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "%s is not a count", key);
    *out = (int32_t)json_integer_value(value);
    return 0;
}

static int take_real(const char *path, const json_t *json, const char *key, double *out, struct error *err)
{
    const json_t *value = json_object_get(json, key);
    if (!value)
        return 0;
    if (!json_is_number(value))
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "%s is not a number", key);
    *out = json_number_value(value);
    return 0;
}

/* Reads a flag: true, or false, null or absent. */
static int take_flag(const char *path, const json_t *json, const char *key, bool *out, struct error *err)
{
    const json_t *value = json_object_get(json, key);
    *out = json_is_true(value);
    if (value && !json_is_boolean(value) && !json_is_null(value))
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "%s is neither true nor false", key);
    return 0;
}

/* Names of a key's values, ended by a NULL name. null and an absent key mean the first. */
struct choice {
    const char *name;
    int value;
};

static int take_choice(const char *path, const json_t *json, const char *key, const struct choice *choices, int *out,
                       struct error *err)
{
    const json_t *value = json_object_get(json, key);
    const char *name = value && !json_is_null(value) ? json_string_value(value) : choices[0].name;
    for (; choices->name; choices++)
        if (name && strcmp(name, choices->name) == 0) {
            *out = choices->value;
            return 0;
        }
    return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "%s %.40s: this kind of model is not supported", key,
                   name ? name : "is not a name");
}

/* transformers' names of the two formulas. */
static const struct choice activations[] = {
    {"gelu", GELU_ERF},
    {"gelu_python", GELU_ERF},
    {"gelu_new", GELU_TANH},
    {"gelu_pytorch_tanh", GELU_TANH},
    {"gelu_fast", GELU_TANH},
    {"gelu_accurate", GELU_TANH},
    {NULL, 0},
};
static const struct choice initializers[] = {[INITIALIZER_NORMAL] = {"normal", INITIALIZER_NORMAL},
                                             [INITIALIZER_TRUNCATED] = {"truncated_normal", INITIALIZER_TRUNCATED},
                                             {NULL, 0}};
_Static_assert(sizeof initializers / sizeof *initializers == INITIALIZERS + 1, "a row for every one, and an end");
static const struct choice model_types[] = {
    {MODEL_TYPE, false}, {MODEL_TYPE_OURS, false}, {MODEL_TYPE_ROBERTA, true}, {NULL, 0}};
static const struct choice position_types[] = {{"absolute", 0}, {NULL, 0}};

/* Refuses keys that change the mathematics in unsupported ways, unless they are absent, null, false or empty. */
static int refuse_others(const char *path, const json_t *json, struct error *err)
{
    static const char *const others[] = {"is_decoder", "add_cross_attention", "is_encoder_decoder", "pruned_heads",
                                         "quantization_config"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const json_t *value = json_object_get(json, others[i]);
        if (value && !json_is_false(value) && !json_is_null(value) &&
            !((json_is_object(value) || json_is_array(value)) && json_object_size(value) + json_array_size(value) == 0))
            return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "has %s: this kind of model is not supported",
                           others[i]);
    }
    return 0;
}

/* The orders of norms: the key of config.json that is true for it (DeepSpeed's and Habana's; NULL: transformers' order,
 * for which neither is true), the model_type, and the suffix of the model's name. */
static const struct {
    const char *key, *type, *suffix;
} orders[] = {
    [ARCHITECTURE_BERT] = {NULL, MODEL_TYPE, ""},
    [ARCHITECTURE_PRE] = {"pre_layer_norm", MODEL_TYPE_OURS, "-preln"},
    [ARCHITECTURE_LARGE] = {"layer_norm_large_model", MODEL_TYPE_OURS, "-lnlarge"},
};
_Static_assert(sizeof orders / sizeof *orders == ARCHITECTURE_KINDS, "a row for every order");

static int take_order(const char *path, const json_t *json, struct model_config *config, struct error *err)
{
    config->architecture = ARCHITECTURE_BERT;
    for (enum architecture_kind kind = 0; kind < ARCHITECTURE_KINDS; kind++) {
        bool said = false;
        if (orders[kind].key)
            TRY(take_flag(path, json, orders[kind].key, &said, err));
        if (said && config->architecture != ARCHITECTURE_BERT)
            return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "has both %s and %s, which exclude each other",
                           orders[config->architecture].key, orders[kind].key);
        if (said)
            config->architecture = kind;
    }
    return 0;
}

/* RobertaPreLayerNorm numbers positions from pad_token_id + 1; pad_token_id is 1 if absent. */
static int take_roberta(const char *path, const json_t *json, struct model_config *config, struct error *err)
{
    const json_t *pad = json_object_get(json, "pad_token_id");
    const json_int_t first = pad ? json_integer_value(pad) + 1 : 2;
    if ((pad && !json_is_integer(pad)) || first < 1 || first >= config->positions)
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "pad_token_id leaves no positions");
    config->positions -= (int32_t)first;
    config->architecture = ARCHITECTURE_PRE;
    return 0;
}

/* ---- heads ---- */

/* Before class_end (head.h), in the classes that are read here. */
static const char *const class_begins[] = {"Bert", "RobertaPreLayerNorm"};

static bool is_class(const char *name, const struct head *head)
{
    for (size_t i = 0; i < sizeof class_begins / sizeof *class_begins; i++) {
        const size_t size = strlen(class_begins[i]);
        if (strncmp(name, class_begins[i], size) == 0 && strcmp(name + size, head->class_end) == 0)
            return true;
    }
    return false;
}

size_t config_labels(const json_t *json)
{
    const size_t names = json_object_size(json_object_get(json, "id2label"));
    const json_int_t count = json_integer_value(json_object_get(json, "num_labels"));
    return names > 0 ? names : count > 0 ? (size_t)count : 2;
}

/* The head of a fine-tuned model's class; HEAD_KINDS: it is another class. Of several heads of one class, the one of
 * the file's problem_type, else the first. */
static enum head_kind tuned_head_in(const json_t *json, const struct model_config *config)
{
    const char *name = json_string_value(json_array_get(json_object_get(json, "architectures"), 0));
    const char *problem = json_string_value(json_object_get(json, "problem_type"));
    enum head_kind found = HEAD_KINDS;
    for (enum head_kind h = 0; name && h < HEAD_KINDS; h++) {
        const struct head *head = head_kinds[h];
        if (!head->tuned || !is_class(name, head))
            continue;
        if (problem && head->problem && strcmp(problem, head->problem(config)) == 0)
            return h;
        found = found < HEAD_KINDS ? found : h;
    }
    return found;
}

/* Reads the head of a fine-tuned model; all other models keep the pre-training heads, whatever the file says. */
static void take_heads(const json_t *json, struct model_config *config)
{
    const size_t count = config_labels(json);
    struct model_config tuned = *config;
    tuned.labels = count > LABELS_MAX ? 2 : (int32_t)count;
    const enum head_kind head = tuned_head_in(json, &tuned);
    if (head < HEAD_KINDS)
        config->task_heads = 1u << head;
    if (!model_names_labels(config))
        return;
    config->labels = tuned.labels;
    const json_t *names = json_object_get(json, "id2label");
    for (int32_t i = 0; i < config->labels; i++) {
        char key[12];
        snprintf(key, sizeof key, "%" PRId32, i);
        const char *label = json_string_value(json_object_get(names, key));
        snprintf(config->label_names[i], LABEL_NAME_SIZE, "%s", label ? label : "");
    }
    const char *task = json_string_value(json_object_get(json, "finetuning_task"));
    snprintf(config->tuned_for, sizeof config->tuned_for, "%s", task ? task : "");
}

/* Adds the keys by which transformers describes classes. */
static void add_labels(const struct model_config *config, json_t *json)
{
    json_t *names = json_object(), *numbers = json_object();
    for (int32_t i = 0; i < config->labels; i++) {
        char key[12], name[LABEL_NAME_SIZE];
        snprintf(key, sizeof key, "%" PRId32, i);
        snprintf(name, sizeof name, "LABEL_%" PRId32, i);
        const char *label = config->label_names[i][0] ? config->label_names[i] : name;
        json_object_set_new(names, key, json_string(label));
        json_object_set_new(numbers, label, json_integer(i));
    }
    json_object_set_new(json, "id2label", names);
    json_object_set_new(json, "label2id", numbers);
    assert(model_tuned_head(config) < HEAD_KINDS);
    const struct head *head = head_kinds[model_tuned_head(config)];
    if (head->problem)
        json_object_set_new(json, "problem_type", json_string(head->problem(config)));
    if (config->tuned_for[0])
        json_object_set_new(json, "finetuning_task", json_string(config->tuned_for));
}

static int config_take(const char *path, const json_t *json, struct model_config *config, struct error *err)
{
    static const char *const wanted[] = {"hidden_size", "num_hidden_layers", "num_attention_heads"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!json_object_get(json, wanted[i]))
            return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "has no %s: not the config.json of a BERT",
                           wanted[i]);
    int gelu = 0, initializer = 0, position = 0, is_roberta = false;
    TRY(take_choice(path, json, "model_type", model_types, &is_roberta, err));
    TRY(take_choice(path, json, "position_embedding_type", position_types, &position, err));
    TRY(take_choice(path, json, "hidden_act", activations, &gelu, err));
    TRY(take_choice(path, json, "initializer", initializers, &initializer, err));
    TRY(refuse_others(path, json, err));

    model_config_named("base", config); /* transformers' defaults are base's */
    TRY(take_count(path, json, "hidden_size", &config->hidden, err));
    TRY(take_count(path, json, "num_hidden_layers", &config->layers, err));
    TRY(take_count(path, json, "num_attention_heads", &config->heads, err));
    TRY(take_count(path, json, "intermediate_size", &config->intermediate, err));
    TRY(take_count(path, json, "vocab_size", &config->vocabulary, err));
    TRY(take_count(path, json, "max_position_embeddings", &config->positions, err));
    TRY(take_count(path, json, "type_vocab_size", &config->types, err));
    TRY(take_real(path, json, "layer_norm_eps", &config->norm_epsilon, err));
    TRY(take_real(path, json, "initializer_range", &config->initializer_range, err));
    TRY(take_real(path, json, "hidden_dropout_prob", &config->hidden_dropout, err));
    TRY(take_real(path, json, "attention_probs_dropout_prob", &config->attention_dropout, err));
    config->gelu = (enum gelu)gelu;
    config->initializer = (enum initializer)initializer;
    config->own_decoder = json_is_false(json_object_get(json, "tie_word_embeddings"));
    take_heads(json, config);
    TRY(take_order(path, json, config, err));
    if (is_roberta)
        TRY(take_roberta(path, json, config, err));
    return model_config_check(config, err) < 0 ? hint(err, "these values are in %.400s", path) : 0;
}

int config_read(const char *path, struct model_config *config, struct error *err)
{
    json_t *json = NULL;
    TRY(json_read_foreign(path, CONFIG_BYTES_MAX, ERR_UNSAFE, &json, err));
    const int result = config_take(path, json, config, err);
    json_decref(json);
    return result;
}

char *config_locate(const char *directory)
{
    char *path = path_join(directory, CONFIG_NAME), *old = path_join(directory, "bert_config.json");
    const bool is_old = !path_exists(path) && path_exists(old);
    mem_free(is_old ? path : old);
    return is_old ? old : path;
}

const char *config_activation(const struct model_config *config)
{
    return config->gelu == GELU_TANH ? "gelu_new" : "gelu";
}

void config_add_variant(const struct model_config *config, json_t *json)
{
    if (orders[config->architecture].key)
        json_object_set_new(json, orders[config->architecture].key, json_true());
    if (config->initializer != INITIALIZER_NORMAL)
        json_object_set_new(json, "initializer", json_string(initializers[config->initializer].name));
}

json_t *config_json(const struct model_config *config, uint32_t pad_id)
{
    char class[64];
    snprintf(class, sizeof class, "%s%s", class_begins[0], model_class_end(config));
    json_t *json = json_pack(
        "{s:[s], s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:f, s:f, s:f, s:f, s:i}", "architectures", class,
        "model_type", orders[config->architecture].type, "vocab_size", config->vocabulary, "hidden_size",
        config->hidden, "num_hidden_layers", config->layers, "num_attention_heads", config->heads, "intermediate_size",
        config->intermediate, "max_position_embeddings", config->positions, "type_vocab_size", config->types,
        "hidden_act", config_activation(config), "hidden_dropout_prob", config->hidden_dropout,
        "attention_probs_dropout_prob", config->attention_dropout, "layer_norm_eps", config->norm_epsilon,
        "initializer_range", config->initializer_range, "pad_token_id", (int)pad_id);
    config_add_variant(config, json);
    if (model_names_labels(config))
        add_labels(config, json);
    return json;
}

static void shape_name(const struct model_config *config, char out[32])
{
    const char *names = MODEL_NAMES;
    for (size_t size = strcspn(names, "|"); size > 0;
         names += size + (names[size] == '|'), size = strcspn(names, "|")) {
        struct model_config named;
        snprintf(out, 32, "%.*s", (int)size, names);
        if (model_config_named(out, &named) == 0 && named.layers == config->layers && named.hidden == config->hidden &&
            named.heads == config->heads && named.intermediate == config->intermediate)
            return;
    }
    snprintf(out, 32, "%" PRId32 "x%" PRId32, config->layers, config->hidden);
}

char *config_name(const struct model_config *config, char out[32])
{
    shape_name(config, out);
    strncat(out, orders[config->architecture].suffix, 31 - strlen(out));
    return out;
}

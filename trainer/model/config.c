/* The keys are those of a layout (architecture.h). Unknown keys, which every published file has, are ignored; keys that
 * would change the mathematics are refused. */
#include "trainer/model/config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/json.h"
#include "trainer/model/head.h"
#include "trainer/model/label_names.h"

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

/* Reads a flag; null and absent mean false. */
static int take_flag(const char *path, const json_t *json, const char *key, bool *out, struct error *err)
{
    const json_t *value = json_object_get(json, key);
    *out = json_is_true(value);
    if (value && !json_is_boolean(value) && !json_is_null(value))
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "%s is neither true nor false", key);
    return 0;
}

static int take_choice(const char *path, const json_t *json, const char *key, const struct config_choice *choices,
                       int *out, struct error *err)
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

static const struct config_choice initializers[] = {
    [INITIALIZER_NORMAL] = {"normal", INITIALIZER_NORMAL},
    [INITIALIZER_TRUNCATED] = {"truncated_normal", INITIALIZER_TRUNCATED},
    {NULL, 0}};
_Static_assert(sizeof initializers / sizeof *initializers == INITIALIZERS + 1, "a row for every one, and an end");

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

static int take_key(const char *path, const json_t *json, const struct config_key *key, struct model_config *config,
                    struct error *err)
{
    void *field = (char *)config + key->at;
    int value = 0;
    switch (key->kind) {
    case CONFIG_COUNT:
        return take_count(path, json, key->name, field, err);
    case CONFIG_REAL:
        return take_real(path, json, key->name, field, err);
    case CONFIG_CHOICE:
        TRY(take_choice(path, json, key->name, key->choices, &value, err));
        memcpy(field, &value, sizeof value);
        return 0;
    case CONFIG_FIXED:
        return take_choice(path, json, key->name, key->choices, &value, err);
    }
    return 0;
}

static void add_key(json_t *json, const struct config_key *key, const struct model_config *config)
{
    const char *field = (const char *)config + key->at;
    const struct config_choice *choice = key->choices;
    int32_t count;
    double real;
    switch (key->kind) {
    case CONFIG_COUNT:
        memcpy(&count, field, sizeof count);
        json_object_set_new(json, key->name, json_integer(count));
        break;
    case CONFIG_REAL:
        memcpy(&real, field, sizeof real);
        json_object_set_new(json, key->name, json_real(real));
        break;
    case CONFIG_CHOICE:
        while (memcmp(&choice->value, field, sizeof choice->value) != 0)
            choice++;
        json_object_set_new(json, key->name, json_string(choice->name));
        break;
    case CONFIG_FIXED:
        break;
    }
}

static int take_layout(const char *path, const json_t *json, const struct layout **out, struct error *err)
{
    const json_t *value = json_object_get(json, "model_type");
    const char *name = value && !json_is_null(value) ? json_string_value(value) : layouts[0]->model_type;
    for (const struct layout *const *layout = layouts; *layout && name; layout++)
        if (strcmp(name, (*layout)->model_type) == 0) {
            *out = *layout;
            return 0;
        }
    return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "model_type %.40s: this kind of model is not supported",
                   name ? name : "is not a name");
}

static int take_architecture(const char *path, const json_t *json, const struct layout *layout,
                             struct model_config *config, struct error *err)
{
    const char *flag = NULL; /* the one that is true */
    config->architecture = layout->architecture;
    for (enum architecture_kind kind = 0; kind < ARCHITECTURE_KINDS && layout->flagged; kind++) {
        const char *other = architectures[kind]->flag;
        bool is_set = false;
        if (other && architectures[kind]->layout->keys == layout->keys)
            TRY(take_flag(path, json, other, &is_set, err));
        if (is_set && flag)
            return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "has both %s and %s, which exclude each other", flag,
                           other);
        if (is_set) {
            config->architecture = kind;
            flag = other;
        }
    }
    return 0;
}

/* Subtracts the unused rows, up to the padding id, from the positions. */
static int take_padding(const char *path, const json_t *json, const struct layout *layout, struct model_config *config,
                        struct error *err)
{
    const json_t *pad = json_object_get(json, "pad_token_id");
    const json_int_t first = (pad ? json_integer_value(pad) : layout->pad_id) + 1;
    if ((pad && !json_is_integer(pad)) || first < 1 || first >= config->positions)
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "pad_token_id leaves no positions");
    config->positions -= (int32_t)first;
    return 0;
}

/* Whether a class is a head's in any layout. */
static bool is_class(const char *name, const struct head *head)
{
    for (const struct layout *const *layout = layouts; *layout; layout++) {
        const size_t size = strlen((*layout)->class_begin);
        if (strncmp(name, (*layout)->class_begin, size) == 0 && strcmp(name + size, head->class_end) == 0)
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
    const char *problem = json_string_value(json_object_get(json, "problem_type"));
    tuned.labels = count > LABELS_MAX ? 2 : (int32_t)count;
    tuned.several = problem && strcmp(problem, "multi_label_classification") == 0;
    const enum head_kind head = tuned_head_in(json, &tuned);
    if (head < HEAD_KINDS)
        config->task_heads = 1u << head;
    if (!model_names_labels(config))
        return;
    config->labels = tuned.labels;
    config->several = tuned.several;
    const json_t *names = json_object_get(json, "id2label");
    SCOPED(mem_free_at) const char **labels = mem_array((size_t)config->labels, sizeof *labels);
    for (int32_t i = 0; i < config->labels; i++) {
        char key[12];
        snprintf(key, sizeof key, "%" PRId32, i);
        labels[i] = json_string_value(json_object_get(names, key));
    }
    config->label_names = label_names(labels, (size_t)config->labels);
    const char *task = json_string_value(json_object_get(json, "finetuning_task"));
    snprintf(config->tuned_for, sizeof config->tuned_for, "%s", task ? task : "");
}

/* Adds the keys that describe the labels to transformers. */
static void add_labels(const struct model_config *config, json_t *json)
{
    json_t *names = json_object(), *numbers = json_object();
    for (int32_t i = 0; i < config->labels; i++) {
        char key[12], name[LABEL_NAME_SIZE];
        snprintf(key, sizeof key, "%" PRId32, i);
        const char *label = label_name(config, i, name);
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
    const struct layout *layout = NULL;
    int initializer = 0;
    TRY(take_layout(path, json, &layout, err));
    for (const struct config_key *key = layout->keys; key->name; key++)
        if (key->required && !json_object_get(json, key->name))
            return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "has no %s: not the config.json of a %s", key->name,
                           layout->noun);
    TRY(refuse_others(path, json, err));
    const int named = model_config_named(layout->defaults, config);
    assert(named == 0);
    for (const struct config_key *key = layout->keys; key->name; key++)
        TRY(take_key(path, json, key, config, err));
    if (layout->take)
        TRY(layout->take(path, json, config, err));
    TRY(take_choice(path, json, "initializer", initializers, &initializer, err));
    config->initializer = json_object_get(json, "initializer") ? (enum initializer)initializer : config->initializer;
    TRY(take_flag(path, json, "tie_word_embeddings", &config->own_decoder, err));
    config->own_decoder = json_is_false(json_object_get(json, "tie_word_embeddings"));
    take_heads(json, config);
    TRY(take_architecture(path, json, layout, config, err));
    if (layout->pads_positions)
        TRY(take_padding(path, json, layout, config, err));
    return model_config_check(config, err) < 0 ? hint(err, "these values are in %.400s", path) : 0;
}

int config_read(const char *path, struct model_config *config, struct error *err)
{
    json_auto_t *json = NULL;
    TRY(json_read_foreign(path, CONFIG_BYTES_MAX, ERR_UNSAFE, &json, err));
    return config_take(path, json, config, err);
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
    static const char *const names[] = {[GELU_TANH] = "gelu_new", [GELU_ERF] = "gelu", [SILU] = "silu"};
    return names[config->gelu];
}

void config_add_variant(const struct model_config *config, json_t *json)
{
    const struct architecture *architecture = architecture_of(config);
    if (architecture->flag)
        json_object_set_new(json, architecture->flag, json_true());
    if (architecture->layout->add)
        architecture->layout->add(json, config);
    if (config->initializer != INITIALIZER_NORMAL)
        json_object_set_new(json, "initializer", json_string(initializers[config->initializer].name));
}

json_t *config_json(const struct model_config *config, uint32_t pad_id)
{
    const struct layout *layout = architecture_of(config)->layout;
    json_t *json = json_pack("{s:[s+], s:s}", "architectures", layout->class_begin, model_class_end(config),
                             "model_type", layout->model_type);
    for (const struct config_key *key = layout->keys; key->name; key++)
        add_key(json, key, config);
    json_object_set_new(json, "pad_token_id", json_integer(pad_id));
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
    strncat(out, architecture_of(config)->suffix, 31 - strlen(out));
    return out;
}

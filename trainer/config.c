/* Keys: transformers' BertConfig. Keys that we do not know are passed over, as they are in every published file; keys
 * that would change the mathematics are refused. */
#include "trainer/config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "trainer/keep/json.h"

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

/* A whole number of the file into *out, which keeps its value where the key is absent. */
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

/* A key that must be absent, null, or this text. */
static int only(const char *path, const json_t *json, const char *key, const char *text, struct error *err)
{
    const json_t *value = json_object_get(json, key);
    if (!value || json_is_null(value) || (json_is_string(value) && strcmp(json_string_value(value), text) == 0))
        return 0;
    return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "%s is not \"%s\": this model is not built here", key, text);
}

static int take_activation(const char *path, const json_t *json, struct model_config *config, struct error *err)
{
    const json_t *value = json_object_get(json, "hidden_act");
    const char *name = value ? json_string_value(value) : "gelu";
    if (name && strcmp(name, "gelu") == 0)
        config->gelu = GELU_ERF;
    else if (name && (strcmp(name, "gelu_new") == 0 || strcmp(name, "gelu_pytorch_tanh") == 0))
        config->gelu = GELU_TANH;
    else
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "hidden_act %.40s is not built: gelu and gelu_new are",
                       name ? name : "(not a name)");
    return 0;
}

static int config_take(const char *path, const json_t *json, struct model_config *config, struct error *err)
{
    static const char *const wanted[] = {"hidden_size", "num_hidden_layers", "num_attention_heads"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!json_object_get(json, wanted[i]))
            return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "has no %s: not the config.json of a BERT",
                           wanted[i]);
    TRY(only(path, json, "model_type", "bert", err));
    TRY(only(path, json, "position_embedding_type", "absolute", err));
    if (json_is_true(json_object_get(json, "is_decoder")) ||
        json_is_false(json_object_get(json, "tie_word_embeddings")))
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "a decoder, or untied embeddings: not built here");

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
    TRY(take_activation(path, json, config, err));
    return model_config_check(config, err);
}

int config_read(const char *path, struct model_config *config, struct error *err)
{
    json_t *json = NULL;
    TRY(json_file_read(path, ERR_UNSAFE, &json, err));
    const int result = config_take(path, json, config, err);
    json_decref(json);
    return result;
}

const char *config_activation(const struct model_config *config)
{
    return config->gelu == GELU_TANH ? "gelu_new" : "gelu";
}

json_t *config_json(const struct model_config *config, uint32_t pad_id)
{
    return json_pack("{s:[s], s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:f, s:f, s:f, s:f, s:i}", "architectures",
                     config->next_sentence ? "BertForPreTraining" : "BertForMaskedLM", "model_type", "bert",
                     "vocab_size", config->vocabulary, "hidden_size", config->hidden, "num_hidden_layers",
                     config->layers, "num_attention_heads", config->heads, "intermediate_size", config->intermediate,
                     "max_position_embeddings", config->positions, "type_vocab_size", config->types, "hidden_act",
                     config_activation(config), "hidden_dropout_prob", config->hidden_dropout,
                     "attention_probs_dropout_prob", config->attention_dropout, "layer_norm_eps", config->norm_epsilon,
                     "initializer_range", config->initializer_range, "pad_token_id", (int)pad_id);
}

char *config_name(const struct model_config *config, char out[32])
{
    const char *names = MODEL_NAMES;
    for (size_t size = strcspn(names, "|"); size > 0;
         names += size + (names[size] == '|'), size = strcspn(names, "|")) {
        struct model_config named;
        snprintf(out, 32, "%.*s", (int)size, names);
        if (model_config_named(out, &named) == 0 && named.layers == config->layers && named.hidden == config->hidden &&
            named.heads == config->heads && named.intermediate == config->intermediate)
            return out;
    }
    snprintf(out, 32, "%" PRId32 "x%" PRId32, config->layers, config->hidden);
    return out;
}

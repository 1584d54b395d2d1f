#include "trainer/recipe.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "trainer/config.h"

/* ---- --set ---- */

enum set_kind { SET_REAL, SET_FLAG, SET_BETAS };

/* The keys of DeepSpeed's JSON that are built. */
static const struct set_key {
    const char *key;
    enum set_kind kind;
    size_t field; /* in struct recipe */
    double min, max;
    const char *flag; /* the option that wins over it, or NULL */
} set_keys[] = {
    {"optimizer.params.lr", SET_REAL, offsetof(struct recipe, schedule.rate), 0, HUGE_VAL, "lr"},
    {"optimizer.params.betas", SET_BETAS, offsetof(struct recipe, adam), 0, 1, NULL},
    {"optimizer.params.eps", SET_REAL, offsetof(struct recipe, adam.epsilon), 0, HUGE_VAL, NULL},
    {"optimizer.params.weight_decay", SET_REAL, offsetof(struct recipe, adam.weight_decay), 0, HUGE_VAL, NULL},
    {"optimizer.params.bias_correction", SET_FLAG, offsetof(struct recipe, adam.bias_correction), 0, 0, NULL},
    {"optimizer.params.adam_w_mode", SET_FLAG, offsetof(struct recipe, adam.decoupled), 0, 0, NULL},
    {"gradient_clipping", SET_REAL, offsetof(struct recipe, clipping), 0, HUGE_VAL, NULL},
};
#define SET_KEYS (sizeof set_keys / sizeof *set_keys)

static int set_value(const struct set_key *key, const json_t *value, struct recipe *recipe, struct error *err)
{
    void *field = (char *)recipe + key->field;
    const double real = json_number_value(value);
    switch (key->kind) {
    case SET_REAL:
        if (!json_is_number(value) || !(real >= key->min && real <= key->max) || !isfinite(real))
            return fail(err, ERR_USAGE, "--set %s: not a number from %g on", key->key, key->min);
        *(double *)field = real;
        return 0;
    case SET_FLAG:
        if (!json_is_boolean(value))
            return fail(err, ERR_USAGE, "--set %s: neither true nor false", key->key);
        *(bool *)field = json_is_true(value);
        return 0;
    case SET_BETAS: {
        struct adam *adam = field;
        const json_t *first = json_array_get(value, 0), *second = json_array_get(value, 1);
        adam->beta1 = json_number_value(first);
        adam->beta2 = json_number_value(second);
        if (json_array_size(value) != 2 || !json_is_number(first) || !json_is_number(second) || adam->beta1 < 0 ||
            adam->beta1 >= 1 || adam->beta2 < 0 || adam->beta2 >= 1)
            return fail(err, ERR_USAGE, "--set %s: not two numbers from 0 to below 1, as [0.9,0.999]", key->key);
        return 0;
    }
    }
    return 0;
}

static int unknown_key(struct str name, struct error *err)
{
    const struct set_key *best = &set_keys[0];
    for (size_t i = 1; i < SET_KEYS && name.size < 64; i++)
        if (str_distance(name, str_of(set_keys[i].key)) < str_distance(name, str_of(best->key)))
            best = &set_keys[i];
    fail(err, ERR_USAGE, "--set %.*s: unknown, or not built yet", name.size < 100 ? (int)name.size : 100, name.data);
    return hint(err, "the nearest key is %s", best->key);
}

static int set_one(const struct settings *settings, const char *text, struct recipe *recipe, struct error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals)
        return fail(err, ERR_USAGE, "--set %.100s: not key.path=value", text);
    const struct str name = str_range(text, equals);
    for (size_t i = 0; i < SET_KEYS; i++) {
        if (!str_equal(name, str_of(set_keys[i].key)))
            continue;
        json_t *value = json_loads(equals + 1, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
        int result = 0;
        if (!value)
            result = fail(err, ERR_USAGE, "--set %s: %.100s is not a JSON value", set_keys[i].key, equals + 1);
        else if (!set_keys[i].flag || !settings_given(settings, set_keys[i].flag))
            result = set_value(&set_keys[i], value, recipe, err);
        json_decref(value);
        return result;
    }
    return unknown_key(name, err);
}

/* ---- all together ---- */

static int steps_of(const struct settings *settings, const struct dataset *dataset, uint64_t *steps, struct error *err)
{
    *steps = settings->steps;
    if (!settings_given(settings, "epochs"))
        return 0;
    if (settings_given(settings, "steps"))
        return fail(err, ERR_USAGE, "--steps and --epochs both say how long to train: give one of them");
    const double exact = settings->epochs * (double)dataset->samples / (double)settings->batch;
    if (exact > 1e12)
        return fail(err, ERR_USAGE, "--epochs %g is %g steps", settings->epochs, exact);
    *steps = exact < 1 ? 1 : (uint64_t)llround(exact);
    return 0;
}

int recipe_make(const struct settings *settings, const struct dataset *dataset, const struct model_config *config,
                struct recipe *recipe, struct error *err)
{
    *recipe = (struct recipe){
        .dataset = dataset->manifest.root_hash,
        .seq = dataset->layout.seq,
        .config = *config,
        .initial = "random",
        .adam = adam_defaults(),
        .clipping = 1.0,
        .schedule = {.kind = SCHEDULE_LINEAR, .rate = settings->lr, .warmup = settings->warmup},
        .batch = (uint32_t)settings->batch,
        .seed = (uint32_t)settings->seed,
        .shuffled = !settings->no_shuffle,
        .masks =
            settings->masks == MASKS_AUTO && settings->no_shuffle ? MASKS_STORED : (enum mask_policy)settings->masks,
        .precision_given = settings_given(settings, "precision"),
        .precision = (enum precision)settings->precision,
    };
    if (settings_given(settings, "dropout"))
        recipe->config.hidden_dropout = recipe->config.attention_dropout = settings->dropout;
    if (recipe->seq > (uint32_t)config->positions)
        return fail(err, ERR_MISMATCH, "--seq %" PRIu32 " is above the model's %" PRId32 " positions", recipe->seq,
                    config->positions);
    TRY(steps_of(settings, dataset, &recipe->schedule.steps, err));
    for (size_t i = 0; i < settings->set.count; i++)
        TRY(set_one(settings, settings->set.items[i], recipe, err));
    return 0;
}

static const char *precision_name(const struct recipe *recipe)
{
    return !recipe->precision_given ? "default" : recipe->precision == PRECISION_BF16 ? "bf16" : "fp32";
}

json_t *recipe_identity(const struct recipe *recipe)
{
    static const char *const masks[] = {[MASKS_AUTO] = "auto", [MASKS_STORED] = "stored", [MASKS_FRESH] = "fresh"};
    const struct model_config *config = &recipe->config;
    char dataset[17];
    json_t *data =
        json_pack("{s:s, s:i, s:s, s:s, s:s, s:I, s:i}", "dataset", hash_text(recipe->dataset, dataset), "seq",
                  (int)recipe->seq, "initial_weights", recipe->initial, "order", recipe->shuffled ? "shuffled" : "file",
                  "masks", masks[recipe->masks], "seed", (json_int_t)recipe->seed, "batch", (int)recipe->batch);
    json_t *model =
        json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:b, s:f, s:f, s:f, s:f}", "layers", config->layers,
                  "hidden", config->hidden, "heads", config->heads, "intermediate", config->intermediate, "vocabulary",
                  config->vocabulary, "positions", config->positions, "types", config->types, "activation",
                  config_activation(config), "next_sentence", config->next_sentence, "layer_norm_eps",
                  config->norm_epsilon, "initializer_range", config->initializer_range, "hidden_dropout",
                  config->hidden_dropout, "attention_dropout", config->attention_dropout);
    json_t *optimizer = json_pack(
        "{s:s, s:f, s:f, s:f, s:f, s:f, s:b, s:b, s:f, s:s, s:f, s:I, s:s}", "optimizer", "adam", "lr",
        recipe->schedule.rate, "beta1", recipe->adam.beta1, "beta2", recipe->adam.beta2, "eps", recipe->adam.epsilon,
        "weight_decay", recipe->adam.weight_decay, "bias_correction", recipe->adam.bias_correction, "adam_w_mode",
        recipe->adam.decoupled, "gradient_clipping", recipe->clipping, "schedule", "linear", "warmup",
        recipe->schedule.warmup, "steps", (json_int_t)recipe->schedule.steps, "precision", precision_name(recipe));
    json_object_update(data, model);
    json_object_update(data, optimizer);
    json_decref(model);
    json_decref(optimizer);
    return data;
}

uint32_t recipe_micro_batch(uint64_t asked, uint32_t batch, uint32_t seq)
{
    const uint64_t chosen = asked > 0 ? asked : 4096 / seq > 0 ? 4096 / seq : 1;
    return chosen < batch ? (uint32_t)chosen : batch;
}

struct pack_limits recipe_limits(uint32_t micro_batch, uint32_t batch, const struct shard_layout *layout)
{
    const uint32_t tokens = micro_batch * layout->seq; /* both are bounded by the option table and the shard format */
    return (struct pack_limits){
        .tokens = (int32_t)tokens,
        .masked = (int32_t)(micro_batch * layout->predictions),
        .sequences = (int32_t)(batch < tokens ? batch : tokens),
    };
}

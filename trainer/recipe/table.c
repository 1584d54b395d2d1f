/* The table of keys: which exist (DeepSpeed's runtime/config.py), what they set, which are ignored because they have no
 * meaning here, and which are refused because they would change the result. */
#include "trainer/recipe/keys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"

/* ---- tables ---- */

enum key_kind {
    KEY_REAL,
    KEY_COUNT,  /* uint64_t */
    KEY_FLAG,   /* bool */
    KEY_BETAS,  /* of the optimizer */
    KEY_CHOICE, /* bool: one of two words */
    KEY_AUTO,   /* double: a count, or 0 for "auto" */
    KEY_TAKEN,  /* read by name elsewhere in this folder */
    KEY_SWITCH, /* the same; must be true or false */
    KEY_NOTE,   /* ignored with a note, with everything below it */
    KEY_BLOCK,  /* an object whose keys have rows; or true or false, read by name elsewhere */
    KEY_OFF,    /* must be false, or have "enabled": false */
    KEY_REFUSED,
};

struct key {
    const char *path;
    enum key_kind kind;
    size_t field; /* in struct recipe */
    double min, max;
};

#define FIELD(name) offsetof(struct recipe, name)

/* clang-format off */
#define WORD(name, what) {.path = name, .kind = what}
#define PARAM_WORD(name, what) {.path = "optimizer.params." name, .kind = what}
#define PARAM(name, what, member, least, most)                                                     \
    {.path = "optimizer.params." name, .kind = what, .field = FIELD(member), .min = least, .max = most}

#define ZERO(name) {.path = "zero_optimization." name, .kind = KEY_NOTE} /* affects memory and messages, not results */

static const struct key table[] = {
    WORD("train_batch_size", KEY_TAKEN), WORD("train_micro_batch_size_per_gpu", KEY_TAKEN),
    WORD("gradient_accumulation_steps", KEY_TAKEN),
    /* Our own keys: DeepSpeed leaves these settings to scripts. */
    WORD("batch_warmup.from", KEY_TAKEN), WORD("batch_warmup.steps", KEY_TAKEN), WORD("mask_prob", KEY_TAKEN),
    WORD("masks", KEY_TAKEN), WORD("dropout", KEY_TAKEN),
    {.path = "gradient_clipping", .kind = KEY_REAL, .field = FIELD(clipping), .min = 0, .max = 1e6},
    WORD("optimizer.type", KEY_TAKEN), PARAM_WORD("lr", KEY_TAKEN),
    WORD("scheduler.type", KEY_TAKEN),
    {.path = "scheduler.params.rewarmup", .kind = KEY_FLAG, .field = FIELD(rewarmup)},
    WORD("fp16.enabled", KEY_SWITCH), WORD("bf16.enabled", KEY_SWITCH), WORD("bfloat16.enabled", KEY_SWITCH),
    {.path = "fp16.loss_scale", .kind = KEY_REAL, .field = FIELD(scaling.loss_scale), .min = 0, .max = 0x1p32},
    {.path = "fp16.initial_scale_power", .kind = KEY_REAL, .field = FIELD(scaling.initial_power), .min = 0, .max = 32},
    {.path = "fp16.loss_scale_window", .kind = KEY_COUNT, .field = FIELD(scaling.window), .min = 1, .max = 1e9},
    {.path = "fp16.hysteresis", .kind = KEY_COUNT, .field = FIELD(scaling.hysteresis), .min = 1, .max = 1e9},
    {.path = "fp16.consecutive_hysteresis", .kind = KEY_FLAG, .field = FIELD(scaling.consecutive)},
    {.path = "fp16.min_loss_scale", .kind = KEY_REAL, .field = FIELD(scaling.minimum), .min = 0x1p-24, .max = 0x1p32},
    WORD("fp16.auto_cast", KEY_NOTE), WORD("fp16.fp16_master_weights_and_grads", KEY_OFF),

    /* Common to all optimizers. Each kind has a table of its own keys in optim/optimizer.c, which is searched first. */
    PARAM("betas", KEY_BETAS, optimizer, 0, 1),
    PARAM("eps", KEY_REAL, optimizer.epsilon, 0, 1),
    PARAM("weight_decay", KEY_REAL, optimizer.weight_decay, 0, 1e3),
    PARAM("bias_correction", KEY_FLAG, optimizer.bias_correction, 0, 1),
    PARAM_WORD("max_grad_norm", KEY_TAKEN), PARAM_WORD("amsgrad", KEY_OFF), PARAM_WORD("set_grad_none", KEY_NOTE),
    WORD("optimizer.legacy_fusion", KEY_NOTE),

    WORD("zero_optimization", KEY_BLOCK), WORD("zero_optimization.stage", KEY_TAKEN),
    {.path = "zero_optimization.overlap_comm", .kind = KEY_FLAG, .field = FIELD(overlap)},
    {.path = "zero_optimization.reduce_bucket_size", .kind = KEY_COUNT, .field = FIELD(bucket), .min = 1, .max = 1e12},
    WORD("zero_optimization.offload_param", KEY_TAKEN), WORD("zero_optimization.offload_optimizer", KEY_TAKEN),
    WORD("zero_optimization.cpu_offload", KEY_TAKEN), WORD("zero_optimization.cpu_offload_params", KEY_TAKEN),
    ZERO("contiguous_gradients"), ZERO("reduce_scatter"), ZERO("use_multi_rank_bucket_allreduce"),
    ZERO("allgather_partitions"), ZERO("allgather_bucket_size"), ZERO("load_from_fp32_weights"),
    ZERO("elastic_checkpoint"), ZERO("sub_group_size"), ZERO("cpu_offload_use_pin_memory"),
    ZERO("stage3_prefetch_bucket_size"),
    ZERO("stage3_param_persistence_threshold"), ZERO("stage3_model_persistence_threshold"),
    ZERO("stage3_max_live_parameters"), ZERO("stage3_max_reuse_distance"), ZERO("stage3_module_granularity_threshold"),
    ZERO("stage3_gather_16bit_weights_on_model_save"), ZERO("stage3_gather_fp16_weights_on_model_save"),
    ZERO("stage3_use_all_reduce_for_fetch_params"), ZERO("ignore_unused_parameters"), ZERO("legacy_stage1"),
    ZERO("round_robin_gradients"), ZERO("zero_hpz_partition_size"), ZERO("mics_shard_size"),
    ZERO("mics_hierarchical_params_gather"), ZERO("memory_efficient_linear"), ZERO("pipeline_loading_checkpoint"),
    ZERO("override_module_apply"), ZERO("log_trace_cache_warnings"),
    WORD("zero_optimization.zero_quantized_weights", KEY_OFF),
    WORD("zero_optimization.zero_quantized_nontrainable_weights", KEY_OFF),
    WORD("zero_optimization.zero_quantized_gradients", KEY_OFF), WORD("zero_allow_untested_optimizer", KEY_NOTE),
    WORD("zero_force_ds_cpu_optimizer", KEY_NOTE), WORD("prescale_gradients", KEY_NOTE),
    WORD("gradient_predivide_factor", KEY_NOTE), WORD("communication_data_type", KEY_TAKEN),
    WORD("fp32_allreduce", KEY_NOTE), WORD("disable_allgather", KEY_NOTE), WORD("sparse_gradients", KEY_NOTE),
    WORD("data_types", KEY_NOTE), WORD("bf16.immediate_grad_update", KEY_NOTE),
    WORD("steps_per_print", KEY_NOTE), WORD("wall_clock_breakdown", KEY_NOTE), WORD("memory_breakdown", KEY_NOTE),
    WORD("dump_state", KEY_NOTE), WORD("tensorboard", KEY_NOTE), WORD("csv_monitor", KEY_NOTE), WORD("wandb", KEY_NOTE),
    WORD("comet", KEY_NOTE), WORD("flops_profiler", KEY_NOTE), WORD("comms_logger", KEY_NOTE),
    WORD("timers", KEY_NOTE), WORD("checkpoint", KEY_NOTE),
    WORD("dataloader_drop_last", KEY_NOTE), WORD("vocabulary_size", KEY_NOTE), WORD("aio", KEY_NOTE),
    {.path = "activation_checkpointing.number_checkpoints", .kind = KEY_COUNT, .field = FIELD(checkpoints), .min = 1,
     .max = 1e9},
    WORD("activation_checkpointing.partition_activations", KEY_NOTE),
    WORD("activation_checkpointing.cpu_checkpointing", KEY_NOTE), WORD("activation_checkpointing.profile", KEY_NOTE),
    WORD("activation_checkpointing.contiguous_memory_optimization", KEY_NOTE),
    WORD("activation_checkpointing.synchronize_checkpoint_boundary", KEY_NOTE),

    WORD("progressive_layer_drop.enabled", KEY_SWITCH),
    {.path = "progressive_layer_drop.theta", .kind = KEY_REAL, .field = FIELD(config.layer_drop.theta),
     .min = 0x1p-20, .max = 1},
    {.path = "progressive_layer_drop.gamma", .kind = KEY_REAL, .field = FIELD(config.layer_drop.gamma), .min = 0,
     .max = 1e9},
    WORD("amp", KEY_OFF), WORD("curriculum_learning", KEY_OFF),
    WORD("data_efficiency", KEY_OFF), WORD("elasticity", KEY_OFF), WORD("quantize_training", KEY_OFF),
    WORD("eigenvalue", KEY_OFF), WORD("autotuning", KEY_OFF), WORD("hybrid_engine", KEY_OFF),
    WORD("sparse_attention", KEY_NOTE), /* bing_bert reads it only with --deepspeed_sparse_attention */
    WORD("compression_training", KEY_REFUSED),
};
/* clang-format on */
#define KEYS (sizeof table / sizeof *table)

/* ---- values ---- */

static int set_betas(const struct keys *keys, const char *path, struct optimizer *optimizer, const json_t *value,
                     struct error *err)
{
    const json_t *first = json_array_get(value, 0), *second = json_array_get(value, 1);
    optimizer->beta1 = json_number_value(first);
    optimizer->beta2 = json_number_value(second);
    if (json_array_size(value) != 2 || !json_is_number(first) || !json_is_number(second) || optimizer->beta1 < 0 ||
        optimizer->beta1 >= 1 || optimizer->beta2 < 0 || optimizer->beta2 >= 1)
        return keys_complain(keys, path, "not two numbers from 0 to below 1, as [0.9,0.999]", err);
    return 0;
}

/* A key that was found in a table, with the field that it sets. */
struct found_key {
    enum key_kind kind;
    void *field;
    double min, max;
    const char *const *words; /* for KEY_CHOICE: the words for false and for true */
};

static int set_value(const struct keys *keys, const char *path, const struct found_key *key, const json_t *value,
                     struct error *err)
{
    char text[120];
    const char *word;
    const double real = json_number_value(value);
    switch (key->kind) {
    case KEY_REAL:
    case KEY_COUNT:
        snprintf(text, sizeof text, "not a %s from %g to %g", key->kind == KEY_COUNT ? "count" : "number", key->min,
                 key->max);
        if (!json_is_number(value) || !(real >= key->min && real <= key->max) ||
            (key->kind == KEY_COUNT && real != floor(real)))
            return keys_complain(keys, path, text, err);
        if (key->kind == KEY_COUNT)
            *(uint64_t *)key->field = (uint64_t)real;
        else
            *(double *)key->field = real;
        return 0;
    case KEY_AUTO: /* 0 is no valid count, so it can stand for "auto" */
        if (json_is_string(value) && strcmp(json_string_value(value), "auto") == 0) {
            *(double *)key->field = 0;
            return 0;
        }
        if (!json_is_number(value) || !(real >= key->min && real <= key->max) || real != floor(real))
            return keys_complain(keys, path, "neither a count of at least 1 nor \"auto\"", err);
        *(double *)key->field = real;
        return 0;
    case KEY_FLAG:
        if (!json_is_boolean(value))
            return keys_complain(keys, path, "neither true nor false", err);
        *(bool *)key->field = json_is_true(value);
        return 0;
    case KEY_CHOICE:
        word = json_is_string(value) ? json_string_value(value) : "";
        *(bool *)key->field = strcmp(word, key->words[1]) == 0;
        if (*(bool *)key->field || strcmp(word, key->words[0]) == 0)
            return 0;
        snprintf(text, sizeof text, "neither \"%s\" nor \"%s\"", key->words[0], key->words[1]);
        return keys_complain(keys, path, text, err);
    default: /* the other kinds set no field here */
        return 0;
    }
}

int keys_real(const struct keys *keys, const char *path, double min, double max, double *out, struct error *err)
{
    const json_t *value = keys_get(keys->values, path);
    return value ? set_value(keys, path, &(struct found_key){KEY_REAL, out, min, max, NULL}, value, err) : 0;
}

/* ---- walking over all keys ---- */

/* The keys that belong to the recipe's kind of optimizer or schedule only. */
struct own_keys {
    const char *prefix;
    const struct json_field *fields;
    void *holder;
};
#define OWN_KEYS 2

static void own_keys_of(struct recipe *recipe, struct own_keys own[OWN_KEYS])
{
    own[0] = (struct own_keys){"optimizer.params.", optimizer_kinds[recipe->optimizer.kind].params, &recipe->optimizer};
    own[1] = (struct own_keys){"scheduler.params.", schedule_types[recipe->schedule.kind].params, &recipe->schedule};
}

static enum key_kind kind_of(enum json_field_type type)
{
    switch (type) {
    case FIELD_REAL:
        return KEY_REAL;
    case FIELD_FLAG:
        return KEY_FLAG;
    case FIELD_CURVE:
    case FIELD_ADJUST:
    case FIELD_SCALE:
        return KEY_CHOICE;
    case FIELD_COUNT:
        return KEY_AUTO;
    case FIELD_NOTE:
        return KEY_NOTE;
    case FIELD_OFF:
        break;
    }
    return KEY_OFF;
}

static bool find_own_key(struct recipe *recipe, const char *path, struct found_key *found)
{
    struct own_keys own[OWN_KEYS];
    own_keys_of(recipe, own);
    for (int i = 0; i < OWN_KEYS; i++) {
        const size_t size = strlen(own[i].prefix);
        const struct json_field *field =
            strncmp(path, own[i].prefix, size) == 0 ? json_field_named(own[i].fields, path + size) : NULL;
        if (field) {
            *found = (struct found_key){kind_of(field->type), (char *)own[i].holder + field->field, field->min,
                                        field->max, json_field_words(field->type)};
            return true;
        }
    }
    return false;
}

static bool find_key(struct recipe *recipe, const char *path, struct found_key *found)
{
    if (find_own_key(recipe, path, found))
        return true;
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(table[i].path, path) == 0) {
            *found =
                (struct found_key){table[i].kind, (char *)recipe + table[i].field, table[i].min, table[i].max, NULL};
            return true;
        }
    return false;
}

/* The nearest key so far: one below the path, or one that differs as a typing error does. */
struct nearest {
    char key[80];
    unsigned distance;
};

static void nearer(struct str path, const char *prefix, const char *name, struct nearest *best)
{
    char candidate[sizeof best->key];
    snprintf(candidate, sizeof candidate, "%s%s", prefix, name);
    const bool below = str_starts(str_of(candidate), path) && candidate[path.size] == '.';
    const unsigned distance = below ? 1 : str_distance(path, str_of(candidate));
    if (distance < best->distance) {
        best->distance = distance;
        memcpy(best->key, candidate, sizeof candidate);
    }
}

static int unknown_key(const struct keys *keys, const char *path, struct recipe *recipe, struct error *err)
{
    const char *dot = strrchr(path, '.');
    struct nearest best = {.distance = 2 + (unsigned)strlen(dot ? dot : path) / 4};
    struct own_keys own[OWN_KEYS];
    const struct str name = str_of(path);
    own_keys_of(recipe, own);
    for (size_t i = 0; i < KEYS && name.size < 64; i++)
        nearer(name, "", table[i].path, &best);
    for (int i = 0; i < OWN_KEYS && name.size < 64; i++)
        for (const struct json_field *field = own[i].fields; field->key; field++)
            nearer(name, own[i].prefix, field->key, &best);
    keys_complain(keys, path, "unknown key", err);
    if (str_starts(name, STR("scheduler.params.")) && !keys_get(keys->values, "scheduler.type"))
        return hint(err,
                    "scheduler.type is missing, which says what params there are; --warmup and --schedule need none");
    if (strcmp(path, "optimizer.params.learning_rate") == 0)
        return hint(err, "ours is optimizer.params.lr");
    return best.key[0] ? hint(err, "the nearest key is %s", best.key) : -1;
}

static int apply_key(struct keys *keys, const char *path, const struct found_key *key, const json_t *value,
                     struct error *err)
{
    switch (key->kind) {
    case KEY_SWITCH:
        return json_is_boolean(value) ? 0 : keys_complain(keys, path, "neither true nor false", err);
    case KEY_BETAS:
        return set_betas(keys, path, key->field, value, err);
    case KEY_BLOCK:
        return json_is_object(value) || json_is_boolean(value)
                   ? 0
                   : keys_complain(keys, path, "neither an object nor true or false", err);
    case KEY_NOTE:
        buf_addf(&keys->notes, "%s%s", keys->notes.size > 0 ? ", " : "", path);
        return 0;
    case KEY_OFF:
        if (json_is_object(value) ? !json_is_true(json_object_get(value, "enabled")) : json_is_false(value))
            return 0;
        return keys_complain(keys, path, "would change the result and is not built", err);
    case KEY_REFUSED:
        return keys_complain(keys, path, "would change the result and is not built", err);
    default:
        return set_value(keys, path, key, value, err);
    }
}

/* Applies all keys, recursing into objects that are not keys themselves. keys_read has bounded the depth. */
static int apply_all(struct keys *keys, const json_t *object, const char *above, struct recipe *recipe,
                     struct error *err)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        char path[256];
        struct found_key found;
        snprintf(path, sizeof path, "%s%s%s", above, above[0] ? "." : "", name);
        const bool known = !strchr(name, '.') && find_key(recipe, path, &found); /* a name with a dot is not a path */
        const bool block = known && found.kind == KEY_BLOCK && json_is_object(value);
        if (known)
            TRY(apply_key(keys, path, &found, value, err));
        if (known && !block)
            continue;
        if (json_is_object(value) && !strchr(name, '.') && strlen(path) < sizeof path - 1)
            TRY(apply_all(keys, value, path, recipe, err));
        else
            return unknown_key(keys, path, recipe, err);
    }
    return 0;
}

/* ---- all keys ---- */

/* Checks that required parameters are present and consistent with each other. */
static int check_schedule(const struct keys *keys, const struct schedule *schedule, struct error *err)
{
    const struct schedule_type *type = &schedule_types[schedule->kind];
    for (const struct json_field *param = type->params; param->key; param++) {
        char path[80];
        snprintf(path, sizeof path, "scheduler.params.%s", param->key);
        if (param->type == FIELD_REAL && isnan(*(const double *)((const char *)schedule + param->field)))
            return keys_complain(keys, path, "is missing", err);
    }
    if (schedule->momentum && schedule->kind == SCHEDULE_ONE_CYCLE && schedule->momentum_min > schedule->momentum_max)
        return keys_complain(keys, "scheduler.params.cycle_min_mom", "is above cycle_max_mom", err);
    return 0;
}

static int choose_layer_drop(const struct keys *keys, const struct settings *settings, struct recipe *recipe,
                             struct error *err)
{
    if (keys_enabled(keys, "progressive_layer_drop")) {
        recipe->config.layer_drop.compat = settings->pld_compat;
        return 0;
    }
    recipe->config.layer_drop = (struct layer_drop){0};
    return settings->pld_compat ? fail(err, ERR_USAGE, "--pld-compat needs --set progressive_layer_drop.enabled=true")
                                : 0;
}

/* Refuses bing_bert's second configuration file, which names the model and the data. */
static int refuse_others(const struct keys *keys, struct error *err)
{
    if (!keys->file || !keys_get(keys->values, "bert_model_config"))
        return 0;
    fail_at(err, ERR_USAGE, keys->file, ERROR_NO_OFFSET, "is a file for bing_bert's --cf, not for DeepSpeed");
    return hint(err, "put its bert_model_config into a file for --model and build its data with dsdata build; "
                     "learning_rate is --lr here, warmup_proportion --warmup, total_training_steps --steps, and "
                     "lr_schedule a scheduler.type");
}

/* DeepSpeed's files may leave optimizer and schedule to a script; in that case logs what is used instead. */
static void say_defaults(const struct keys *keys, const struct settings *settings, const struct recipe *recipe)
{
    const bool optimizer = settings_given(settings, "optimizer") || keys_get(keys->values, "optimizer.type");
    const bool schedule = settings_given(settings, "schedule") || settings_given(settings, "warmup") ||
                          keys_get(keys->values, "scheduler.type");
    char text[160];
    if (keys->file && !(optimizer && schedule))
        log_say("note       %s names no %s: trains with %s (--optimizer, --lr, --schedule, --warmup)", keys->file,
                optimizer  ? "scheduler"
                : schedule ? "optimizer"
                           : "optimizer and no scheduler",
                recipe_text(recipe, text));
}

int keys_apply(struct keys *keys, const struct settings *settings, struct recipe *recipe, struct error *err)
{
    recipe->config.layer_drop = (struct layer_drop){.theta = 1, .gamma = 0.001}; /* DeepSpeed's */
    recipe->clipping = keys->file ? 0 : 1.0;
    TRY(refuse_others(keys, err));
    TRY(keys_choose(keys, settings, recipe, err));
    TRY(apply_all(keys, keys->values, "", recipe, err));
    if (keys->notes.size > 0)
        log_say("note       no effect here: %s", buf_text(&keys->notes));
    say_defaults(keys, settings, recipe);
    TRY(choose_layer_drop(keys, settings, recipe, err));
    if (recipe->optimizer.ratio_min > recipe->optimizer.ratio_max)
        return keys_complain(keys, "optimizer.params.min_coeff", "is above max_coeff", err);
    return check_schedule(keys, &recipe->schedule, err);
}

/* The keys that no option has: which exist (DeepSpeed's runtime/config.py), what they set, which are ignored because
 * they have no meaning here, and which are refused because they would change the result. An option names its key in its
 * own row (options.c). */
#include "trainer/recipe/keys.h"

#include <stdio.h>

#include "base/log.h"

enum key_kind {
    KEY_REAL,
    KEY_COUNT,   /* uint64_t */
    KEY_SIZE,    /* uint64_t: at least 1; 0: absent */
    KEY_FLAG,    /* bool */
    KEY_TYPE,    /* const char *: a name */
    KEY_STAGE,   /* uint64_t: of ZeRO */
    KEY_BETAS,   /* of the optimizer */
    KEY_CLIP,    /* the optimizer's own clipping, or that of all gradients together */
    KEY_CHOICE,  /* bool: one of two words */
    KEY_AUTO,    /* double: a count, or 0 for "auto" */
    KEY_NOTE,    /* ignored with a note, with everything below it */
    KEY_BLOCK,   /* an object whose keys have rows; or true or false */
    KEY_OFF,     /* must be false, or have "enabled": false */
    KEY_OFFLOAD, /* must be null or false, or have "device": "none" */
    KEY_REFUSED,
    KEY_TAKEN, /* found, but keys_take has read it already; in no row */
};

struct key {
    const char *path;
    enum key_kind kind;
    bool first;   /* other keys depend on it: the field is in struct keys, else in struct recipe */
    size_t field; /* of the kinds that set one */
    double min, max;
    const char *identity; /* its name in a run's identity (keys_identity); NULL: see OUTSIDE and DERIVED */
};

#define OUTSIDE NULL /* not in the identity: bits do not depend on it, or as little as on the machine */
#define DERIVED NULL /* recipe_identity adds what follows from it */

/* clang-format off */
#define SETS(key, what, member, least, most, name)                                                                     \
    {.path = key, .kind = what, .field = offsetof(struct recipe, member), .min = least, .max = most, .identity = name}
#define FLAG(key, member, name) SETS(key, KEY_FLAG, member, 0, 1, name)
#define FIRST(key, what, member) {.path = key, .kind = what, .first = true, .field = offsetof(struct keys, member)}
#define WORD(key, what)          {.path = key, .kind = what}

#define ZERO(name) WORD("zero_optimization." name, KEY_NOTE) /* affects memory and messages, not results */

static const struct key table[] = {
    FIRST("train_batch_size", KEY_SIZE, batch), FIRST("train_micro_batch_size_per_gpu", KEY_SIZE, micro_batch),
    FIRST("gradient_accumulation_steps", KEY_SIZE, accumulation), FIRST("batch_warmup.from", KEY_SIZE, batch_from),
    FIRST("optimizer.type", KEY_TYPE, optimizer), FIRST("scheduler.type", KEY_TYPE, scheduler),
    FIRST("fp16.enabled", KEY_FLAG, fp16), FIRST("bf16.enabled", KEY_FLAG, bf16),
    FIRST("bfloat16.enabled", KEY_FLAG, bfloat16), FIRST("progressive_layer_drop.enabled", KEY_FLAG, layer_drop),
    FIRST("zero_optimization.stage", KEY_STAGE, zero),

    /* Common to all optimizers. Each kind has a table of its own keys in optim/optimizer.c, which is searched first. */
    SETS("optimizer.params.betas", KEY_BETAS, optimizer, 0, 1, DERIVED),
    SETS("optimizer.params.eps", KEY_REAL, optimizer.epsilon, 0, 1, "eps"),
    SETS("optimizer.params.weight_decay", KEY_REAL, optimizer.weight_decay, 0, 1e3, "weight_decay"),
    FLAG("optimizer.params.bias_correction", optimizer.bias_correction, "bias_correction"),
    SETS("optimizer.params.max_grad_norm", KEY_CLIP, clipping, 0, 1e6, DERIVED),
    WORD("optimizer.params.amsgrad", KEY_OFF), WORD("optimizer.params.set_grad_none", KEY_NOTE),
    WORD("optimizer.legacy_fusion", KEY_NOTE),
    SETS("gradient_clipping", KEY_REAL, clipping, 0, 1e6, "gradient_clipping"),
    FLAG("scheduler.params.rewarmup", rewarmup, DERIVED),

    SETS("fp16.loss_scale", KEY_REAL, scaling.loss_scale, 0, 0x1p32, "loss_scale"),
    SETS("fp16.initial_scale_power", KEY_REAL, scaling.initial_power, 0, 32, "initial_scale_power"),
    SETS("fp16.loss_scale_window", KEY_COUNT, scaling.window, 1, 1e9, "loss_scale_window"),
    SETS("fp16.hysteresis", KEY_COUNT, scaling.hysteresis, 1, 1e9, "hysteresis"),
    FLAG("fp16.consecutive_hysteresis", scaling.consecutive, "consecutive_hysteresis"),
    SETS("fp16.min_loss_scale", KEY_REAL, scaling.minimum, 0x1p-24, 0x1p32, "min_loss_scale"),
    WORD("fp16.auto_cast", KEY_NOTE), WORD("fp16.fp16_master_weights_and_grads", KEY_OFF),

    WORD("zero_optimization", KEY_BLOCK),
    FLAG("zero_optimization.overlap_comm", overlap, OUTSIDE),
    SETS("zero_optimization.reduce_bucket_size", KEY_COUNT, bucket, 1, 1e12, OUTSIDE),
    WORD("zero_optimization.offload_param", KEY_OFFLOAD), WORD("zero_optimization.offload_optimizer", KEY_OFFLOAD),
    WORD("zero_optimization.cpu_offload", KEY_OFFLOAD), WORD("zero_optimization.cpu_offload_params", KEY_OFFLOAD),
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
    WORD("gradient_predivide_factor", KEY_NOTE),
    WORD("fp32_allreduce", KEY_NOTE), WORD("disable_allgather", KEY_NOTE), WORD("sparse_gradients", KEY_NOTE),
    WORD("data_types", KEY_NOTE), WORD("bf16.immediate_grad_update", KEY_NOTE),
    WORD("steps_per_print", KEY_NOTE), WORD("wall_clock_breakdown", KEY_NOTE), WORD("memory_breakdown", KEY_NOTE),
    WORD("dump_state", KEY_NOTE), WORD("tensorboard", KEY_NOTE), WORD("csv_monitor", KEY_NOTE), WORD("wandb", KEY_NOTE),
    WORD("comet", KEY_NOTE), WORD("flops_profiler", KEY_NOTE), WORD("comms_logger", KEY_NOTE),
    WORD("timers", KEY_NOTE), WORD("checkpoint", KEY_NOTE),
    WORD("dataloader_drop_last", KEY_NOTE), WORD("vocabulary_size", KEY_NOTE), WORD("aio", KEY_NOTE),
    SETS("activation_checkpointing.number_checkpoints", KEY_COUNT, checkpoints, 1, 1e9, OUTSIDE),
    WORD("activation_checkpointing.partition_activations", KEY_NOTE),
    WORD("activation_checkpointing.cpu_checkpointing", KEY_NOTE), WORD("activation_checkpointing.profile", KEY_NOTE),
    WORD("activation_checkpointing.contiguous_memory_optimization", KEY_NOTE),
    WORD("activation_checkpointing.synchronize_checkpoint_boundary", KEY_NOTE),

    SETS("progressive_layer_drop.theta", KEY_REAL, config.layer_drop.theta, 0x1p-20, 1, "layer_drop_theta"),
    SETS("progressive_layer_drop.gamma", KEY_REAL, config.layer_drop.gamma, 0, 1e9, "layer_drop_gamma"),
    /* Of global and of local layers: a later phase of a training, with --init, may have others. */
    SETS("rope_theta", KEY_REAL, config.theta_global, 1, 1e12, DERIVED),
    SETS("local_rope_theta", KEY_REAL, config.theta_local, 1, 1e12, DERIVED),
    WORD("amp", KEY_OFF), WORD("curriculum_learning", KEY_OFF),
    WORD("data_efficiency", KEY_OFF), WORD("elasticity", KEY_OFF), WORD("quantize_training", KEY_OFF),
    WORD("eigenvalue", KEY_OFF), WORD("autotuning", KEY_OFF), WORD("hybrid_engine", KEY_OFF),
    WORD("sparse_attention", KEY_NOTE), /* bing_bert reads it only with --deepspeed_sparse_attention */
    WORD("compression_training", KEY_REFUSED),
};
/* clang-format on */
#define KEYS (sizeof table / sizeof *table)

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

/* A key that was found in a table, with the field that it sets. keys_take has read those of kind KEY_TAKEN. */
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
    case KEY_SIZE:
        if (!json_is_number(value) || !(real >= 1 && real <= 1e9) || real != floor(real))
            return keys_complain(keys, path, "not a count of at least 1", err);
        *(uint64_t *)key->field = (uint64_t)real;
        return 0;
    case KEY_STAGE:
        if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > 3)
            return keys_complain(keys, path, "not 0, 1 or 2", err);
        *(uint64_t *)key->field = (uint64_t)json_integer_value(value);
        return 0;
    case KEY_TYPE:
        *(const char **)key->field = json_is_string(value) ? json_string_value(value) : "not a string";
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

/* Sets the settings of options that were not given and have a key. */
static int take_options(struct keys *keys, struct error *err)
{
    struct settings *settings = &keys->settings;
    for (const struct opt_row *row = settings->program->rows; row->name; row++) {
        char wanted[OPT_WANTED_BYTES];
        if (!row->key || !opt_row_is_for(row, settings->result->verb) || settings_given(settings, row->name))
            continue;
        const json_t *value = keys_get(keys->values, row->key);
        if (value && !opts_set_json(row, value, settings, wanted))
            return keys_complain(keys, row->key, wanted, err);
    }
    return 0;
}

int keys_take(struct keys *keys, struct error *err)
{
    for (const struct key *key = table; key < table + KEYS; key++) {
        const json_t *value = key->first ? keys_get(keys->values, key->path) : NULL;
        const struct found_key found = {.kind = key->kind, .field = (char *)keys + key->field};
        if (value)
            TRY(set_value(keys, key->path, &found, value, err));
    }
    return take_options(keys, err);
}

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

/* The first row of an option with that key, or that ends the table. */
static const struct opt_row *option_of(const struct keys *keys, const char *path)
{
    const struct opt_row *row = keys->settings.program->rows;
    while (row->name && !(row->key && strcmp(row->key, path) == 0))
        row++;
    return row;
}

static bool find_key(const struct keys *keys, struct recipe *recipe, const char *path, struct found_key *found)
{
    if (find_own_key(recipe, path, found))
        return true;
    for (const struct key *key = table; key < table + KEYS; key++)
        if (strcmp(key->path, path) == 0) {
            *found = (struct found_key){key->first ? KEY_TAKEN : key->kind, (char *)recipe + key->field, key->min,
                                        key->max, NULL};
            return true;
        }
    *found = (struct found_key){.kind = KEY_TAKEN};
    return option_of(keys, path)->name;
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
    for (const struct opt_row *row = keys->settings.program->rows; row->name && name.size < 64; row++)
        if (row->key)
            nearer(name, "", row->key, &best);
    for (int i = 0; i < OWN_KEYS && name.size < 64; i++)
        for (const struct json_field *field = own[i].fields; field->key; field++)
            nearer(name, own[i].prefix, field->key, &best);
    keys_complain(keys, path, "unknown key", err);
    if (str_starts(name, STR("scheduler.params.")) && !keys->scheduler)
        return hint(err,
                    "scheduler.type is missing, which says what params there are; --warmup and --schedule need none");
    if (strcmp(path, "optimizer.params.learning_rate") == 0)
        return hint(err, "ours is optimizer.params.lr");
    return best.key[0] ? hint(err, "the nearest key is %s", best.key) : -1;
}

/* An optimizer without a max_grad_norm of its own leaves clipping to the wrapper, which clips all gradients together;
 * gradient_clipping overrides that. */
static int set_clip(const struct keys *keys, const char *path, const struct found_key *key, struct recipe *recipe,
                    const json_t *value, struct error *err)
{
    struct found_key clip = *key;
    double overridden;
    if (optimizer_kinds[recipe->optimizer.kind].compresses)
        return keys_complain(keys, path, "use gradient_clipping, which clips all gradients together", err);
    clip.kind = KEY_REAL;
    if (recipe->optimizer.tensor_norm > 0)
        clip.field = &recipe->optimizer.tensor_norm;
    else if (keys_get(keys->values, "gradient_clipping"))
        clip.field = &overridden;
    return set_value(keys, path, &clip, value, err);
}

static bool is_off(const json_t *value)
{
    return json_is_object(value) ? !json_is_true(json_object_get(value, "enabled")) : json_is_false(value);
}

static bool stays_in_memory(const json_t *value)
{
    const char *device = json_string_value(json_object_get(value, "device"));
    return json_is_null(value) || json_is_false(value) || (device && strcmp(device, "none") == 0);
}

static int apply_key(struct keys *keys, const char *path, const struct found_key *key, const json_t *value,
                     struct recipe *recipe, struct error *err)
{
    switch (key->kind) {
    case KEY_BETAS:
        return set_betas(keys, path, key->field, value, err);
    case KEY_CLIP:
        return set_clip(keys, path, key, recipe, value, err);
    case KEY_BLOCK:
        return json_is_object(value) || json_is_boolean(value)
                   ? 0
                   : keys_complain(keys, path, "neither an object nor true or false", err);
    case KEY_NOTE:
        buf_addf(&keys->notes, "%s%s", keys->notes.size > 0 ? ", " : "", path);
        return 0;
    case KEY_OFF:
        return is_off(value) ? 0 : keys_complain(keys, path, "would change the result and is not built", err);
    case KEY_OFFLOAD:
        return stays_in_memory(value) ? 0 : keys_complain(keys, path, "is not built: nothing is offloaded", err);
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
        const bool known =
            !strchr(name, '.') && find_key(keys, recipe, path, &found); /* a name with a dot is not a path */
        const bool block = known && found.kind == KEY_BLOCK && json_is_object(value);
        if (known)
            TRY(apply_key(keys, path, &found, value, recipe, err));
        if (known && !block)
            continue;
        if (json_is_object(value) && !strchr(name, '.') && strlen(path) < sizeof path - 1)
            TRY(apply_all(keys, value, path, recipe, err));
        else
            return unknown_key(keys, path, recipe, err);
    }
    return 0;
}

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

static int choose_layer_drop(const struct keys *keys, struct recipe *recipe, struct error *err)
{
    if (keys->layer_drop) {
        recipe->config.layer_drop.compat = keys->settings.pld_compat;
        return 0;
    }
    recipe->config.layer_drop = (struct layer_drop){0};
    return keys->settings.pld_compat
               ? fail(err, ERR_USAGE, "--pld-compat needs --set progressive_layer_drop.enabled=true")
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
static void say_defaults(const struct keys *keys, const struct recipe *recipe)
{
    const struct settings *settings = &keys->settings;
    const bool optimizer = settings_given(settings, "optimizer") || keys->optimizer;
    const bool schedule = settings_given(settings, "schedule") || settings_given(settings, "warmup") ||
                          keys->scheduler || keys_get(keys->values, "schedule");
    char text[160];
    if (keys->file && !(optimizer && schedule))
        log_say("note       %s names no %s: trains with %s (--optimizer, --lr, --schedule, --warmup)", keys->file,
                optimizer  ? "scheduler"
                : schedule ? "optimizer"
                           : "optimizer and no scheduler",
                recipe_text(recipe, text));
}

int keys_apply(struct keys *keys, struct recipe *recipe, struct error *err)
{
    recipe->config.layer_drop = (struct layer_drop){.theta = 1, .gamma = 0.001}; /* DeepSpeed's */
    recipe->clipping = keys->file ? 0 : 1.0;
    TRY(refuse_others(keys, err));
    TRY(keys_choose(keys, recipe, err));
    static const char *const thetas[] = {"rope_theta", "local_rope_theta"};
    for (int i = 0; i < 2; i++)
        if (recipe->config.theta_global == 0 && keys_get(keys->values, thetas[i]))
            return keys_complain(keys, thetas[i], "the model has no rotary positions", err);
    TRY(apply_all(keys, keys->values, "", recipe, err));
    if (keys->notes.size > 0)
        log_say("note       no effect here: %s", buf_text(&keys->notes));
    say_defaults(keys, recipe);
    TRY(choose_layer_drop(keys, recipe, err));
    if (recipe->optimizer.ratio_min > recipe->optimizer.ratio_max)
        return keys_complain(keys, "optimizer.params.min_coeff", "is above max_coeff", err);
    if (recipe->optimizer.decouple_rate && recipe->optimizer.peak == 0)
        recipe->optimizer.peak = recipe->schedule.rate;
    return check_schedule(keys, &recipe->schedule, err);
}

void keys_identity(const struct recipe *recipe, const char *prefix, json_t *identity)
{
    for (const struct key *key = table; key < table + KEYS; key++) {
        const void *field = (const char *)recipe + key->field;
        if (!key->identity || strncmp(key->path, prefix, strlen(prefix)) != 0)
            continue;
        if (key->kind == KEY_REAL)
            json_object_set_new(identity, key->identity, json_real(*(const double *)field));
        else if (key->kind == KEY_COUNT)
            json_object_set_new(identity, key->identity, json_integer((json_int_t) * (const uint64_t *)field));
        else
            json_object_set_new(identity, key->identity, json_boolean(*(const bool *)field));
        assert(key->kind == KEY_REAL || key->kind == KEY_COUNT || key->kind == KEY_FLAG);
    }
}

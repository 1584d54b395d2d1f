/* Tables of keys: which there are, what they set, what has no meaning in one process, what is refused because it would
 * change the result (DeepSpeed's runtime/config.py names them). */
#include "trainer/keys/keys.h"

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
    KEY_CHOICE, /* bool: "log" or "linear" */
    KEY_TAKEN,  /* read by name elsewhere in this file */
    KEY_SWITCH, /* the same, true or false */
    KEY_NOTE,   /* it and all below has no meaning here */
    KEY_OFF,    /* must be false, or "enabled": false */
    KEY_REFUSED,
};

struct key {
    const char *path;
    enum key_kind kind;
    size_t field; /* in struct recipe */
    double min, max;
    unsigned kinds; /* of optimizers that have it; 0: not an optimizer's */
};

#define FIELD(name) offsetof(struct recipe, name)
#define ADAM        (1u << OPTIMIZER_ADAM)
#define LAMB        (1u << OPTIMIZER_LAMB)
#define NVLAMB      (1u << OPTIMIZER_NVLAMB)
#define LANS        (1u << OPTIMIZER_LANS)
#define ALL         (ADAM | LAMB | NVLAMB | LANS)

/* clang-format off */
#define WORD(name, what) {.path = name, .kind = what}
#define PARAM_WORD(name, what, which) {.path = "optimizer.params." name, .kind = what, .kinds = which}
#define PARAM(name, what, member, least, most, which)                                              \
    {.path = "optimizer.params." name, .kind = what, .field = FIELD(member), .min = least, .max = most, .kinds = which}

static const struct key table[] = {
    WORD("train_batch_size", KEY_TAKEN), WORD("train_micro_batch_size_per_gpu", KEY_TAKEN),
    WORD("gradient_accumulation_steps", KEY_TAKEN),
    {.path = "gradient_clipping", .kind = KEY_REAL, .field = FIELD(clipping), .min = 0, .max = 1e6},
    WORD("optimizer.type", KEY_TAKEN), PARAM_WORD("lr", KEY_TAKEN, ALL),
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

    PARAM("betas", KEY_BETAS, optimizer, 0, 1, ALL),
    PARAM("eps", KEY_REAL, optimizer.epsilon, 0, 1, ALL),
    PARAM("weight_decay", KEY_REAL, optimizer.weight_decay, 0, 1e3, ALL),
    PARAM("bias_correction", KEY_FLAG, optimizer.bias_correction, 0, 1, ALL),
    PARAM("adam_w_mode", KEY_FLAG, optimizer.decoupled, 0, 1, ADAM),
    PARAM("max_coeff", KEY_REAL, optimizer.ratio_max, 0, 1e9, LAMB),
    PARAM("min_coeff", KEY_REAL, optimizer.ratio_min, 0, 1e9, LAMB),
    PARAM_WORD("max_grad_norm", KEY_TAKEN, ALL),
    PARAM("grad_averaging", KEY_FLAG, optimizer.gradient_average, 0, 1, NVLAMB | LANS),
    PARAM("use_nvlamb", KEY_FLAG, optimizer.ratio_always, 0, 1, NVLAMB),
    PARAM_WORD("amsgrad", KEY_OFF, ALL),
    PARAM_WORD("eps_inside_sqrt", KEY_OFF, ADAM | LAMB),
    PARAM_WORD("torch_adam", KEY_NOTE, ADAM), PARAM_WORD("fused", KEY_NOTE, ADAM),
    PARAM_WORD("set_grad_none", KEY_NOTE, ALL), WORD("optimizer.legacy_fusion", KEY_NOTE),

    WORD("zero_optimization", KEY_NOTE), WORD("zero_allow_untested_optimizer", KEY_NOTE),
    WORD("zero_force_ds_cpu_optimizer", KEY_NOTE), WORD("prescale_gradients", KEY_NOTE),
    WORD("gradient_predivide_factor", KEY_NOTE), WORD("communication_data_type", KEY_NOTE),
    WORD("fp32_allreduce", KEY_NOTE), WORD("disable_allgather", KEY_NOTE), WORD("sparse_gradients", KEY_NOTE),
    WORD("data_types", KEY_NOTE), WORD("bf16.immediate_grad_update", KEY_NOTE),
    WORD("steps_per_print", KEY_NOTE), WORD("wall_clock_breakdown", KEY_NOTE), WORD("memory_breakdown", KEY_NOTE),
    WORD("dump_state", KEY_NOTE), WORD("tensorboard", KEY_NOTE), WORD("csv_monitor", KEY_NOTE), WORD("wandb", KEY_NOTE),
    WORD("comet", KEY_NOTE), WORD("flops_profiler", KEY_NOTE), WORD("comms_logger", KEY_NOTE),
    WORD("checkpoint", KEY_NOTE),
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
    WORD("sparse_attention", KEY_REFUSED), WORD("compression_training", KEY_REFUSED),
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

static int set_value(const struct keys *keys, const char *path, enum key_kind kind, void *field, double min, double max,
                     const json_t *value, struct error *err)
{
    char text[120];
    const double real = json_number_value(value);
    switch (kind) {
    case KEY_REAL:
    case KEY_COUNT:
        snprintf(text, sizeof text, "not a %s from %g to %g", kind == KEY_COUNT ? "count" : "number", min, max);
        if (!json_is_number(value) || !(real >= min && real <= max) || (kind == KEY_COUNT && real != floor(real)))
            return keys_complain(keys, path, text, err);
        if (kind == KEY_COUNT)
            *(uint64_t *)field = (uint64_t)real;
        else
            *(double *)field = real;
        return 0;
    case KEY_FLAG:
        if (!json_is_boolean(value))
            return keys_complain(keys, path, "neither true nor false", err);
        *(bool *)field = json_is_true(value);
        return 0;
    case KEY_CHOICE:
        *(bool *)field = json_is_string(value) && strcmp(json_string_value(value), "linear") == 0;
        if (!*(bool *)field && !(json_is_string(value) && strcmp(json_string_value(value), "log") == 0))
            return keys_complain(keys, path, "neither \"log\" nor \"linear\"", err);
        return 0;
    default:
        return 0;
    }
}

int keys_real(const struct keys *keys, const char *path, double min, double max, double *out, struct error *err)
{
    const json_t *value = keys_get(keys->values, path);
    return value ? set_value(keys, path, KEY_REAL, out, min, max, value, err) : 0;
}

static int apply_key(struct keys *keys, const struct key *key, const json_t *value, struct recipe *recipe,
                     struct error *err)
{
    void *field = (char *)recipe + key->field;
    switch (key->kind) {
    case KEY_SWITCH:
        return json_is_boolean(value) ? 0 : keys_complain(keys, key->path, "neither true nor false", err);
    case KEY_BETAS:
        return set_betas(keys, key->path, field, value, err);
    case KEY_NOTE:
        buf_addf(&keys->notes, "%s%s", keys->notes.size > 0 ? ", " : "", key->path);
        return 0;
    case KEY_OFF:
        if (json_is_object(value) ? !json_is_true(json_object_get(value, "enabled")) : json_is_false(value))
            return 0;
        return keys_complain(keys, key->path, "would change the result and is not built", err);
    case KEY_REFUSED:
        return keys_complain(keys, key->path, "would change the result and is not built", err);
    default:
        return set_value(keys, key->path, key->kind, field, key->min, key->max, value, err);
    }
}

/* ---- walking over all keys ---- */

static const char schedule_params[] = "scheduler.params.";

static const struct schedule_param *schedule_key(const struct recipe *recipe, const char *path)
{
    const size_t size = sizeof schedule_params - 1;
    const struct schedule_param *param = schedule_types[recipe->schedule.kind].params;
    if (strncmp(path, schedule_params, size) != 0)
        return NULL;
    while (param->key && strcmp(param->key, path + size) != 0)
        param++;
    return param->key ? param : NULL;
}

static const struct key *known_key(const struct recipe *recipe, const char *path)
{
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(table[i].path, path) == 0 && (!table[i].kinds || table[i].kinds & 1u << recipe->optimizer.kind))
            return &table[i];
    return NULL;
}

static void nearer(struct str path, const char *candidate, const char **best, unsigned *distance)
{
    const unsigned d = str_distance(path, str_of(candidate));
    if (d < *distance) {
        *distance = d;
        *best = candidate;
    }
}

static int unknown_key(const struct keys *keys, const char *path, const struct recipe *recipe, struct error *err)
{
    char of[SCHEDULE_PARAMS_MAX][80];
    const char *best = NULL;
    unsigned distance = 20;
    const struct str name = str_of(path);
    for (size_t i = 0; i < KEYS && name.size < 64; i++)
        if (!table[i].kinds || table[i].kinds & 1u << recipe->optimizer.kind)
            nearer(name, table[i].path, &best, &distance);
    const struct schedule_param *param = schedule_types[recipe->schedule.kind].params;
    for (size_t i = 0; param[i].key && name.size < 64; i++) {
        snprintf(of[i], sizeof of[i], "%s%s", schedule_params, param[i].key);
        nearer(name, of[i], &best, &distance);
    }
    keys_complain(keys, path, "unknown key", err);
    return best ? hint(err, "the nearest key is %s", best) : -1;
}

static int apply_one(struct keys *keys, const char *path, const json_t *value, struct recipe *recipe, struct error *err)
{
    const struct schedule_param *param = schedule_key(recipe, path);
    if (param) {
        static const enum key_kind kinds[] = {
            [SCHEDULE_REAL] = KEY_REAL, [SCHEDULE_FLAG] = KEY_FLAG, [SCHEDULE_WARMUP_TYPE] = KEY_CHOICE};
        return set_value(keys, path, kinds[param->type], (char *)&recipe->schedule + param->field, param->min,
                         param->max, value, err);
    }
    const struct key *key = known_key(recipe, path);
    return key ? apply_key(keys, key, value, recipe, err) : unknown_key(keys, path, recipe, err);
}

/* Objects are walked into, but for those that are keys themselves. Depth is bounded by keys_read. */
static int apply_all(struct keys *keys, const json_t *object, const char *above, struct recipe *recipe,
                     struct error *err)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        char path[256];
        snprintf(path, sizeof path, "%s%s%s", above, above[0] ? "." : "", name);
        if (strchr(name, '.'))
            return unknown_key(keys, path, recipe, err); /* a path is said by objects in objects */
        if (json_is_object(value) && !known_key(recipe, path) && strlen(path) < sizeof path - 1)
            TRY(apply_all(keys, value, path, recipe, err));
        else
            TRY(apply_one(keys, path, value, recipe, err));
    }
    return 0;
}

/* ---- all together ---- */

/* Required parameters are there, and those that belong together fit. */
static int check_schedule(const struct keys *keys, const struct schedule *schedule, struct error *err)
{
    const struct schedule_type *type = &schedule_types[schedule->kind];
    for (const struct schedule_param *param = type->params; param->key; param++) {
        char path[80];
        snprintf(path, sizeof path, "%s%s", schedule_params, param->key);
        if (param->type == SCHEDULE_REAL && isnan(*(const double *)((const char *)schedule + param->field)))
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
    return settings->pld_compat
               ? fail(err, ERR_USAGE, "--pld-compat says how layers drop: --set progressive_layer_drop.enabled=true")
               : 0;
}

int keys_apply(struct keys *keys, const struct settings *settings, struct recipe *recipe, struct error *err)
{
    recipe->config.layer_drop = (struct layer_drop){.theta = 1, .gamma = 0.001}; /* DeepSpeed's */
    recipe->clipping = keys->file ? 0 : 1.0;
    TRY(keys_choose(keys, settings, recipe, err));
    TRY(apply_all(keys, keys->values, "", recipe, err));
    if (keys->notes.size > 0)
        log_say("note       without meaning in one process: %s", buf_text(&keys->notes));
    TRY(choose_layer_drop(keys, settings, recipe, err));
    if (recipe->optimizer.ratio_min > recipe->optimizer.ratio_max)
        return keys_complain(keys, "optimizer.params.min_coeff", "is above max_coeff", err);
    return check_schedule(keys, &recipe->schedule, err);
}

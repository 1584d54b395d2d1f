/* Which optimizer, schedule, batch and precision: what other keys depend on, and what options of the command line have
 * a say in. */
#include "trainer/keys/keys.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/launcher.h"
#include "base/str.h"

static int unknown_type(const struct keys *keys, const char *path, const char *names, struct error *err)
{
    char text[120];
    const char *name = keys_text(keys, path);
    snprintf(text, sizeof text, "%.60s is no type that is built", name ? name : "not a name, which");
    keys_complain(keys, path, text, err);
    return hint(err, "there are %s", names);
}

static int choose_optimizer(const struct keys *keys, const struct settings *settings, struct recipe *recipe,
                            struct error *err)
{
    const bool flag = settings_given(settings, "optimizer") || !keys_get(keys->values, "optimizer.type");
    const char *name = keys_text(keys, "optimizer.type");
    const struct optimizer_type *type = flag   ? &optimizer_kinds[settings->optimizer].type
                                        : name ? optimizer_type(name)
                                               : NULL;
    if (!type) {
        struct buf names = {0};
        for (size_t i = 0; (type = optimizer_type_at(i)); i++)
            buf_addf(&names, "%s%s", i > 0 ? ", " : "", type->name);
        unknown_type(keys, "optimizer.type", buf_text(&names), err);
        buf_release(&names);
        return -1;
    }
    recipe->optimizer = type->optimizer;
    if (!keys->file)
        recipe->optimizer.weight_decay = 0.01;
    if (!keys->file && recipe->task[0] && recipe->optimizer.kind == OPTIMIZER_ADAM) { /* BERT's own */
        recipe->optimizer.bias_correction = false;
        recipe->optimizer.epsilon = 1e-6;
    }
    recipe->schedule.rate = keys->file && !settings_given(settings, "lr") ? type->rate : settings->lr;
    if (!settings_given(settings, "lr"))
        TRY(keys_real(keys, "optimizer.params.lr", 0, 1e3, &recipe->schedule.rate, err));
    /* What does not clip by itself hands it to the wrapper that clips all gradients together. */
    if (json_field_named(optimizer_kinds[recipe->optimizer.kind].params, "max_grad_norm"))
        return 0;
    double *clip = recipe->optimizer.tensor_norm > 0 ? &recipe->optimizer.tensor_norm : &recipe->clipping;
    return keys_real(keys, "optimizer.params.max_grad_norm", 0, 1e6, clip, err);
}

static int ignored_flag(const struct schedule_type *type, const char *flag, struct error *err)
{
    fail(err, ERR_USAGE, "--%s: the configuration's scheduler %s does not look at it", flag, type->name);
    return hint(err, "say it with --set scheduler.params.KEY=VALUE");
}

static int choose_schedule(const struct keys *keys, const struct settings *settings, struct recipe *recipe,
                           struct error *err)
{
    struct schedule *schedule = &recipe->schedule;
    const json_t *name = keys_get(keys->values, "scheduler.type");
    if (!name) {
        const bool ours = !keys->file || settings_given(settings, "schedule") || settings_given(settings, "warmup");
        schedule->kind = ours ? (enum schedule_kind)settings->schedule : SCHEDULE_CONSTANT; /* DeepSpeed's: none */
        schedule->warmup = ours ? settings->warmup : 0;
        schedule->decay = settings->decay;
        if (settings_given(settings, "decay") && schedule->kind != SCHEDULE_WSD)
            return fail(err, ERR_USAGE, "--decay belongs to --schedule wsd");
        return 0;
    }
    const struct schedule_type *type = json_is_string(name) ? schedule_type(json_string_value(name)) : NULL;
    if (!type || type->ours) {
        struct buf names = {0};
        for (size_t i = 0; i < SCHEDULE_KINDS; i++)
            if (!schedule_types[i].ours)
                buf_addf(&names, "%s%s", names.size > 0 ? ", " : "", schedule_types[i].name);
        unknown_type(keys, "scheduler.type", buf_text(&names), err);
        buf_release(&names);
        return -1;
    }
    static const char *const flags[] = {"schedule", "warmup", "decay"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (settings_given(settings, flags[i]))
            return ignored_flag(type, flags[i], err);
    if (type->own_rate && settings_given(settings, "lr"))
        return ignored_flag(type, "lr", err);
    schedule_defaults(schedule, (enum schedule_kind)(type - schedule_types));
    return 0;
}

/* train_batch = micro · accumulation · processes: two of the three give the third; a batch alone leaves the
 * micro-batch to arithmetic; an option of the command line takes the place of what the file says. */
int keys_batch(const struct keys *keys, const struct settings *settings, struct recipe *recipe, struct error *err)
{
    const uint64_t size = settings->launch ? settings->launch->size : 1;
    uint64_t batch, micro, times;
    char text[160];
    TRY(keys_count(keys, "train_batch_size", &batch, err));
    TRY(keys_count(keys, "train_micro_batch_size_per_gpu", &micro, err));
    TRY(keys_count(keys, "gradient_accumulation_steps", &times, err));
    const bool batch_flag = settings_given(settings, "batch"), micro_flag = settings_given(settings, "micro-batch");
    if (times > 0 && batch == 0 && micro == 0 && !batch_flag && !micro_flag)
        return keys_complain(keys, "gradient_accumulation_steps", "says nothing without a batch size beside it", err);
    if (batch > 0 && micro > 0 && (times > 0 ? batch != micro * times * size : batch % micro != 0)) {
        snprintf(text, sizeof text,
                 "is not train_micro_batch_size_per_gpu times gradient_accumulation_steps times processes (%" PRIu64
                 ")",
                 size);
        return keys_complain(keys, "train_batch_size", text, err);
    }
    if (batch > 0 && micro == 0 && times > 0 && batch % (times * size) != 0) {
        snprintf(text, sizeof text, "is not a multiple of gradient_accumulation_steps times processes (%" PRIu64 ")",
                 size);
        return keys_complain(keys, "train_batch_size", text, err);
    }
    if (micro == 0 && times > 0)
        micro = batch / (times * size);
    if (batch == 0 && micro > 0)
        batch = micro * (times > 0 ? times : 1) * size;
    if (batch == 0 || batch_flag)
        batch = settings->batch;
    if (micro_flag)
        micro = settings->micro_batch;
    if (batch > 1u << 20)
        return keys_complain(keys, "train_batch_size", "is above 1,048,576", err);
    if (micro > 1u << 16)
        return keys_complain(keys, "train_micro_batch_size_per_gpu", "is above 65,536", err);
    recipe->batch = (uint32_t)batch;
    recipe->micro_batch = micro;
    return 0;
}

#define ZERO_STAGES 1 /* that are built */

/* DeepSpeed's: a number, or under zero_optimization itself true, which is 1. */
static int64_t zero_stage(const struct keys *keys)
{
    const json_t *block = keys_get(keys->values, "zero_optimization"), *stage = json_object_get(block, "stage");
    return json_is_true(block) ? 1 : json_integer_value(stage);
}

/* What the processes divide. Loss scaling follows the configuration alone (choose_precision), since --zero is no part of
 * what a run is. */
static int choose_zero(const struct keys *keys, const struct settings *settings, struct recipe *recipe,
                       struct error *err)
{
    static const char *const offloads[] = {"zero_optimization.offload_param", "zero_optimization.offload_optimizer",
                                           "zero_optimization.cpu_offload", "zero_optimization.cpu_offload_params"};
    const char *path = "zero_optimization.stage";
    const json_t *stage = keys_get(keys->values, path);
    if (stage && (!json_is_integer(stage) || json_integer_value(stage) < 0 || json_integer_value(stage) > 3))
        return keys_complain(keys, path, "not 0, 1 or 2", err);
    for (size_t i = 0; i < sizeof offloads / sizeof *offloads; i++) {
        const json_t *value = keys_get(keys->values, offloads[i]);
        const char *device = json_string_value(json_object_get(value, "device"));
        if (value && !json_is_null(value) && !json_is_false(value) && !(device && strcmp(device, "none") == 0))
            return keys_complain(keys, offloads[i], "is not built: memory stays where it is computed on", err);
    }
    recipe->zero = (uint32_t)(settings_given(settings, "zero") ? settings->zero : zero_stage(keys));
    if (recipe->zero > ZERO_STAGES)
        return keys_complain(keys, path, "this stage is not built", err);
    return 0;
}

static int choose_precision(const struct keys *keys, struct recipe *recipe, struct error *err)
{
    const bool fp16 = keys_enabled(keys, "fp16"), bf16 = keys_enabled(keys, "bf16") || keys_enabled(keys, "bfloat16");
    if (fp16 && bf16)
        return keys_complain(keys, "fp16.enabled", "and bf16.enabled exclude each other", err);
    recipe->scaling = scaler_defaults();
    if ((fp16 || bf16) && !recipe->precision_given) {
        recipe->precision = fp16 ? PRECISION_FP16 : PRECISION_BF16;
        recipe->precision_given = true;
    }
    recipe->scaling.patient = zero_stage(keys) > 0;
    return 0;
}

/* What gradients travel as. */
static int choose_wire(const struct keys *keys, const struct settings *settings, struct recipe *recipe,
                       struct error *err)
{
    const char *path = "communication_data_type", *name = keys_text(keys, path);
    const json_t *value = keys_get(keys->values, path);
    const bool stands = value && !json_is_null(value), bf16 = name && strcmp(name, "bf16") == 0;
    if (stands && !bf16 && !(name && strcmp(name, "fp32") == 0))
        return keys_complain(keys, path, "neither \"fp32\" nor \"bf16\"", err);
    recipe->wire_bf16 = settings_given(settings, "wire") ? settings->wire == 1 : bf16;
    return 0;
}

int keys_choose(const struct keys *keys, const struct settings *settings, struct recipe *recipe, struct error *err)
{
    TRY(choose_optimizer(keys, settings, recipe, err));
    TRY(choose_schedule(keys, settings, recipe, err));
    TRY(choose_wire(keys, settings, recipe, err));
    TRY(choose_zero(keys, settings, recipe, err));
    return choose_precision(keys, recipe, err);
}

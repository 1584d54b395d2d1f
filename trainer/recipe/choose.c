/* Chooses optimizer, schedule, batch and precision: the settings that other keys depend on or that command-line options
 * can override. */
#include "trainer/recipe/keys.h"

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
    snprintf(text, sizeof text, "unknown type: %.60s", name ? name : "not a string");
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
    if (!keys->file && recipe->task[0] && recipe->optimizer.kind == OPTIMIZER_ADAM) { /* as in BERT's fine-tuning */
        recipe->optimizer.bias_correction = false;
        recipe->optimizer.epsilon = 1e-6;
    }
    recipe->schedule.rate = keys->file && !settings_given(settings, "lr") ? type->rate : settings->lr;
    if (!settings_given(settings, "lr"))
        TRY(keys_real(keys, "optimizer.params.lr", 0, 1e3, &recipe->schedule.rate, err));
    if (optimizer_kinds[recipe->optimizer.kind].compresses) {
        if (!keys->file) /* --optimizer alone gives no number of updates: "auto" */
            recipe->optimizer.freeze_step = 0;
        if (keys_get(keys->values, "optimizer.params.max_grad_norm"))
            return keys_complain(keys, "optimizer.params.max_grad_norm",
                                 "use gradient_clipping, which clips all gradients together", err);
        return 0;
    }
    /* An optimizer without a max_grad_norm of its own leaves clipping to the wrapper, which clips all gradients
     * together. */
    if (json_field_named(optimizer_kinds[recipe->optimizer.kind].params, "max_grad_norm"))
        return 0;
    double *clip = recipe->optimizer.tensor_norm > 0 ? &recipe->optimizer.tensor_norm : &recipe->clipping;
    return keys_real(keys, "optimizer.params.max_grad_norm", 0, 1e6, clip, err);
}

static int ignored_flag(const struct schedule_type *type, const char *flag, struct error *err)
{
    fail(err, ERR_USAGE, "--%s: the configuration's scheduler %s does not use it", flag, type->name);
    return hint(err, "use --set scheduler.params.KEY=VALUE");
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

/* train_batch = micro-batch · accumulation · processes: any two of the three keys give the third. With a batch alone
 * the micro-batch is chosen later. Command-line options override the keys. */
static int batch_of(const struct keys *keys, const struct settings *settings, struct recipe *recipe, struct error *err)
{
    const uint64_t told = settings->processes > 0 ? settings->processes : 1; /* for `plan`, which starts no processes */
    const uint64_t size = settings->launch && settings->launch->size > 1 ? settings->launch->size : told;
    uint64_t batch, micro, times;
    char text[160];
    TRY(keys_count(keys, "train_batch_size", &batch, err));
    TRY(keys_count(keys, "train_micro_batch_size_per_gpu", &micro, err));
    TRY(keys_count(keys, "gradient_accumulation_steps", &times, err));
    const bool batch_flag = settings_given(settings, "batch"), micro_flag = settings_given(settings, "micro-batch");
    if (times > 0 && batch == 0 && micro == 0 && !batch_flag && !micro_flag)
        return keys_complain(keys, "gradient_accumulation_steps", "needs a batch size too", err);
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
        batch = settings->batch[1];
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

/* --batch A:B --batch-warmup P, or batch_warmup.from and .steps with train_batch_size. --batch overrides all of these
 * keys. */
int keys_batch(const struct keys *keys, const struct settings *settings, struct recipe *recipe, double *warmup,
               struct error *err)
{
    const bool batch_flag = settings_given(settings, "batch"), length_flag = settings_given(settings, "batch-warmup");
    uint64_t from = 0;
    *warmup = 0;
    TRY(batch_of(keys, settings, recipe, err));
    recipe->batches = (struct batch_plan){recipe->batch, recipe->batch, 0};
    if (!batch_flag) {
        TRY(keys_count(keys, "batch_warmup.from", &from, err));
        TRY(keys_real(keys, "batch_warmup.steps", 0, 1e9, warmup, err));
        const bool key = keys_get(keys->values, "batch_warmup.steps");
        if (from > 0 ? !key && !length_flag : key)
            return keys_complain(keys, "batch_warmup", "needs both \"from\", a count, and \"steps\"", err);
    } else if (settings->batch[0] != settings->batch[1]) {
        from = settings->batch[0];
        if (!length_flag) {
            fail(err, ERR_USAGE, "--batch %" PRIu64 ":%" PRIu64 ": over how many steps?", from, settings->batch[1]);
            return hint(err, "--batch-warmup 0.2 is the first fifth of them");
        }
    }
    if (length_flag)
        *warmup = settings->batch_warmup;
    if (from == 0)
        return length_flag ? fail(err, ERR_USAGE, "--batch-warmup belongs to a batch that grows: --batch 64:256") : 0;
    if (from > recipe->batch)
        return fail(err, ERR_USAGE, "batches can only grow: %" PRIu64 " is above %" PRIu32, from, recipe->batch);
    recipe->batches.first = (uint32_t)from;
    return 0;
}

/* ---- masks ---- */

/* "mask_prob": P or [P, Q]. */
static int mask_prob_key(const struct keys *keys, uint32_t prob[2], struct error *err)
{
    const json_t *value = keys_get(keys->values, "mask_prob");
    const bool two = json_array_size(value) == 2;
    for (size_t i = 0; value && i < 2; i++) {
        const json_t *one = two ? json_array_get(value, i) : value;
        const double real = json_number_value(one);
        if (!json_is_number(one) || !(real >= 1e-6 && real <= 1))
            return keys_complain(keys, "mask_prob", "neither a number above 0 and at most 1, nor two, as [0.3, 0.15]",
                                 err);
        prob[i] = (uint32_t)lround(real * 1e6);
    }
    return 0;
}

static int choose_masks(const struct keys *keys, const struct settings *settings, struct recipe *recipe,
                        struct error *err)
{
    const json_t *value = keys_get(keys->values, "masks");
    const bool by_key = value && !settings_given(settings, "masks");
    const char *name = by_key ? json_string_value(value) : mask_policies[settings->masks];
    int policy = 0;
    while (policy < MASK_POLICIES && !(name && strcmp(name, mask_policies[policy]) == 0))
        policy++;
    if (policy == MASK_POLICIES)
        return keys_complain(keys, "masks", "none of \"auto\", \"stored\", \"fresh\"", err);
    recipe->masks = policy == MASKS_AUTO && !recipe->shuffled ? MASKS_STORED : (enum mask_policy)policy;
    if (settings_given(settings, "mask-prob"))
        memcpy(recipe->mask_prob, settings->mask_prob, sizeof recipe->mask_prob);
    else
        TRY(mask_prob_key(keys, recipe->mask_prob, err));
    if (settings_given(settings, "mask-prob") && (recipe->mask_prob[0] == 0 || recipe->mask_prob[1] == 0))
        return fail(err, ERR_USAGE, "--mask-prob: without a masked piece there is nothing to learn");
    if (recipe->mask_prob[0] == 0)
        return 0;
    if (recipe->masks == MASKS_STORED) {
        fail(err, ERR_USAGE, "--mask-prob applies to fresh masks, but this run uses the stored ones");
        return hint(err, "use --masks fresh");
    }
    recipe->masks = MASKS_FRESH;
    return 0;
}

static int choose_dropout(const struct keys *keys, const struct settings *settings, struct recipe *recipe,
                          struct error *err)
{
    double dropout = settings->dropout;
    const bool given = settings_given(settings, "dropout");
    if (!given)
        TRY(keys_real(keys, "dropout", 0, 0.99, &dropout, err));
    if (given || keys_get(keys->values, "dropout"))
        recipe->config.hidden_dropout = recipe->config.attention_dropout = dropout;
    return 0;
}

#define ZERO_STAGES 2 /* highest stage that is implemented */

/* DeepSpeed's key: a number; "zero_optimization": true means stage 1. */
static int64_t zero_stage(const struct keys *keys)
{
    const json_t *block = keys_get(keys->values, "zero_optimization"), *stage = json_object_get(block, "stage");
    return json_is_true(block) ? 1 : json_integer_value(stage);
}

/* Chooses the ZeRO stage. Loss scaling depends on the configuration's stage only (choose_precision), because --zero is
 * not part of a run's identity. */
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
            return keys_complain(keys, offloads[i], "is not built: nothing is offloaded", err);
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
        return keys_complain(keys, "fp16.enabled", "it and bf16.enabled exclude each other", err);
    recipe->scaling = scaler_defaults();
    if ((fp16 || bf16) && !recipe->precision_given) {
        recipe->precision = fp16 ? PRECISION_FP16 : PRECISION_BF16;
        recipe->precision_given = true;
    }
    recipe->scaling.patient = zero_stage(keys) > 0;
    return 0;
}

/* Chooses the type in which gradients are sent between processes. */
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
    TRY(choose_dropout(keys, settings, recipe, err));
    if (!recipe->task[0])
        TRY(choose_masks(keys, settings, recipe, err));
    TRY(choose_zero(keys, settings, recipe, err));
    return choose_precision(keys, recipe, err);
}

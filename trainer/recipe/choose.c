/* Chooses optimizer, schedule, batch and precision: the settings that other keys depend on or that command-line options
 * can override. */
#include "trainer/recipe/keys.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/launcher.h"

static int wrong_phase(struct str part, const char *what, struct error *err)
{
    fail(err, ERR_USAGE, "--mask-phases: \"%.*s\" %s", (int)part.size, part.data, what);
    return hint(err, "0.3@0,0.15@0.7 masks 30 %% of the tokens, and 15 %% in the last three tenths of the steps");
}

/* Reads "0.3@0,0.15@0.7": phases whose `from` is in millionths of the run's steps. Shares of tokens are above 0; the
 * first phase begins at 0, each later one after the one before it and below 1. ERR_USAGE names the part that is
 * wrong. */
static int mask_phases_read(const char *text, struct mask_phase phases[MASK_PHASES_MAX], size_t *count,
                            struct error *err)
{
    for (*count = 0; text; ++*count) {
        const struct str part = {text, strcspn(text, ",")};
        const size_t at = str_find(part, STR("@"));
        uint32_t share, from;
        if (*count == MASK_PHASES_MAX)
            return wrong_phase(part, "is one phase too many: eight are the most", err);
        if (at == SIZE_MAX || !opts_millionths((struct str){text, at}, &share) ||
            !opts_millionths((struct str){text + at + 1, part.size - at - 1}, &from))
            return wrong_phase(part, "is not P@S, a share of the tokens and the share of the steps where it begins",
                               err);
        if (share == 0)
            return wrong_phase(part, "masks nothing: there is nothing to learn", err);
        if (*count == 0 ? from > 0 : from <= phases[*count - 1].from || from >= MILLION)
            return wrong_phase(part,
                               *count == 0 ? "does not begin at 0, as the first phase must"
                                           : "does not begin between the phase before it and the end",
                               err);
        phases[*count] = (struct mask_phase){share, from};
        text = text[part.size] ? text + part.size + 1 : NULL;
    }
    return 0;
}

/* Reads "80:10:10": per cent of the chosen tokens that become [MASK], that become any piece, and that stay. */
static int mask_split_read(const char *text, struct mask_split *split, struct error *err)
{
    uint32_t parts[3] = {0};
    const char *at = text;
    int found = 0;
    for (; found < 3; found++) {
        const size_t digits = strspn(at, "0123456789");
        for (size_t i = 0; digits <= 3 && i < digits; i++)
            parts[found] = parts[found] * 10 + (uint32_t)(at[i] - '0');
        if (digits == 0 || digits > 3 || at[digits] != (found < 2 ? ':' : '\0'))
            break;
        at += digits + 1;
    }
    const uint32_t rest = parts[1] + parts[2];
    if (found < 3 || parts[0] + rest != 100) {
        fail(err, ERR_USAGE, "--mask-split %.40s: is not three whole numbers that add up to 100", text);
        return hint(err, "80:10:10 is BERT's: 80 %% become [MASK], 10 %% any piece, 10 %% stay; 100:0:0 masks all");
    }
    *split = (struct mask_split){parts[0] * (MILLION / 100), rest > 0 ? parts[2] * MILLION / rest : 0};
    return 0;
}

static int unknown_type(const struct keys *keys, const char *path, const char *name, const char *names,
                        struct error *err)
{
    char text[120];
    snprintf(text, sizeof text, "unknown type: %.60s", name);
    keys_complain(keys, path, text, err);
    return hint(err, "there are %s", names);
}

static int choose_optimizer(const struct keys *keys, struct recipe *recipe, struct error *err)
{
    const struct settings *settings = &keys->settings;
    const bool by_key = keys->optimizer && !settings_given(settings, "optimizer");
    const struct optimizer_type *type =
        by_key ? optimizer_type(keys->optimizer) : &optimizer_kinds[settings->optimizer].type;
    if (!type) {
        struct buf names = {0};
        for (size_t i = 0; (type = optimizer_type_at(i)); i++)
            buf_addf(&names, "%s%s", i > 0 ? ", " : "", type->name);
        unknown_type(keys, "optimizer.type", keys->optimizer, buf_text(&names), err);
        buf_release(&names);
        return -1;
    }
    recipe->optimizer = type->optimizer;
    if (!keys->file && !recipe->optimizer.decouple_rate)
        recipe->optimizer.weight_decay = 0.01;
    if (!keys->file && recipe->task[0] && recipe->optimizer.kind == OPTIMIZER_ADAM) { /* as in BERT's fine-tuning */
        recipe->optimizer.bias_correction = false;
        recipe->optimizer.epsilon = 1e-6;
    }
    recipe->schedule.rate = keys->file && !keys_told(keys, "lr") ? type->rate : settings->lr;
    if (!keys->file && optimizer_kinds[recipe->optimizer.kind].compresses)
        recipe->optimizer.freeze_step = 0; /* --optimizer alone gives no number of updates: "auto" */
    return 0;
}

static int ignored_flag(const struct schedule_type *type, const char *flag, struct error *err)
{
    fail(err, ERR_USAGE, "--%s: the configuration's scheduler %s does not use it", flag, type->name);
    return hint(err, "use --set scheduler.params.KEY=VALUE");
}

static int choose_schedule(const struct keys *keys, struct recipe *recipe, struct error *err)
{
    const struct settings *settings = &keys->settings;
    struct schedule *schedule = &recipe->schedule;
    if (!keys->scheduler) {
        const bool ours = !keys->file || keys_told(keys, "schedule") || keys_told(keys, "warmup");
        schedule->kind = ours ? (enum schedule_kind)settings->schedule : SCHEDULE_CONSTANT; /* DeepSpeed's: none */
        schedule->warmup = ours ? settings->warmup : 0;
        schedule->decay = settings->decay;
        schedule->decay_root = settings->decay_shape == 1;
        const char *const own = settings_given(settings, "decay") ? "decay" : "decay-shape";
        if (settings_given(settings, own) && schedule->kind != SCHEDULE_WSD)
            return fail(err, ERR_USAGE, "--%s belongs to --schedule wsd", own);
        return 0;
    }
    if (keys_get(keys->values, "schedule"))
        return keys_complain(keys, "schedule", "it and scheduler.type exclude each other", err);
    const struct schedule_type *type = schedule_type(keys->scheduler);
    if (!type || type->ours) {
        struct buf names = {0};
        for (size_t i = 0; i < SCHEDULE_KINDS; i++)
            if (!schedule_types[i].ours)
                buf_addf(&names, "%s%s", names.size > 0 ? ", " : "", schedule_types[i].name);
        unknown_type(keys, "scheduler.type", keys->scheduler, buf_text(&names), err);
        buf_release(&names);
        return -1;
    }
    static const char *const flags[] = {"schedule", "warmup", "decay", "decay-shape"};
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
static int batch_of(const struct keys *keys, struct recipe *recipe, struct error *err)
{
    const struct settings *settings = &keys->settings;
    const uint64_t asked = settings->processes > 0 ? settings->processes : 1; /* `plan` starts no processes */
    const uint64_t size = settings->launch && settings->launch->size > 1 ? settings->launch->size : asked;
    const uint64_t accumulation = keys->accumulation;
    const bool batch_flag = settings_given(settings, "batch"), micro_flag = settings_given(settings, "micro-batch");
    uint64_t batch = keys->batch, micro = keys->micro_batch;
    char text[160];
    /* The keys are checked with each other even where an option overrides one: a file that contradicts itself was
     * written for another number of processes. */
    if (accumulation > 0 && batch == 0 && micro == 0 && !batch_flag && !micro_flag)
        return keys_complain(keys, "gradient_accumulation_steps", "needs a batch size too", err);
    if (batch > 0 && micro > 0 && (accumulation > 0 ? batch != micro * accumulation * size : batch % micro != 0)) {
        snprintf(text, sizeof text,
                 "is not train_micro_batch_size_per_gpu times gradient_accumulation_steps times processes (%" PRIu64
                 ")",
                 size);
        return keys_complain(keys, "train_batch_size", text, err);
    }
    if (batch > 0 && micro == 0 && accumulation > 0 && batch % (accumulation * size) != 0) {
        snprintf(text, sizeof text, "is not a multiple of gradient_accumulation_steps times processes (%" PRIu64 ")",
                 size);
        return keys_complain(keys, "train_batch_size", text, err);
    }
    if (micro == 0 && accumulation > 0)
        micro = batch / (accumulation * size);
    if (batch == 0 && micro > 0)
        batch = micro * (accumulation > 0 ? accumulation : 1) * size;
    if (batch == 0 || batch_flag)
        batch = settings->batch[1];
    if (micro_flag)
        micro = settings->micro_batch;
    /* What follows from keys has not been compared with the limits of the options. */
    if (batch > 1u << 20)
        return keys_complain(keys, "train_batch_size", "is above 1,048,576", err);
    if (micro > 1u << 16)
        return keys_complain(keys, "train_micro_batch_size_per_gpu", "is above 65,536", err);
    assert(batch > 0);
    recipe->batch = (uint32_t)batch;
    recipe->micro_batch = micro;
    return 0;
}

/* --batch A:B --batch-warmup P, or batch_warmup.from and .steps with train_batch_size. --batch overrides all of these
 * keys. */
int keys_batch(const struct keys *keys, struct recipe *recipe, double *warmup, struct error *err)
{
    const struct settings *settings = &keys->settings;
    const bool batch_flag = settings_given(settings, "batch"), length_flag = settings_given(settings, "batch-warmup");
    uint64_t from = 0;
    *warmup = 0;
    TRY(batch_of(keys, recipe, err));
    recipe->batches = (struct batch_plan){recipe->batch, recipe->batch, 0};
    if (!batch_flag) {
        const bool told = keys_told(keys, "batch-warmup");
        from = keys->batch_from;
        *warmup = told ? settings->batch_warmup : 0;
        if (from > 0 ? !told : told && !length_flag)
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

static int choose_masks(const struct keys *keys, struct recipe *recipe, struct error *err)
{
    const struct settings *settings = &keys->settings;
    const enum mask_policy policy = (enum mask_policy)settings->masks;
    recipe->masks = policy == MASKS_AUTO && !recipe->shuffled ? MASKS_STORED : policy;
    const bool prob_flag = settings_given(settings, "mask-prob"), phase_flag = settings_given(settings, "mask-phases");
    memcpy(recipe->mask_prob, settings->mask_prob, sizeof recipe->mask_prob);
    if (prob_flag && (recipe->mask_prob[0] == 0 || recipe->mask_prob[1] == 0))
        return fail(err, ERR_USAGE, "--mask-prob: without a masked piece there is nothing to learn");
    if (settings->mask_phases && (phase_flag || !prob_flag)) { /* an option takes precedence over a key */
        if (recipe->mask_prob[0] > 0 && prob_flag == phase_flag)
            return fail(err, ERR_USAGE, "--mask-phases and --mask-prob exclude each other");
        TRY(mask_phases_read(settings->mask_phases, recipe->phases, &recipe->phase_count, err));
        recipe->mask_prob[0] = recipe->phases[0].millionths;
        recipe->mask_prob[1] = recipe->phases[recipe->phase_count - 1].millionths;
    }
    const struct mask_split bert = MASK_SPLIT_BERT;
    recipe->split = bert;
    if (settings->mask_split)
        TRY(mask_split_read(settings->mask_split, &recipe->split, err));
    const bool other_split = recipe->split.mask != bert.mask || recipe->split.keep != bert.keep;
    if (recipe->mask_prob[0] == 0 && !other_split)
        return 0;
    if (recipe->masks == MASKS_STORED) {
        fail(err, ERR_USAGE, "--mask-%s applies to fresh masks, but this run uses the stored ones",
             recipe->phase_count > 0    ? "phases"
             : recipe->mask_prob[0] > 0 ? "prob"
                                        : "split");
        return hint(err, "use --masks fresh");
    }
    recipe->masks = MASKS_FRESH;
    return 0;
}

#define ZERO_STAGES 2 /* highest stage that is implemented */

/* Loss scaling depends on the configuration's stage only (choose_precision), because --zero is not part of a run's
 * identity. */
static int choose_zero(const struct keys *keys, struct recipe *recipe, struct error *err)
{
    const struct settings *settings = &keys->settings;
    recipe->zero = (uint32_t)(settings_given(settings, "zero") ? (uint64_t)settings->zero : keys->zero);
    if (recipe->zero > ZERO_STAGES)
        return keys_complain(keys, "zero_optimization.stage", "this stage is not built", err);
    return 0;
}

static int choose_precision(const struct keys *keys, struct recipe *recipe, struct error *err)
{
    const bool bf16 = keys->bf16 || keys->bfloat16;
    if (keys->fp16 && bf16)
        return keys_complain(keys, "fp16.enabled", "it and bf16.enabled exclude each other", err);
    recipe->scaling = scaler_defaults();
    if ((keys->fp16 || bf16) && !recipe->precision_given) {
        recipe->precision = keys->fp16 ? PRECISION_FP16 : PRECISION_BF16;
        recipe->precision_given = true;
    }
    recipe->scaling.patient = keys->zero > 0;
    return 0;
}

int keys_choose(const struct keys *keys, struct recipe *recipe, struct error *err)
{
    TRY(choose_optimizer(keys, recipe, err));
    TRY(choose_schedule(keys, recipe, err));
    recipe->wire_bf16 = keys->settings.wire == 1;
    if (keys_told(keys, "dropout"))
        model_set_dropout(&recipe->config, keys->settings.dropout);
    if (!recipe->task[0])
        TRY(choose_masks(keys, recipe, err));
    TRY(choose_zero(keys, recipe, err));
    return choose_precision(keys, recipe, err);
}

#include "trainer/recipe/recipe.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"
#include "trainer/model/config.h"
#include "trainer/recipe/keys.h"
#include "trainer/model/head.h"

static int steps_of(const struct settings *settings, uint64_t samples, const struct recipe *recipe, double warmup,
                    uint64_t *steps, struct error *err)
{
    *steps = settings->steps;
    if (settings->epochs <= 0 || (settings_given(settings, "steps") && !settings_given(settings, "epochs")))
        return 0;
    if (settings_given(settings, "steps"))
        return fail(err, ERR_USAGE, "--steps and --epochs both say how long to train: give one of them");
    double wanted = settings->epochs * (double)samples;
    if (warmup == 0) /* what --resume's run read was in batches of any size, and counts as that many of these */
        wanted += (double)recipe->batch * (double)recipe->steps_before - (double)recipe->samples_before;
    const double exact = batch_plan_steps(&recipe->batches, warmup, wanted);
    if (exact > 1e12)
        return fail(err, ERR_USAGE, "--epochs %g is %g steps", settings->epochs, exact);
    *steps = exact < 1 ? 1 : (uint64_t)llround(exact);
    return 0;
}

/* Chooses the size of a part for --same-bits. What affects the bits of a part may depend only on the recipe, and only
 * loss scales that are powers of two do not round. */
static int choose_part(struct recipe *recipe, struct error *err)
{
    int exponent;
    const double scale = recipe->scaling.loss_scale;
    if (scale > 0 && frexp(scale, &exponent) != 0.5)
        return fail(err, ERR_USAGE, "--same-bits needs a loss scale that is a power of two, not %g", scale);
    if (recipe->wire_bf16)
        return fail(err, ERR_USAGE, "--same-bits adds gradients exactly; --wire bf16 rounds them");
    if (recipe->batches.steps > 0)
        return fail(err, ERR_USAGE, "--same-bits needs batches of one size, so it excludes --batch-warmup");
    if (optimizer_kinds[recipe->optimizer.kind].compresses)
        return fail(err, ERR_USAGE, "--same-bits: what %s sends depends on the number of processes",
                    optimizer_kinds[recipe->optimizer.kind].name);
    recipe->part = recipe_micro_batch(recipe->micro_batch, recipe->batch, recipe->seq);
    return 0;
}

int recipe_make(const struct settings *settings, const struct material *material, const struct model_config *config,
                const struct origin *origin, struct recipe *recipe, struct error *err)
{
    *recipe = (struct recipe){
        .dataset = material->hash,
        .seq = material->seq,
        .config = *config,
        .head = material->head,
        .special_in_text = material->special_in_text,
        .steps_before = origin->goes_on ? origin->state.step : 0,
        .samples_before = origin->goes_on ? origin->state.samples : 0,
        .overlap = true,
        .seed = (uint32_t)settings->seed,
        .shuffled = !settings->no_shuffle,
        .precision_given = settings_given(settings, "precision"),
        .precision = (enum precision)settings->precision,
    };
    memcpy(recipe->task, material->task, sizeof recipe->task);
    memcpy(recipe->mixture, material->mixture, sizeof recipe->mixture);
    memcpy(recipe->initial, origin->hash, sizeof recipe->initial);
    if (recipe->seq > (uint32_t)config->positions)
        return fail(err, ERR_MISMATCH, "--seq %" PRIu32 " is above the model's %" PRId32 " positions", recipe->seq,
                    config->positions);
    SCOPED(keys_release) struct keys keys;
    double warmup = 0; /* of the batch size */
    /* In this order: the number of steps follows from --epochs and the sizes of the batches, a warm-up that is a share
     * needs the number of steps, and the schedule's keys are checked against both. */
    TRY(keys_read(&keys, settings, err));
    TRY(keys_batch(&keys, recipe, &warmup, err));
    TRY(steps_of(settings, material->samples, recipe, warmup, &recipe->schedule.steps, err));
    recipe->batches.steps = (uint64_t)llround(warmup < 1 ? warmup * (double)recipe->schedule.steps : warmup);
    TRY(keys_apply(&keys, recipe, err));
    if (settings->same_bits)
        TRY(choose_part(recipe, err));
    if (recipe->rewarmup) /* the schedule counts updates, which are fewer than steps in fp16 */
        recipe->schedule.begins = origin->goes_on ? origin->state.updates : 0;
    assert(recipe->batches.first > 0 && recipe->batches.first <= recipe->batch);
    if (origin->goes_on && recipe->schedule.steps <= origin->state.step)
        return fail(err, ERR_USAGE, "--resume: that run is at step %" PRIu64 ", --steps is %" PRIu64,
                    origin->state.step, recipe->schedule.steps);
    return 0;
}

/* Takes ownership of `part`. */
static void add_all(json_t *identity, json_t *part)
{
    json_object_update(identity, part);
    json_decref(part);
}

static json_t *data_identity(const struct recipe *recipe)
{
    char dataset[17];
    /* "default", because the default depends on the processor, and a run may go on on another one; run.json records
     * which precision its first start chose. What most runs do not use is added only where it is used, so that their
     * identity stays what earlier versions wrote. */
    json_t *json =
        json_pack("{s:s, s:i, s:s, s:s, s:s, s:I, s:i, s:I, s:s}", "dataset", hash_text(recipe->dataset, dataset),
                  "seq", (int)recipe->seq, "initial_weights", recipe->initial, "order",
                  recipe->shuffled ? "shuffled" : "file", "masks", mask_policies[recipe->masks], "seed",
                  (json_int_t)recipe->seed, "batch", (int)recipe->batch, "steps", (json_int_t)recipe->schedule.steps,
                  "precision", recipe->precision_given ? precision_name(recipe->precision) : "default");
    if (recipe->mixture[0])
        json_object_set_new(json, "mixture", json_string(recipe->mixture));
    if (recipe->special_in_text)
        json_object_set_new(json, "special_in_text", json_true());
    if (recipe->grown_from > 0)
        json_object_set_new(json, "grown_from", json_integer(recipe->grown_from));
    if (recipe->mask_prob[0] > 0)
        add_all(json, json_pack("{s:f, s:f}", "mask_prob", recipe->mask_prob[0] * 1e-6, "mask_prob_end",
                                recipe->mask_prob[1] * 1e-6));
    if (recipe->phase_count > 0) {
        struct buf text = {0};
        for (const struct mask_phase *phase = recipe->phases; phase < recipe->phases + recipe->phase_count; phase++)
            buf_addf(&text, "%s%g@%g", text.size > 0 ? "," : "", phase->millionths * 1e-6, (double)phase->from * 1e-6);
        json_object_set_new(json, "mask_phases", json_string(buf_text(&text)));
        buf_release(&text);
    }
    const struct mask_split bert = MASK_SPLIT_BERT;
    if (!recipe->task[0] && (recipe->split.mask != bert.mask || recipe->split.keep != bert.keep))
        add_all(json, json_pack("{s:f, s:f}", "mask_split_mask", recipe->split.mask * 1e-6, "mask_split_keep",
                                recipe->split.keep * 1e-6));
    if (recipe->batches.steps > 0)
        add_all(json, json_pack("{s:i, s:I}", "batch_begin", (int)recipe->batches.first, "batch_warmup",
                                (json_int_t)recipe->batches.steps));
    return json;
}

static json_t *model_identity(const struct model_config *config)
{
    json_t *json =
        json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:b, s:f, s:f, s:f, s:f}", "layers", config->layers,
                  "hidden", config->hidden, "heads", config->heads, "intermediate", config->intermediate, "vocabulary",
                  config->vocabulary, "positions", config->positions, "types", config->types, "activation",
                  config_activation(config), "next_sentence", model_has(config, HEAD_NEXT), "layer_norm_eps",
                  config->norm_epsilon, "initializer_range", config->initializer_range, "hidden_dropout",
                  config->hidden_dropout, "attention_dropout", config->attention_dropout);
    config_add_variant(config, json);
    const struct {
        const char *key;
        double share;
    } more[] = {{"embedding_dropout", config->embedding_dropout},
                {"mlp_dropout", config->inner_dropout},
                {"classifier_dropout", config->head_dropout}};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (more[i].share > 0) /* runs from before there were any lack them */
            json_object_set_new(json, more[i].key, json_real(more[i].share));
    if (config->spare > 0)
        json_object_set_new(json, "spare_rows", json_integer(config->spare));
    return json;
}

/* Adds the fields of a table with their values in `holder`. */
static void add_fields(json_t *json, const struct json_field *fields, const void *holder)
{
    for (; fields->key; fields++) {
        const void *field = (const char *)holder + fields->field;
        if (fields->type == FIELD_REAL || fields->type == FIELD_COUNT)
            json_object_set_new(json, fields->key, json_real(*(const double *)field));
        else if (fields->type == FIELD_FLAG || json_field_words(fields->type))
            json_object_set_new(json, fields->key, json_boolean(*(const bool *)field));
    }
}

/* The fields of every optimizer, then those of this kind. */
static json_t *optimizer_identity(const struct recipe *recipe)
{
    const struct optimizer *o = &recipe->optimizer;
    const struct optimizer_facts *kind = &optimizer_kinds[o->kind];
    json_t *json = json_pack("{s:s, s:f, s:f}", "optimizer", kind->name, "beta1", o->beta1, "beta2", o->beta2);
    keys_identity(recipe, "optimizer.", json);
    keys_identity(recipe, "gradient_clipping", json);
    add_fields(json, kind->params, o);
    if (o->scaled_rate || o->decay_all || o->tensor_norm > 0)
        add_all(json, json_pack("{s:b, s:b, s:f}", "scaled_rate", o->scaled_rate, "decay_all", o->decay_all,
                                "tensor_norm", o->tensor_norm));
    return json;
}

static json_t *schedule_identity(const struct schedule *schedule)
{
    const struct schedule_type *type = &schedule_types[schedule->kind];
    json_t *json = json_pack("{s:s, s:f}", "schedule", type->name, "lr", schedule->rate);
    if (type->ours)
        json_object_set_new(json, "warmup", json_real(schedule->warmup));
    add_fields(json, type->params, schedule);
    if (schedule->kind == SCHEDULE_WSD && schedule->decay_root)
        json_object_set_new(json, "decay_shape", json_string("sqrt"));
    if (schedule->begins > 0)
        json_object_set_new(json, "schedule_begins", json_integer((json_int_t)schedule->begins));
    return json;
}

/* The same file of weights may begin two runs, if the config.json beside it names other classes. A head that is kept as
 * it is, or that has another shape, adds nothing: so it was in runs of older versions. */
static void add_head(json_t *identity, const struct head_choice *head, int32_t labels)
{
    SCOPED(buf_release) struct buf rows = {0};
    if (head->drawn && head->fits)
        json_object_set_new(identity, "head", json_string("drawn"));
    for (int32_t i = 0; head->moved && i < labels; i++)
        buf_addf(&rows, "%s%" PRIu32, i > 0 ? " " : "rows ", head->rows[i]);
    if (head->moved)
        json_object_set_new(identity, "head", json_string(buf_text(&rows)));
}

json_t *recipe_identity(const struct recipe *recipe)
{
    const struct layer_drop *drop = &recipe->config.layer_drop;
    json_t *identity = data_identity(recipe);
    if (recipe->task[0])
        json_object_set_new(identity, "task", json_string(recipe->task));
    add_head(identity, &recipe->head, recipe->config.labels);
    add_all(identity, model_identity(&recipe->config));
    if (drop->theta > 0) {
        keys_identity(recipe, "progressive_layer_drop.", identity);
        json_object_set_new(identity, "pld_compat", json_boolean(drop->compat));
    }
    add_all(identity, optimizer_identity(recipe));
    if (recipe->steps_before > 0)
        add_all(identity, json_pack("{s:I, s:I}", "resumed_step", (json_int_t)recipe->steps_before, "resumed_samples",
                                    (json_int_t)recipe->samples_before));
    add_all(identity, schedule_identity(&recipe->schedule));
    if (recipe->part > 0)
        add_all(identity, json_pack("{s:b, s:i}", "same_bits", 1, "micro_batch", (int)recipe->part));
    if (recipe->precision_given && recipe->precision == PRECISION_FP16) {
        keys_identity(recipe, "fp16.", identity);
        json_object_set_new(identity, "loss_scale_rule", json_string(recipe->scaling.patient ? "patient" : "plain"));
    }
    return identity;
}

char *recipe_text(const struct recipe *recipe, char out[160])
{
    const struct schedule *schedule = &recipe->schedule;
    const struct schedule_type *type = &schedule_types[schedule->kind];
    char warmup[40] = "";
    if (type->ours && schedule->warmup < 1)
        snprintf(warmup, sizeof warmup, "warmup %g %%, ", schedule->warmup * 100);
    else if (type->ours)
        snprintf(warmup, sizeof warmup, "warmup %g steps, ", schedule->warmup);
    snprintf(out, 160, "%s lr %g, %s%s", optimizer_kinds[recipe->optimizer.kind].name, schedule->rate, warmup,
             type->name);
    return out;
}

#define MICRO_BATCH_TOKENS 2048

uint32_t recipe_micro_batch(uint64_t asked, uint32_t batch, uint32_t seq)
{
    const uint64_t chosen = asked > 0 ? asked : MICRO_BATCH_TOKENS / seq > 0 ? MICRO_BATCH_TOKENS / seq : 1;
    return chosen < batch ? (uint32_t)chosen : batch;
}

uint64_t recipe_samples(const struct recipe *recipe, uint64_t step)
{
    return recipe->samples_before + batch_plan_samples(&recipe->batches, step) -
           batch_plan_samples(&recipe->batches, recipe->steps_before);
}

uint64_t recipe_parts(const struct recipe *recipe)
{
    return recipe->part > 0 ? (recipe->batch + recipe->part - 1) / recipe->part : 0;
}

struct pack_limits recipe_limits(const struct recipe *recipe, uint32_t micro_batch, const struct sequence_room *room)
{
    const uint32_t tokens = micro_batch * room->length; /* both are bounded, by the option table and by the source */
    const uint32_t sequences = recipe->batch < tokens ? recipe->batch : tokens;
    assert(micro_batch > 0 && tokens / micro_batch == room->length && tokens <= INT32_MAX);
    struct pack_limits limits = {.tokens = (int32_t)tokens, .sequences = (int32_t)sequences};
    for (enum head_kind h = 0; h < HEAD_KINDS; h++) {
        limits.marks[h] = (int32_t)((head_kinds[h]->reads == READS_MARKED ? micro_batch : sequences) * room->marks[h]);
        limits.reads_all = limits.reads_all || (head_reads_all(h, &recipe->config) && room->marks[h] > 0);
    }
    return limits;
}

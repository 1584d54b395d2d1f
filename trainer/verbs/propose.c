#include "trainer/verbs/propose.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "trainer/recipe/keys.h"
#include "trainer/device/machine.h"
#include "trainer/run/console.h"
#include "trainer/run/setup.h"

#define DAY             86400.0
#define PRODUCT_SECONDS 0.3 /* for measuring products of each model */

static const char *const sizes[PROPOSAL_MODELS] = {"tiny", "mini", "small", "medium", "base", "large"};
static const char *const modern_sizes[PROPOSAL_MODELS] = {"modern-micro", "modern-tiny", "modern-mini",
                                                          "modern-32m",   "modern-68m",  "modern-base"};

/* What --best chooses. */
static const char *const rule_options[] = {
    "model",     "init",        "resume",     "config",  "recipe",      "set",          "seq",        "steps",
    "epochs",    "batch",       "lr",         "warmup",  "decay",       "schedule",     "optimizer",  "masks",
    "mask-prob", "mask-phases", "mask-split", "dropout", "decay-shape", "batch-warmup", "time-limit",
};

bool proposal_wanted(const struct settings *settings)
{
    if (settings->best > 0)
        return true;
    return !settings->model && !settings->init && !settings->resume && !settings->dry_run;
}

static struct choice_limits limits_of(const struct setup *setup)
{
    const struct settings *settings = setup->settings;
    const struct source *source = &setup->task.samples;
    const bool steps_given = settings_given(settings, "steps") || settings_given(settings, "epochs");
    const bool batch_given =
        settings_given(settings, "batch") || recipe_of(settings) || settings->config || settings->set.count > 0;
    return (struct choice_limits){
        .samples = 1e6 / datasets_epochs(&setup->datasets, 1000000), /* of the dataset that is read most often */
        .length = (double)source->tokens / (double)source->samples,
        .epochs = CHOICE_EPOCHS,
        .seconds = settings->best > 0         ? (double)settings->best
                   : settings->time_limit > 0 ? (double)settings->time_limit
                                              : DAY,
        .batch = batch_given || steps_given ? setup->recipe.batch : 0,
        .steps = steps_given ? setup->recipe.schedule.steps : 0,
    };
}

/* Measures the model of an open engine; returns 0 without measuring it if it needs more memory than there is. */
static int measure(const struct setup *setup, struct engine *engine, struct choice_model *model,
                   struct estimate *estimate, struct error *err)
{
    struct params params;
    if (engine_bytes(engine, ENGINE_TRAINING) > machine_memory_for(engine->ops))
        return 0;
    TRY(estimate_make_short(engine, &setup->task.samples, PRODUCT_SECONDS, estimate, err));
    params_init(&params, &setup->recipe.config);
    *model = (struct choice_model){
        .parameters = params.total, .sample = estimate->flops / estimate->passes, .update = estimate->update};
    for (size_t i = 0; i < params.count; i++)
        model->weights += params.items[i].hidden ? params.items[i].count : 0;
    params_release(&params);
    return 1;
}

/* The next model of the proposal: 1 it is measured, 0 it does not fit. */
static int try_model(struct proposal *proposal, const struct settings *settings, const char *name, struct error *err)
{
    struct settings with = *settings;
    SCOPED(setup_close) struct setup setup = {0};
    SCOPED(engine_close) struct engine engine = {0};
    SCOPED(origin_release) struct origin origin = {0};
    struct choice_model *model = &proposal->models[proposal->count];
    with.model = name;
    TRY(setup_open(&setup, &with, &origin, err));
    TRY(engine_choose(&engine, &with, &setup.recipe, &setup.task, err));
    TRY(engine_divide(&engine, 0, with.processes > 0 ? (uint32_t)with.processes : 1, err));
    TRY(engine_open(&engine, engine_precision(&engine, NULL), NULL, err));
    const int result = measure(&setup, &engine, model, &proposal->estimates[proposal->count], err);
    if (result > 0) {
        model->name = name;
        proposal->limits = limits_of(&setup);
        proposal->seq = setup.recipe.seq;
        proposal->choices[proposal->count++] = choice_make(model, &proposal->limits);
    }
    return result;
}

/* Of the training of a model. */
static double flop_of(const struct proposal *proposal, size_t i)
{
    return (double)proposal->choices[i].steps * proposal->choices[i].batch * proposal->estimates[i].flops;
}

/* Whether a model is better than the ones before it. Where the rule has no rows, it needs enough tokens too: the rule
 * knows nothing of small data that a large model learns by heart. */
static bool is_good(const struct proposal *proposal, size_t i)
{
    const struct choice_made *choice = &proposal->choices[i];
    if (!proposal->by_rule)
        return choice_enough(choice);
    if (i == 0 || choice->late)
        return !choice->late;
    const bool known = rule_knows((double)proposal->models[i].weights, choice->epochs);
    return proposal->losses[i] < proposal->losses[i - 1] && (known || choice_enough(choice));
}

/* Larger models get fewer tokens for each parameter, so the first that gets too few, or that the rule expects less of
 * than of the one before it, is the last that is measured. */
static int try_models(struct proposal *proposal, const struct settings *settings, struct error *err)
{
    const struct named_recipe *recipe = recipe_of(settings);
    const bool one = recipe && *recipe->model; /* the recipe is for it alone; else for ModernBERT's layers */
    for (size_t i = 0; i < (one ? 1 : PROPOSAL_MODELS); i++) {
        const char *name = one ? recipe->model : recipe ? modern_sizes[i] : sizes[i];
        const int result = try_model(proposal, settings, name, err);
        if (result <= 0) {
            proposal->unfit = name;
            return result;
        }
        const double weights = (double)proposal->models[i].weights;
        proposal->losses[i] = rule_loss(weights, proposal->choices[i].each * weights);
        if (!is_good(proposal, i))
            return 0;
    }
    return 0;
}

static int set_recipe(struct settings *settings, struct error *err)
{
    for (size_t i = 0; i < sizeof rule_options / sizeof *rule_options; i++)
        if (settings_given(settings, rule_options[i])) {
            fail(err, ERR_USAGE, "--best chooses how to train, and --%s says it too", rule_options[i]);
            return hint(err, "leave out one of them");
        }
    settings->seq = RULE_SEQ;
    settings->recipe = RECIPE_FAST;
    return 0;
}

int proposal_make(struct proposal *proposal, struct settings *settings, struct error *err)
{
    *proposal = (struct proposal){
        .steps_free = !settings_given(settings, "steps") && !settings_given(settings, "epochs"),
        .by_rule = settings->best > 0,
    };
    TRY(proposal->by_rule ? set_recipe(settings, err) : 0);
    TRY(try_models(proposal, settings, err));
    settings->model = proposal->count > 0 ? proposal->models[0].name : proposal->unfit;
    if (proposal->count == 0)
        return 0; /* the plan of that model says what it needs */
    proposal->best = choice_best(proposal->choices, proposal->count);
    if (proposal->by_rule)
        proposal->best = proposal->count - (is_good(proposal, proposal->count - 1) || proposal->count == 1 ? 1 : 2);
    const struct choice_made *choice = &proposal->choices[proposal->best];
    settings->model = proposal->models[proposal->best].name;
    if (proposal->steps_free)
        settings->steps = choice->steps;
    if (proposal->limits.batch == 0)
        settings->batch[0] = settings->batch[1] = choice->batch;
    if (proposal->by_rule) {
        snprintf(proposal->rate, sizeof proposal->rate, "optimizer.params.lr=%.2g", rule_rate(choice->steps));
        proposal->set[0] = proposal->rate;
        settings->set = (struct opt_paths){proposal->set, 1};
    }
    return 0;
}

void proposal_estimate(const struct proposal *proposal, uint32_t batch, struct estimate *estimate)
{
    const struct choice_model *model = &proposal->models[proposal->best];
    *estimate = proposal->estimates[proposal->best];
    estimate->step = batch * model->sample + model->update;
}

static const char *const bounds[] = {
    [CHOICE_BY_EPOCHS] = "epochs", [CHOICE_BY_TIME] = "time", [CHOICE_BY_STEPS] = "steps"};

static void say_candidate(const struct proposal *proposal, size_t i, const char *label, const char *why)
{
    char parameters[32], steps[56], tokens[32], epochs[40], time[32], gets[96];
    const struct choice_made *choice = &proposal->choices[i];
    if (proposal->by_rule)
        snprintf(gets, sizeof gets, "%.2g FLOP, loss %.2f, %.3g tokens per weight", flop_of(proposal, i),
                 proposal->losses[i], choice->each);
    else
        snprintf(gets, sizeof gets, "%.3g tokens per weight of its layers", choice->each);
    log_say("%-10s %s, %s parameters: %s of %" PRIu32 " samples = %s tokens = %s, about %s; %s%s", label,
            proposal->models[i].name, format_short(proposal->models[i].parameters, parameters),
            format_counted(choice->steps, "step", steps), choice->batch, format_short((uint64_t)choice->tokens, tokens),
            epochs_text(choice->epochs, epochs), format_seconds(choice->seconds, time), gets, why);
}

static void say_expected(const struct choice_made *choice)
{
    static const char *const more[] = {
        [CHOICE_BY_EPOCHS] = "the data are too small for any model; more text helps most",
        [CHOICE_BY_TIME] = "the time is too short for any model; a longer --time-limit or a faster machine helps most",
        [CHOICE_BY_STEPS] = "the steps are too few for any model"};
    char bert[32];
    format_count(CHOICE_BERT, bert);
    if (choice->late)
        log_say("expect     more time than the limit: even the smallest model takes it for these steps");
    else if (!choice_enough(choice))
        log_say("expect     little: %s (below %d tokens per weight)", more[choice->bound], CHOICE_ENOUGH);
    else if (choice->each < CHOICE_BERT)
        log_say("expect     a first model: it gets %.2g %% of the tokens per weight that BERT's base got (%s)",
                100 * choice->each / CHOICE_BERT, bert);
    else
        log_say("expect     as many tokens per weight as BERT's base got (%s), or more", bert);
}

static bool is_covered(const struct proposal *proposal, size_t i)
{
    return rule_covers((double)proposal->models[i].weights, proposal->choices[i].epochs, flop_of(proposal, i));
}

/* Why a larger model than the one proposed is not. */
static const char *why_not(const struct proposal *proposal, size_t i)
{
    if (proposal->choices[i].late)
        return "; takes longer than the limit";
    return proposal->by_rule && proposal->losses[i] >= proposal->losses[i - 1] ? "" : ", too few for it";
}

static void say_loss(const struct proposal *proposal)
{
    const double loss = proposal->losses[proposal->best];
    if (proposal->choices[proposal->best].late)
        log_say("expect     more time than that: even a step of the smallest model takes it");
    log_say("expect     a held-out loss of %.2f, from %.2f to %.2f, on English books with a vocabulary of 8,192%s",
            loss, loss * (1 - RULE_RANGE), loss * (1 + RULE_RANGE),
            is_covered(proposal, proposal->best)
                ? ""
                : "; no such training was measured (docs/RECORDS.md), so take it as a direction");
}

void proposal_say(const struct proposal *proposal)
{
    char samples[32], tokens[32], time[32];
    const struct choice_limits *limits = &proposal->limits;
    const size_t best = proposal->best;
    if (proposal->count == 0)
        return;
    log_say("data       %s samples of length %" PRIu32 " = %s tokens; limits: %d epochs, %s on this machine",
            format_count((uint64_t)(limits->samples + 0.5), samples), proposal->seq,
            format_short((uint64_t)(limits->samples * limits->length), tokens), CHOICE_EPOCHS,
            format_seconds(limits->seconds, time));
    say_candidate(proposal, best, "proposed",
                  proposal->by_rule                         ? ", the best by the rule"
                  : choice_enough(&proposal->choices[best]) ? ", the largest model with 20 or more"
                                                            : "");
    if (best > 0)
        say_candidate(proposal, best - 1, "smaller", "");
    if (best + 1 < proposal->count)
        say_candidate(proposal, best + 1, "larger", why_not(proposal, best + 1));
    if (proposal->unfit)
        log_say("larger     %s needs more memory than this machine has", proposal->unfit);
    if (proposal->by_rule)
        say_loss(proposal);
    else
        say_expected(&proposal->choices[best]);
}

static json_t *candidate_json(const struct proposal *proposal, size_t i)
{
    const struct choice_made *choice = &proposal->choices[i];
    const double loss = proposal->losses[i];
    json_t *json = json_pack("{s:s, s:I, s:I, s:I, s:i, s:f, s:f, s:f, s:f, s:s, s:b}", "model",
                             proposal->models[i].name, "parameters", (json_int_t)proposal->models[i].parameters,
                             "weights", (json_int_t)proposal->models[i].weights, "steps", (json_int_t)choice->steps,
                             "batch", (int)choice->batch, "tokens", choice->tokens, "epochs", choice->epochs, "seconds",
                             choice->seconds, "tokens_per_weight", choice->each, "limited_by", bounds[choice->bound],
                             "enough", choice_enough(choice));
    if (proposal->by_rule)
        json_object_update_new(json, json_pack("{s:f, s:f, s:f, s:f, s:b}", "flop", flop_of(proposal, i), "mlm_loss",
                                               loss, "mlm_loss_low", loss * (1 - RULE_RANGE), "mlm_loss_high",
                                               loss * (1 + RULE_RANGE), "covered", is_covered(proposal, i)));
    return json;
}

json_t *proposal_json(const struct proposal *proposal)
{
    json_t *candidates = json_array();
    for (size_t i = 0; i < proposal->count; i++)
        json_array_append_new(candidates, candidate_json(proposal, i));
    return candidates;
}

void proposal_add_options(const struct proposal *proposal, struct buf *command)
{
    char number[32];
    if (proposal->count == 0)
        return;
    const struct choice_made *choice = &proposal->choices[proposal->best];
    if (proposal->by_rule) {
        snprintf(number, sizeof number, "%d", RULE_SEQ);
        command_option(command, "seq", number);
    }
    command_option(command, "model", proposal->models[proposal->best].name);
    snprintf(number, sizeof number, "%" PRIu64, choice->steps);
    if (proposal->steps_free)
        command_option(command, "steps", number);
    snprintf(number, sizeof number, "%" PRIu32, choice->batch);
    if (proposal->limits.batch == 0)
        command_option(command, "batch", number);
    if (proposal->by_rule) {
        command_option(command, "recipe", recipe_at(RECIPE_FAST - 1)->name);
        command_option(command, "lr", strchr(proposal->rate, '=') + 1);
    }
}

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

bool proposal_wanted(const struct settings *settings)
{
    return !settings->model && !settings->init && !settings->resume && !settings->dry_run;
}

static struct choice_limits limits_of(const struct setup *setup)
{
    const struct settings *settings = setup->settings;
    const struct source *source = &setup->task.samples;
    const bool steps_given = settings_given(settings, "steps") || settings_given(settings, "epochs");
    const bool batch_given = settings_given(settings, "batch") || settings_given(settings, "recipe") ||
                             settings->config || settings->set.count > 0;
    return (struct choice_limits){
        .samples = 1e6 / datasets_epochs(&setup->datasets, 1000000), /* of the dataset that is read most often */
        .length = (double)source->tokens / (double)source->samples,
        .epochs = CHOICE_EPOCHS,
        .seconds = settings->time_limit > 0 ? (double)settings->time_limit : DAY,
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

/* Larger models get fewer tokens for each parameter, so the first that gets too few is the last that is measured. */
static int try_models(struct proposal *proposal, const struct settings *settings, struct error *err)
{
    const bool tuned = settings_given(settings, "recipe"); /* a recipe was found for one model */
    const size_t count = tuned ? 1 : PROPOSAL_MODELS;
    for (size_t i = 0; i < count; i++) {
        const char *name = tuned ? recipe_at((size_t)settings->recipe)->model : sizes[i];
        const int result = try_model(proposal, settings, name, err);
        if (result <= 0) {
            proposal->unfit = name;
            return result;
        }
        if (!choice_enough(&proposal->choices[i]))
            return 0;
    }
    return 0;
}

int proposal_make(struct proposal *proposal, struct settings *settings, struct error *err)
{
    *proposal = (struct proposal){
        .steps_free = !settings_given(settings, "steps") && !settings_given(settings, "epochs"),
    };
    TRY(try_models(proposal, settings, err));
    settings->model = proposal->count > 0 ? proposal->models[0].name : proposal->unfit;
    if (proposal->count == 0)
        return 0; /* the plan of that model says what it needs */
    proposal->best = choice_best(proposal->choices, proposal->count);
    const struct choice_made *choice = &proposal->choices[proposal->best];
    settings->model = proposal->models[proposal->best].name;
    if (proposal->steps_free)
        settings->steps = choice->steps;
    if (proposal->limits.batch == 0)
        settings->batch[0] = settings->batch[1] = choice->batch;
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
    char parameters[32], steps[56], tokens[32], epochs[40], time[32];
    const struct choice_made *choice = &proposal->choices[i];
    log_say("%-10s %s, %s parameters: %s of %" PRIu32
            " samples = %s tokens = %s, about %s; %.3g tokens per weight of its layers%s",
            label, proposal->models[i].name, format_short(proposal->models[i].parameters, parameters),
            format_counted(choice->steps, "step", steps), choice->batch, format_short((uint64_t)choice->tokens, tokens),
            epochs_text(choice->epochs, epochs), format_seconds(choice->seconds, time), choice->each, why);
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
                  choice_enough(&proposal->choices[best]) ? ", the largest model with 20 or more" : "");
    if (best > 0)
        say_candidate(proposal, best - 1, "smaller", "");
    if (best + 1 < proposal->count)
        say_candidate(proposal, best + 1, "larger",
                      proposal->choices[best + 1].late ? "; takes longer than the limit" : ", too few for it");
    if (proposal->unfit)
        log_say("larger     %s needs more memory than this machine has", proposal->unfit);
    say_expected(&proposal->choices[best]);
}

static json_t *candidate_json(const struct proposal *proposal, size_t i)
{
    const struct choice_made *choice = &proposal->choices[i];
    return json_pack("{s:s, s:I, s:I, s:I, s:i, s:f, s:f, s:f, s:f, s:s, s:b}", "model", proposal->models[i].name,
                     "parameters", (json_int_t)proposal->models[i].parameters, "weights",
                     (json_int_t)proposal->models[i].weights, "steps", (json_int_t)choice->steps, "batch",
                     (int)choice->batch, "tokens", choice->tokens, "epochs", choice->epochs, "seconds", choice->seconds,
                     "tokens_per_weight", choice->each, "limited_by", bounds[choice->bound], "enough",
                     choice_enough(choice));
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
    command_option(command, "model", proposal->models[proposal->best].name);
    snprintf(number, sizeof number, "%" PRIu64, choice->steps);
    if (proposal->steps_free)
        command_option(command, "steps", number);
    snprintf(number, sizeof number, "%" PRIu32, choice->batch);
    if (proposal->limits.batch == 0)
        command_option(command, "batch", number);
}

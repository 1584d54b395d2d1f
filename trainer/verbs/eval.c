/* dstrain eval: a run, a checkpoint or a Hugging Face directory and a dataset in; loss and accuracy on a split out, in
 * the dataset's order with the masks that are stored; --show: some samples with the model's guesses. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/progress.h"
#include "trainer/engine.h"
#include "trainer/keep/json.h"
#include "trainer/run.h"
#include "trainer/screen.h"
#include "trainer/setup.h"
#include "trainer/tune/guesses.h"

/* What run.json says a run was trained on; NULL: no run, or not said. */
static json_t *recorded_settings(const char *directory)
{
    struct error ignored = {0};
    json_t *record = NULL, *settings = NULL;
    char *path = path_join(directory, RUN_NAME);
    if (path_exists(path) && json_read(path, RUN_BYTES_MAX, ERR_VERIFY, &record, &ignored) == 0)
        settings = json_incref(json_object_get(record, "settings"));
    json_decref(record);
    mem_free(path);
    return settings;
}

static const char *const splits[] = {"train", "valid"};

static int load_model(struct engine *e, const struct origin *origin, struct error *err)
{
    struct names_report report;
    TRY(engine_load(e, ENGINE_MODEL, err));
    const int result = engine_read_weights(e, origin->weights, &report, err);
    if (result == 0)
        screen_init(origin->name, buf_text(&report.drawn), buf_text(&report.unused));
    names_report_release(&report);
    return result;
}

/* Some of the samples with the model's guesses; NULL: none are asked for. */
static int make_guesses(const struct setup *setup, struct engine *engine, json_t **guesses, struct error *err)
{
    const struct settings *settings = setup->settings;
    const struct source *source = &setup->task.splits[settings->split];
    const uint64_t samples = settings->eval_samples < source->samples ? settings->eval_samples : source->samples;
    *guesses = NULL;
    if (settings->shown == 0)
        return 0;
    char *path = path_join(setup->data.directory, VOCAB_NAME);
    const struct guesses_work work = {
        .ops = engine->ops,
        .model = engine->model,
        .source = source,
        .limits = &engine->limits,
        .vocabulary = path,
        .samples = samples,
        .shown = settings->shown < samples ? settings->shown : samples,
    };
    const int result = guesses_make(guesses, &work, err);
    mem_free(path);
    return result;
}

static void report(const struct setup *setup, const struct origin *origin, const struct evaluation *e, double seconds,
                   json_t *guesses)
{
    const char *split = splits[setup->settings->split];
    if (guesses && !setup->settings->json) {
        guesses_print(guesses, output_colours());
        fflush(stdout);
    }
    screen_means(&setup->task.metrics, e, split);
    if (!setup->settings->json)
        return;
    json_t *facts = json_pack("{s:o, s:s, s:i, s:I, s:I, s:f}", "model", json_name(origin->name), "split", split, "seq",
                              (int)setup->recipe.seq, "samples", (json_int_t)e->samples, "tokens",
                              (json_int_t)e->tokens, "seconds", seconds);
    if (origin->source != SOURCE_HUGGING_FACE)
        json_object_set_new(facts, "step", json_integer((json_int_t)origin->state.step));
    json_t *means = screen_means_json(&setup->task.metrics, e);
    json_object_update(facts, means);
    json_decref(means);
    if (guesses)
        json_object_set(facts, "shown", guesses);
    output_json(facts, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
}

static bool halted(void *team)
{
    return team_stop_asked(team) || team_has_failed(team);
}

static int open_model(struct setup *setup, struct engine *engine, const struct origin *origin, struct error *err)
{
    const struct settings *settings = setup->settings;
    const struct source *source = &setup->task.splits[settings->split];
    TRY(engine_choose(engine, settings, &setup->recipe, &setup->task, err));
    if (source->samples == 0)
        return fail_at(err, ERR_MISMATCH, settings->shards, ERROR_NO_OFFSET, "holds no %s samples of length %" PRIu32,
                       splits[settings->split], setup->recipe.seq);
    TRY(engine_open(engine, engine_precision(engine, NULL), NULL, err));
    return load_model(engine, origin, err);
}

/* Another dataset may have come to where the run's was. */
static int check_recorded(const struct setup *setup, const struct origin *origin, struct error *err)
{
    const char *recorded = json_string_value(json_object_get(origin->identity, "dataset"));
    char here[17];
    hash_text(setup->data.manifest.root_hash, here);
    if (!recorded || strcmp(recorded, here) == 0)
        return 0;
    fail_at(err, ERR_MISMATCH, setup->settings->shards, ERROR_NO_OFFSET,
            "is not the dataset that the run was trained on: its root hash is %s, the run's %s", here, recorded);
    return hint(err, "--shards DIR evaluates on another dataset, with the same vocabulary");
}

static int eval(struct setup *setup, struct engine *engine, struct team *team, const struct origin *origin,
                struct error *err)
{
    const struct settings *settings = setup->settings;
    struct evaluation evaluation;
    const double from = clock_now();
    const struct evaluation_work work = {
        .task = &setup->task,
        .model = engine->model,
        .source = &setup->task.splits[settings->split],
        .samples = settings->eval_samples,
        .limits = &engine->limits,
        .halt = &(struct halt){halted, team},
        .team = team,
    };
    TRY(setup->task.evaluate(&work, &evaluation, err));
    if (!team_leads(team))
        return 0;
    json_t *guesses;
    const double seconds = clock_now() - from;
    TRY(make_guesses(setup, engine, &guesses, err));
    report(setup, origin, &evaluation, seconds, guesses);
    json_decref(guesses);
    return 0;
}

int verb_eval(void *context, struct opt_paths bare, struct error *err)
{
    struct settings settings = *(const struct settings *)context;
    struct setup setup;
    struct engine engine = {0};
    struct origin origin = {0};
    struct team team;
    json_t *recorded = recorded_settings(bare.items[0]);
    const json_t *shards = json_object_get(recorded, "shards"), *seq = json_object_get(recorded, "seq");
    stop_on_signals();
    settings.init = bare.items[0];
    const bool as_recorded = !settings.shards && shards;
    if (as_recorded)
        settings.shards = json_string_value(shards);
    if (settings.seq == 0 && seq)
        settings.seq = strtoull(json_string_value(seq), NULL, 10);
    int result = team_open(&team, &settings, err);
    if (result == 0)
        result = setup_open(&setup, &settings, &origin, err);
    else
        setup = (struct setup){0};
    if (result == 0 && as_recorded)
        result = check_recorded(&setup, &origin, err);
    if (result == 0)
        result = open_model(&setup, &engine, &origin, err);
    result = team_agree(&team, result, err);
    if (result == 0)
        result = eval(&setup, &engine, &team, &origin, err);
    if (result < 0 && as_recorded && !path_exists(settings.shards))
        hint(err, "run.json names that dataset; --shards DIR says where it is now");
    origin_release(&origin);
    engine_close(&engine);
    setup_close(&setup);
    ((struct settings *)context)->mute = team_leave(&team, result, err);
    json_decref(recorded);
    return result;
}

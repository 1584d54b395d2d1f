/* dstrain eval: loss and accuracy of a model on a split of a dataset, in the dataset's order with the stored masks;
 * with --show some samples with the model's guesses. For a fine-tuned model: eval_tuned.c. */
#include <inttypes.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/json.h"
#include "trainer/run/run.h"
#include "trainer/tune/guesses.h"
#include "trainer/tune/tune_kinds.h"
#include "trainer/verbs/about.h"
#include "trainer/verbs/dstrain_eval.h"
#include "trainer/verbs/eval_tuned.h"

int evaluating_guesses(struct evaluating *e, json_t **guesses, struct error *err)
{
    const struct settings *settings = &e->settings;
    const struct source *source = &e->setup.task.splits[settings->split];
    const uint64_t samples = settings->eval_samples < source->samples ? settings->eval_samples : source->samples;
    const uint64_t shown = settings->shown < samples ? settings->shown : samples;
    return guesses_make(guesses, &e->engine, source, &e->setup.datasets.train[0], samples, shown, err);
}

/* The command that tries the model with a sentence of the datasets' language, or trains the head that it lacks. */
static char *trial(const struct setup *setup, const struct origin *origin, struct names_report *found)
{
    if (strstr(buf_text(&found->drawn), "cls.predictions."))
        return command_text("dstrain --shards %s --init %s", setup->datasets.train[0].directory, origin->name);
    json_auto_t *languages = json_object();
    for (size_t i = 0; i < setup->datasets.count; i++)
        about_languages(languages, setup->datasets.train[i].directory);
    SCOPED(mem_free_at) char *sentence = about_sentence(languages, "[MASK]");
    return command_text("dstrain fill-mask %s %s", origin->name, sentence);
}

static void report(const struct setup *setup, const struct origin *origin, struct names_report *found,
                   const struct evaluation *e, const struct evaluation *each, double seconds, json_t *guesses)
{
    const char *split = split_names[setup->settings->split];
    const uint32_t parts = setup->task.splits[setup->settings->split].parts;
    if (!setup->settings->json) {
        if (guesses)
            guesses_print(guesses, output_colours());
        console_means(output_line, &setup->task.metrics, e, split, "");
        console_datasets(output_line, &setup->task.metrics, each, parts, &setup->datasets);
        say_next(origin->source == SOURCE_HUGGING_FACE ? trial(setup, origin, found)
                                                       : command_text("dstrain export %s --out DIR", origin->name));
        return;
    }
    json_t *facts = json_pack("{s:o, s:s, s:i, s:I, s:I, s:f}", "model", json_name(origin->name), "split", split, "seq",
                              (int)setup->recipe.seq, "samples", (json_int_t)e->samples, "tokens",
                              (json_int_t)e->tokens, "seconds", seconds);
    if (origin->source != SOURCE_HUGGING_FACE)
        json_object_set_new(facts, "step", json_integer((json_int_t)origin->state.step));
    json_t *means = console_means_json(&setup->task.metrics, e);
    json_object_update(facts, means);
    json_decref(means);
    if (parts > 0)
        json_object_set_new(facts, "datasets",
                            console_datasets_json(&setup->task.metrics, each, parts, &setup->datasets));
    if (guesses)
        json_object_set(facts, "shown", guesses);
    output_json(facts, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
}

static bool halted(void *processes)
{
    return process_group_stop_asked(processes) || process_group_has_failed(processes);
}

static int open_model(struct evaluating *e, struct error *err)
{
    const struct settings *settings = &e->settings;
    const struct source *source = &e->setup.task.splits[settings->split];
    TRY(engine_choose(&e->engine, settings, &e->setup.recipe, &e->setup.task, err));
    if (source->samples == 0) {
        fail_at(err, ERR_MISMATCH, e->setup.datasets.train[0].directory, ERROR_NO_OFFSET,
                "%s no %s samples of length %" PRIu32,
                source->parts > 0 ? "this one and the other datasets hold" : "holds", split_names[settings->split],
                e->setup.recipe.seq);
        return hint(err, "dsdata build --valid holds some out; --split train evaluates on the others");
    }
    TRY(engine_open(&e->engine, engine_precision(&e->engine, NULL), NULL, err));
    TRY(engine_load(&e->engine, ENGINE_MODEL, err));
    return engine_read_weights(&e->engine, e->origin.weights, &e->report, err);
}

/* Checks that the dataset at the recorded path is still the one that the run was trained on. */
static int check_recorded(const struct setup *setup, const struct origin *origin, struct error *err)
{
    const char *recorded = json_string_value(json_object_get(origin->identity, "dataset"));
    char here[17];
    hash_text(setup->material.hash, here);
    if (!recorded || strcmp(recorded, here) == 0)
        return 0;
    if (setup->datasets.count > 1)
        fail(err, ERR_MISMATCH, "--shards: these are not the datasets that the run was trained on: %.400s",
             setup->material.mixture);
    else
        fail_at(err, ERR_MISMATCH, setup->datasets.train[0].directory, ERROR_NO_OFFSET,
                "is not the dataset that the run was trained on: its root hash is %s, the run's %s", here, recorded);
    return hint(err, "--shards DIR evaluates on another dataset, with the same vocabulary");
}

/* The run's run.json; NULL: there is none, or it cannot be read, for which *why is set. */
static json_t *read_record(const char *directory, struct error *why)
{
    json_t *record = NULL;
    SCOPED(mem_free_at) char *path = path_join(directory, RUN_NAME);
    if (path_exists(path) && json_read(path, RUN_BYTES_MAX, ERR_INPUT, &record, why) < 0)
        hint(why, "--shards DIR names the dataset to evaluate on");
    return record;
}

/* Nothing is given to evaluate on, and nothing is recorded. */
static int no_dataset(const json_t *record, const char *directory, struct error *err)
{
    const char *task = json_string_value(json_object_get(json_object_get(record, "identity"), "task"));
    if (!task) {
        enum model_source source;
        char *files;
        TRY(checkpoint_locate(directory, &source, &files, err)); /* not there at all: --shards would not help */
        mem_free(files);
        fail(err, ERR_USAGE, "--shards DIR is missing: the dataset to evaluate on");
        return hint(err, "dsdata build makes one");
    }
    fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET, "was fine-tuned (%.40s): there is no dataset to evaluate on",
            task);
    return hint_command(err, "dstrain eval %s scores it on its task; --shards DIR names a dataset", directory);
}

int evaluating_open(struct evaluating *e, const struct settings *settings, const char *directory, struct error *err)
{
    struct error unread = {0};
    *e = (struct evaluating){.settings = *settings, .recorded = read_record(directory, &unread)};
    const json_t *given = json_object_get(e->recorded, "settings");
    if (e->recorded && !settings->shown)
        run_say_running(directory);
    const json_t *shards = json_object_get(given, "shards"), *seq = json_object_get(given, "seq");
    const bool as_recorded = settings->shards.count == 0 && shards;
    e->settings.init = directory;
    if (as_recorded)
        e->settings.shards = e->shards = shards_recorded(shards);
    if (settings->seq == 0 && seq)
        e->settings.seq = strtoull(json_string_value(seq), NULL, 10);
    int result = process_group_open(&e->processes, &e->settings, err);
    if (result == 0 && e->settings.shards.count == 0 && unread.text[0]) {
        *err = unread;
        result = -1;
    }
    if (result == 0 && e->settings.shards.count == 0)
        result = no_dataset(e->recorded, directory, err);
    if (result == 0)
        result = setup_open(&e->setup, &e->settings, &e->origin, err);
    if (result == 0 && as_recorded)
        result = check_recorded(&e->setup, &e->origin, err);
    if (result == 0)
        result = open_model(e, err);
    result = process_group_barrier(&e->processes, result, err);
    if (result < 0 && as_recorded && shards_missing(&e->shards))
        hint(err, "run.json names that dataset; --shards DIR says where it is now");
    return result;
}

bool evaluating_close(struct evaluating *e, int result, struct error *err)
{
    names_report_release(&e->report);
    origin_release(&e->origin);
    engine_close(&e->engine);
    setup_close(&e->setup);
    const bool mute = process_group_leave(&e->processes, result, err);
    mem_free(e->shards.items);
    json_decref(e->recorded);
    return mute;
}

static int eval(struct evaluating *e, struct error *err)
{
    const struct settings *settings = &e->settings;
    struct evaluation evaluation, each[MIXTURE_MAX];
    const double from = clock_now();
    const struct evaluation_work work = {
        .task = &e->setup.task,
        .model = e->engine.model,
        .source = &e->setup.task.splits[settings->split],
        .samples = settings->eval_samples,
        .limits = &e->engine.limits,
        .halt = &(struct halt){halted, &e->processes},
        .processes = &e->processes,
        .each = each,
        .weights = e->origin.weights,
    };
    console_init(e->origin.name, buf_text(&e->report.drawn), buf_text(&e->report.unused));
    TRY(e->setup.task.evaluate(&work, &evaluation, err));
    if (!process_group_is_leader(&e->processes))
        return 0;
    json_t *guesses = NULL;
    const double seconds = clock_now() - from;
    if (settings->shown > 0)
        TRY(evaluating_guesses(e, &guesses, err));
    report(&e->setup, &e->origin, &e->report, &evaluation, each, seconds, guesses);
    json_decref(guesses);
    return 0;
}

int dstrain_eval(void *context, struct opt_paths bare, struct error *err)
{
    struct evaluating e;
    stop_on_signals();
    if (eval_tuned_asked(context, bare.items[0]))
        return eval_tuned(context, bare.items[0], err);
    TRY(tune_refuse_options(NULL, context, err));
    if (((const struct settings *)context)->eval_samples == 0)
        return fail(err, ERR_USAGE, "--eval-samples: 0 is too small, the least is 1"); /* in a run 0 is no evaluation */
    int result = evaluating_open(&e, context, bare.items[0], err);
    if (result == 0)
        result = eval(&e, err);
    ((struct settings *)context)->mute = evaluating_close(&e, result, err);
    return result;
}

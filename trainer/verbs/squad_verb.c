/* dstrain squad: a fine-tuned model, its answers and their scores. tune/squad.c describes one run. Without --train the
 * model answers as it is. */

#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/target.h"
#include "trainer/run/run.h"
#include "trainer/verbs/tune_run.h"

static bool asked(void *processes)
{
    return process_group_stop_asked(processes);
}

static int load(struct engine *e, const struct origin *origin, struct error *err)
{
    SCOPED(names_report_release) struct names_report report = {0};
    TRY(engine_open(e, engine_precision(e, NULL), NULL, err));
    TRY(engine_load(e, ENGINE_MODEL, err));
    TRY(engine_read_weights(e, origin->weights, &report, err));
    const bool tells = head_choice_tells(&e->recipe->head, &report);
    console_init(origin->name, buf_text(&report.drawn), buf_text(&report.unused));
    if (tells)
        head_choice_say(&e->recipe->head, &report);
    if (report.drawn.size > 0 || report.misshapen.size > 0 || e->recipe->head.drawn)
        log_warn("%s cannot answer questions yet, as its head is drawn at random: --train FILE trains it",
                 origin->name);
    return 0;
}

static int answer_all(struct setup *setup, struct process_group *processes, const struct origin *origin,
                      struct error *err)
{
    SCOPED(engine_close) struct engine engine = {0};
    const struct halt halt = {asked, processes};
    const bool modelled = !setup->settings->logits;
    TRY(modelled ? engine_choose(&engine, setup->settings, &setup->recipe, &setup->task, err) : 0);
    if (modelled)
        TRY(load(&engine, origin, err));
    TRY(path_make_directory(setup->settings->out, err));
    return setup->task.finish(
        &(struct evaluation_work){.task = &setup->task, .model = engine.model, .limits = &engine.limits, .halt = &halt},
        setup->settings->out, err);
}

static int answer_only(const struct settings *asked, struct error *err)
{
    struct settings settings = *asked;
    struct tuning tuning = tune_squad.tuning;
    struct setup setup = {0};
    struct origin origin = {0};
    struct process_group processes;
    stop_on_signals();
    TRY(process_group_single(&processes, err));
    settings.tuning = &tuning;
    settings.json = false; /* there is one object: the scores */
    tuning.context = tune_squad.make(&tune_squad, "squad", &settings, TUNE_TRAIN);
    int result = setup_open(&setup, &settings, &origin, err);
    if (result == 0)
        result = answer_all(&setup, &processes, &origin, err);
    origin_release(&origin);
    setup_close(&setup);
    process_group_close(&processes);
    tune_squad.release(tuning.context);
    return result;
}

/* The files of answers, and how squad.c writes them: with two blanks a level, where Google's script has four. */
static const char *const best[] = {"\": \"", NULL}, *const choices[] = {"\": [\n    {\n      \"text\": ", NULL};
static const struct answers_file {
    const char *name;
    struct target_form forms[2];
} answers_files[] = {
    {"predictions.json", {{.begins = "{\n  \"", .holds = best}, {.begins = "{}\n"}}},
    {"nbest_predictions.json", {{.begins = "{\n  \"", .holds = choices}, {.begins = "{}\n"}}},
    {"null_odds.json", {{.begins = "{\n  \""}, {.begins = "{}\n"}}},
    {"scores.json", {{.begins = "{\n  \"exact_match\": "}, {.begins = "{\n  \"exact_match\": "}}},
};
#define ANSWERS_FILES (sizeof answers_files / sizeof *answers_files)

/* A file of answers, whole or interrupted while it was written. */
static bool is_answers(const char *name)
{
    for (size_t i = 0; i < ANSWERS_FILES; i++)
        if (str_starts(str_of(name), str_of(answers_files[i].name)) &&
            (!name[strlen(answers_files[i].name)] || strcmp(name + strlen(answers_files[i].name), ".tmp") == 0))
            return true;
    return false;
}

static int check_answers(const struct settings *settings, struct error *err)
{
    int result = 0;
    for (size_t i = 0; i < ANSWERS_FILES && result == 0; i++) {
        char *path = path_join(settings->out, answers_files[i].name);
        const struct target target = {.option = "out",
                                      .path = path,
                                      .force = settings->force,
                                      .forms = answers_files[i].forms,
                                      .form_count = 2,
                                      .reads = &settings->dev,
                                      .read_count = 1};
        result = path_exists(path) ? target_check(&target, err) : 0;
        mem_free(path);
    }
    return result;
}

/* Answers replace earlier answers, and nothing else: not those of a run, and no files of others. */
static int check_directory(const struct settings *settings, struct error *err)
{
    const char *out = settings->out;
    struct path_list list;
    const char *other = NULL;
    int result = 0;
    if (!path_exists(out))
        return 0;
    TRY(path_list(&list, out, err));
    for (size_t i = 0; i < list.count && !(other && strcmp(other, RUN_NAME) == 0); i++)
        if (!is_answers(list.names[i]))
            other = list.names[i];
    if (other)
        result = strcmp(other, RUN_NAME) == 0
                     ? fail_at(err, ERR_MISMATCH, out, ERROR_NO_OFFSET,
                               "holds a run, and these answers are not its own: give another --out")
                     : fail_at(err, ERR_USAGE, out, ERROR_NO_OFFSET,
                               "is not empty and holds more than answers (it holds %.100s): give another --out", other);
    path_list_release(&list);
    return result < 0 ? -1 : check_answers(settings, err);
}

static int check(const struct settings *settings, struct error *err)
{
    if (!settings->train && !settings->dev) {
        fail(err, ERR_USAGE, "--train FILE and --dev FILE are missing: give one of them, or both");
        return hint(err, "files of questions in SQuAD's form: train-v1.1.json, dev-v1.1.json");
    }
    if (settings->logits && !settings->dev)
        return fail(err, ERR_USAGE, "--logits FILE answers the questions of --dev FILE, which is missing");
    if (!settings->out)
        return fail(err, ERR_USAGE, "--out DIR is missing: where model and answers are written");
    if (!settings->train && settings->launch->size > 1)
        return fail(err, ERR_USAGE, "one process answers questions: several need --train");
    return settings->train ? 0 : check_directory(settings, err);
}

static void warn_of_answers(const char *out, const char *key, const char *before)
{
    SCOPED(mem_free_at) char *command = command_text("dstrain squad --init %s --dev FILE --out DIR", out);
    log_warn("%s has the answers of --%s %s; for others: %s", out, key, before, command);
}

/* A finished run has the answers of the options that it ended with: says which of now are others. */
static void warn_of_others(const struct settings *settings)
{
    static const char *const keys[] = {"dev", "max-answer", "n-best", "null-threshold"};
    struct error ignored = {0};
    json_t *record = NULL;
    if (!settings->train || run_read(settings->out, &record, &ignored) < 0)
        return;
    const json_t *then = json_object_get(record, "settings");
    json_t *now = opts_json(settings->program, settings->result->verb, settings);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *before = json_string_value(json_object_get(then, keys[i]));
        const char *after = json_string_value(json_object_get(now, keys[i]));
        if (before && after && strcmp(before, after) != 0 && !(i == 0 && path_same(before, after)))
            warn_of_answers(settings->out, keys[i], before);
    }
    json_decref(now);
    json_decref(record);
}

static int say_scores(const struct settings *settings, struct error *err)
{
    json_t *scores = NULL;
    if (tune_read_scores(settings->out, &scores, err) < 0)
        return hint_command(err, "the run is finished; dstrain squad --init %s --dev FILE --out DIR answers questions",
                            settings->out);
    warn_of_others(settings);
    tune_squad.say_scores(log_say, NULL, scores);
    if (settings->json)
        output_json(json_incref(scores), JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    tune_say_next(settings->train ? settings->out : settings->init, settings->train);
    json_decref(scores);
    return 0;
}

int dstrain_squad(void *context, struct opt_paths bare, struct error *err)
{
    struct settings *settings = context;
    (void)bare;
    TRY(check(settings, err));
    TRY(settings->train ? tune_run(&tune_squad, "squad", settings, settings->seed, settings->out, err)
                        : answer_only(settings, err));
    return settings->dev && settings->launch->rank == 0 ? say_scores(settings, err) : 0;
}

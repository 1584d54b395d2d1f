/* In: a model with the head of a task, and the task's dev data. Out: its scores.
 *
 *     look (records beside the model) → choose the task → take settings → open data and model → predict → score */
#include "trainer/verbs/eval_tuned.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/progress.h"
#include "trainer/model/config.h"
#include "trainer/run/engine.h"
#include "base/json_write.h"
#include "trainer/run/run.h"
#include "trainer/run/console.h"
#include "trainer/tune/glue.h"
#include "trainer/tune/glue_scores.h"
#include "trainer/tune/labels.h"
#include "trainer/tune/squad.h"
#include "trainer/verbs/about.h"

struct tuned {
    const char *directory;
    json_t *record; /* the run's run.json, or NULL */
    json_t *config; /* config.json */
    char *task;     /* as the run or checkpoint records it: "glue mrpc"; NULL: not recorded */
    bool is_run;    /* a run or checkpoint of ours */

    struct settings settings;
    struct tuning tuning;
    struct glue glue; /* if glue.task is set, else */
    struct squad squad;
    struct setup setup;
    struct origin origin;
    struct engine engine;
    struct process_group processes;
};

/* ---- what the directory is ---- */

/* The run.json of a run, or of the run that a checkpoint lies in. */
static json_t *record_of(const char *directory, enum model_source source, const char *files)
{
    char *run = source == SOURCE_CHECKPOINT ? path_join(files, "../..") : mem_copy_text(directory);
    json_t *record = source == SOURCE_HUGGING_FACE ? NULL : about_read(run, RUN_NAME, RUN_BYTES_MAX);
    mem_free(run);
    return record;
}

static int look(struct tuned *t, const char *directory, struct error *err)
{
    enum model_source source;
    char *files = NULL;
    t->directory = directory;
    if (checkpoint_locate(directory, &source, &files, err) < 0)
        return path_hint_download(directory, true, err);
    json_t *state = about_read(files, STATE_NAME, STATE_BYTES_MAX);
    const char *task = json_string_value(json_object_get(json_object_get(state, "run"), "task"));
    t->is_run = source != SOURCE_HUGGING_FACE;
    t->task = task ? mem_copy_text(task) : NULL;
    t->record = record_of(directory, source, files);
    json_decref(state);
    const int result = labels_read(files, &t->config, err);
    mem_free(files);
    return result;
}

static void forget(struct tuned *t)
{
    json_decref(t->record);
    json_decref(t->config);
    mem_free(t->task);
}

static bool architecture_ends(const struct tuned *t, const char *end)
{
    const char *name = json_string_value(json_array_get(json_object_get(t->config, "architectures"), 0));
    return name && str_ends(str_of(name), str_of(end));
}

static bool is_for_questions(const struct tuned *t)
{
    return architecture_ends(t, "ForQuestionAnswering");
}

bool eval_tuned_asked(const struct settings *settings, const char *directory)
{
    struct tuned t = {0};
    struct error ignored = {0};
    if (settings->task || settings->dev || settings->glue)
        return true;
    if (settings->shards.count > 0)
        return false;
    const bool there = look(&t, directory, &ignored) == 0;
    const bool tuned = there && (t.task || is_for_questions(&t) || architecture_ends(&t, "ForSequenceClassification"));
    forget(&t);
    return tuned;
}

/* ---- the task ---- */

static int task_named(struct tuned *t, const char *name, struct error *err)
{
    if (strcmp(name, "squad") == 0)
        return 0;
    t->glue.task = glue_task_named(name);
    if (t->glue.task)
        return 0;
    fail(err, ERR_USAGE, "%.40s is not a task that models are fine-tuned for here", name);
    return hint(err, "--task: cola, sst-2, mrpc, sts-b, qqp, mnli, qnli, rte, wnli or squad");
}

/* Leaves those of several tasks whose folders are there. */
static size_t with_folders(const char *data, const struct glue_task *tasks[GLUE_TASKS], size_t count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        char *folder = path_join(data, tasks[i]->folder);
        if (path_is_directory(folder))
            tasks[left++] = tasks[i];
        mem_free(folder);
    }
    return left;
}

static int no_task(const struct tuned *t, const struct glue_task *const tasks[GLUE_TASKS], size_t count,
                   struct error *err)
{
    struct buf names = {0};
    for (size_t i = 0; i < count; i++)
        buf_addf(&names, "%s%s", i > 0 ? ", " : "", tasks[i]->name);
    if (count > 0)
        fail_at(err, ERR_USAGE, t->directory, ERROR_NO_OFFSET, "its labels are those of several tasks: %s",
                buf_text(&names));
    else
        fail_at(err, ERR_USAGE, t->directory, ERROR_NO_OFFSET, "does not say which task it was fine-tuned for");
    buf_release(&names);
    return hint(err, "--task NAME says it (cola, sst-2, mrpc, sts-b, qqp, mnli, qnli, rte, wnli, squad); a model that "
                     "was only pre-trained is evaluated with --shards DATASET");
}

static int choose_task(struct tuned *t, struct error *err)
{
    const struct settings *settings = &t->settings;
    const struct glue_task *tasks[GLUE_TASKS];
    if (settings->task)
        return task_named(t, settings->task, err);
    if (t->task)
        return task_named(t, strncmp(t->task, "glue ", 5) == 0 ? t->task + 5 : t->task, err);
    if (is_for_questions(t))
        return 0;
    size_t count = architecture_ends(t, "ForSequenceClassification") ? labels_tasks(t->config, tasks) : 0;
    if (count > 1 && settings->glue) {
        const size_t there = with_folders(settings->glue, tasks, count);
        count = there > 0 ? there : labels_tasks(t->config, tasks);
    }
    if (count != 1)
        return no_task(t, tasks, count, err);
    t->glue.task = tasks[0];
    return 0;
}

/* ---- settings ---- */

/* The value of an option in the run's record, unless this command gives the option. */
static const char *recorded(const struct tuned *t, const char *option)
{
    return settings_given(&t->settings, option)
               ? NULL
               : json_string_value(json_object_get(json_object_get(t->record, "settings"), option));
}

static void take_count(const struct tuned *t, const char *option, uint64_t *value)
{
    const char *text = recorded(t, option);
    if (text)
        *value = strtoull(text, NULL, 10);
}

/* Settings on which bits depend: the run's, else the defaults of its verb. */
static void take_settings(struct tuned *t)
{
    const bool squad = !t->glue.task;
    const char *batch = recorded(t, "batch"), *threshold = recorded(t, "null-threshold");
    const char *samples = strrchr(batch ? batch : "", ':'); /* the last of a batch that grew */
    const uint64_t positions = (uint64_t)json_integer_value(json_object_get(t->config, "max_position_embeddings"));
    t->settings.init = t->directory;
    t->settings.tuning = &t->tuning;
    take_count(t, "seq", &t->settings.seq);
    if (t->settings.seq == 0) {
        t->settings.seq = strtoull(squad ? SQUAD_SEQ : GLUE_SEQ, NULL, 10);
        if (positions > 0 && positions < t->settings.seq)
            t->settings.seq = positions;
    }
    batch = samples ? samples + 1 : batch ? batch : squad ? SQUAD_BATCH : GLUE_BATCH;
    t->settings.batch[0] = t->settings.batch[1] = strtoull(batch, NULL, 10);
    take_count(t, "micro-batch", &t->settings.micro_batch);
    take_count(t, "doc-stride", &t->settings.doc_stride);
    take_count(t, "max-query", &t->settings.max_query);
    take_count(t, "max-answer", &t->settings.max_answer);
    take_count(t, "n-best", &t->settings.n_best);
    if (threshold)
        t->settings.null_threshold = strtod(threshold, NULL);
}

/* The recorded path of the data, which this command does not give. */
static int recorded_data(const struct tuned *t, const char *option, const char **path, struct error *err)
{
    *path = recorded(t, option);
    if (!*path) {
        fail(err, ERR_USAGE, "--%s is missing: the %s to score the model on", option,
             strcmp(option, "dev") == 0 ? "questions" : "folder of the tasks");
        return strcmp(option, "dev") == 0
                   ? hint(err, "--dev FILE: questions in SQuAD's form, as dev-v1.1.json")
                   : hint(err, "--data DIR has a folder for each task, as DIR/MRPC; or --dev FILE is the task's file");
    }
    if (path_exists(*path))
        return 0;
    fail_at(err, ERR_USAGE, *path, ERROR_NO_OFFSET, "is not there: the data that the run was scored on");
    return hint(err, "run.json names that path, seen from where the run was started; --%s says where it is now",
                option);
}

static int take_data(struct tuned *t, struct error *err)
{
    const struct settings *settings = &t->settings;
    if (settings->dev && settings->glue)
        return fail(err, ERR_USAGE, "--dev FILE and --data DIR both say what to score on: give one of them");
    if (!t->glue.task && settings->glue) {
        fail(err, ERR_USAGE, "--data is for tasks of GLUE, the task of %s is squad", t->directory);
        return hint(err, "--dev FILE has the questions");
    }
    if (!t->glue.task && !settings->dev)
        return recorded_data(t, "dev", &t->settings.dev, err);
    if (t->glue.task && !settings->dev && !settings->glue)
        return recorded_data(t, "data", &t->settings.glue, err);
    return 0;
}

static int take_task(struct tuned *t, struct error *err)
{
    take_settings(t);
    TRY(take_data(t, err));
    if (t->glue.task) {
        t->glue.answers = true;
        t->glue.data = t->settings.glue;
        t->glue.dev = t->settings.dev;
        t->tuning = (struct tuning)GLUE_TUNING(&t->glue);
    } else {
        t->settings.train = t->settings.logits = NULL;
        t->squad = squad_asked(&t->settings);
        t->tuning = (struct tuning)SQUAD_TUNING(&t->squad);
    }
    return 0;
}

/* ---- the model ---- */

static const char *task_name(const struct tuned *t)
{
    return t->glue.task ? t->glue.task->name : "squad";
}

/* A head that is drawn would score like chance, and mean nothing. */
static int check_head(const struct tuned *t, struct names_report *report, struct error *err)
{
    const struct head_choice *choice = &t->setup.recipe.head;
    if (!choice->drawn && report->drawn.size == 0)
        return 0;
    const bool lacks = !choice->drawn && report->misshapen.size == 0;
    fail_at(err, ERR_MISMATCH, t->directory, ERROR_NO_OFFSET, "has no head for %s: %s%.300s", task_name(t),
            lacks ? "it lacks " : "",
            lacks           ? buf_text(&report->drawn)
            : choice->drawn ? choice->why
                            : buf_text(&report->misshapen));
    if (choice->fits && choice->by_names)
        return hint(err,
                    "if the head is one of %s, write the task's labels into id2label of config.json, in the order of "
                    "the head's rows",
                    task_name(t));
    return t->glue.task ? hint_command(err, "dstrain glue %s --init %s --data DIR --out DIR trains one", task_name(t),
                                       t->directory)
                        : hint_command(err, "dstrain squad --init %s --train FILE --out DIR trains one", t->directory);
}

static int read_model(struct tuned *t, struct error *err)
{
    struct names_report report = {0};
    const json_t *precision = json_object_get(t->record, "precision");
    TRY(engine_choose(&t->engine, &t->settings, &t->setup.recipe, &t->setup.task, err));
    TRY(engine_open(&t->engine, engine_precision(&t->engine, json_string_value(precision)), NULL, err));
    TRY(engine_load(&t->engine, ENGINE_MODEL, err));
    int result = engine_read_weights(&t->engine, t->origin.weights, &report, err);
    if (result == 0)
        result = check_head(t, &report, err);
    if (result == 0) {
        console_init(t->origin.name, "", buf_text(&report.body));
        if (head_choice_tells(&t->setup.recipe.head, &report))
            head_choice_say(&t->setup.recipe.head, &report);
    }
    names_report_release(&report);
    return result;
}

static bool close_all(struct tuned *t, int result, struct error *err)
{
    engine_close(&t->engine);
    setup_close(&t->setup);
    origin_release(&t->origin);
    glue_release(&t->glue);
    squad_close(&t->squad);
    forget(t);
    return process_group_leave(&t->processes, result, err);
}

/* ---- scores ---- */

static bool halted(void *processes)
{
    return process_group_stop_asked(processes) || process_group_has_failed(processes);
}

static void report(const struct tuned *t, json_t *scores, double seconds)
{
    if (t->settings.json) {
        json_t *facts = json_pack("{s:o, s:s, s:i, s:f}", "model", json_name(t->directory), "task", task_name(t), "seq",
                                  (int)t->setup.recipe.seq, "seconds", seconds);
        if (t->is_run)
            json_object_set_new(facts, "step", json_integer((json_int_t)t->origin.state.step));
        json_object_update(facts, scores);
        output_json(facts, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    } else if (t->glue.task) {
        glue_say_scores(output_line, t->glue.task, scores);
    } else {
        squad_say_scores(output_line, scores);
    }
    say_next(t->is_run      ? command_text("dstrain export %s --out DIR", t->directory)
             : t->glue.task ? command_text("dstrain glue %s --init %s --data DIR --out DIR", task_name(t), t->directory)
                            : command_text("dstrain squad --init %s --train FILE --out DIR", t->directory));
}

static int score(struct tuned *t, struct error *err)
{
    const double from = clock_now();
    const struct halt halt = {halted, &t->processes};
    const struct evaluation_work work = {
        .task = &t->setup.task,
        .model = t->engine.model,
        .limits = &t->engine.limits,
        .halt = &halt,
        .processes = &t->processes,
        .weights = t->origin.weights,
    };
    json_t *scores = NULL;
    TRY(t->glue.task ? glue_evaluate(&t->glue, &work, &scores, err) : squad_evaluate(&t->squad, &work, &scores, err));
    if (process_group_is_leader(&t->processes))
        report(t, scores, clock_now() - from);
    json_decref(scores);
    return 0;
}

/* Options that this kind of evaluation does not know. */
static int check_options(const struct tuned *t, struct error *err)
{
    static const char *const others[] = {"shards", "split", "show", "eval-samples"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (settings_given(&t->settings, others[i])) {
            fail(err, ERR_USAGE, "--%s is for models that are evaluated on a dataset, not on a task", others[i]);
            return hint(err, "--dev FILE or --data DIR says what a fine-tuned model is scored on");
        }
    return t->glue.task ? eval_tuned_not_squad(&t->settings, err) : 0;
}

int eval_tuned_not_squad(const struct settings *settings, struct error *err)
{
    static const char *const names[] = {"doc-stride", "max-query", "max-answer", "n-best", "null-threshold"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (settings_given(settings, names[i]))
            return fail(err, ERR_USAGE, "--%s is for squad alone", names[i]);
    return 0;
}

static int open_all(struct tuned *t, const char *directory, struct error *err)
{
    TRY(look(t, directory, err));
    TRY(choose_task(t, err));
    TRY(check_options(t, err));
    TRY(take_task(t, err));
    if (t->record)
        run_say_running(directory);
    TRY(setup_open(&t->setup, &t->settings, &t->origin, err));
    return read_model(t, err);
}

int eval_tuned(struct settings *settings, const char *directory, struct error *err)
{
    struct tuned t = {.settings = *settings};
    int result = process_group_open(&t.processes, settings, err);
    if (result == 0)
        result = process_group_barrier(&t.processes, open_all(&t, directory, err), err);
    if (result == 0)
        result = score(&t, err);
    settings->mute = close_all(&t, result, err);
    return result;
}

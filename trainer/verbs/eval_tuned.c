/* The scores of a fine-tuned model:
 *
 *     look (records beside the model) → choose the task → take settings → open data and model → predict → score */
#include "trainer/verbs/eval_tuned.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/output.h"
#include "trainer/model/head.h"
#include "trainer/run/run.h"
#include "trainer/tune/labels.h"
#include "trainer/tune/tune_kinds.h"
#include "trainer/verbs/about.h"

struct tuned {
    const char *directory;
    json_t *record; /* the run's run.json, or NULL */
    json_t *config; /* config.json */
    char *recorded; /* the task as the run or checkpoint records it: "glue mrpc"; NULL: not recorded */
    bool is_run;    /* a run or checkpoint of ours */

    struct settings settings;
    struct tune_task task;
    struct tuning tuning;
    struct setup setup;
    struct origin origin;
    struct engine engine;
    struct process_group processes;
};

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
    t->recorded = task ? mem_copy_text(task) : NULL;
    t->record = about_record(directory, source, files);
    json_decref(state);
    const int result = labels_read(files, &t->config, err);
    mem_free(files);
    return result;
}

static void forget(struct tuned *t)
{
    json_decref(t->record);
    json_decref(t->config);
    mem_free(t->recorded);
}

/* Whether the model's class is that of a head. */
static bool is_class_of(const struct tuned *t, enum head_kind head)
{
    const char *name = json_string_value(json_array_get(json_object_get(t->config, "architectures"), 0));
    return name && str_ends(str_of(name), str_of(head_kinds[head]->class_end));
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
    bool tuned = there && t.recorded;
    for (size_t i = 0; there && tune_kinds[i]; i++)
        tuned = tuned || is_class_of(&t, tune_kinds[i]->head);
    forget(&t);
    return tuned;
}

/* The names of all tasks: "a, b or c" or "a, b, c". */
static const char *all_tasks(const char *last, struct buf *names)
{
    for (size_t i = 0; tune_kinds[i]; i++)
        buf_addf(names, "%s%s", i == 0 ? "" : tune_kinds[i + 1] ? ", " : last, tune_kinds[i]->tasks);
    return buf_text(names);
}

static int no_such_task(const char *name, struct error *err)
{
    SCOPED(buf_release) struct buf names = {0};
    fail(err, ERR_USAGE, "%.40s is not a task that models are fine-tuned for here", name);
    hint(err, "--task: %s", all_tasks(" or ", &names));
    return -1;
}

static int no_task(const struct tuned *t, const char *const *tasks, size_t count, struct error *err)
{
    SCOPED(buf_release) struct buf names = {0};
    for (size_t i = 0; i < count; i++)
        buf_addf(&names, "%s%s", i > 0 ? ", " : "", tasks[i]);
    if (count > 0)
        fail_at(err, ERR_USAGE, t->directory, ERROR_NO_OFFSET, "its labels are those of several tasks: %s",
                buf_text(&names));
    else
        fail_at(err, ERR_USAGE, t->directory, ERROR_NO_OFFSET, "does not say which task it was fine-tuned for");
    buf_reset(&names);
    hint(err, "--task NAME says it (%s); a model that was only pre-trained is evaluated with --shards DATASET",
         all_tasks(", ", &names));
    return -1;
}

/* The task is that of --task, else of the run's record, else the only one that config.json fits. */
static int choose_task(struct tuned *t, struct error *err)
{
    const struct settings *settings = &t->settings;
    const char *names[TUNE_KIND_COUNT * TUNE_TASKS_MAX];
    size_t count = 0;
    if (settings->task || t->recorded) {
        t->task = settings->task ? tune_task_named(settings->task) : tune_task_recorded(t->recorded);
        return t->task.kind ? 0 : no_such_task(t->task.name, err);
    }
    for (size_t i = 0; tune_kinds[i]; i++)
        if (is_class_of(t, tune_kinds[i]->head)) {
            const size_t more = tune_fits(tune_kinds[i], t->config, settings->glue, names + count);
            if (more > 0)
                t->task = (struct tune_task){tune_kinds[i], names[count]};
            count += more;
        }
    return count == 1 ? 0 : no_task(t, names, count, err);
}

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

static void take_text(const struct tuned *t, const char *option, const char **value)
{
    if (!*value)
        *value = recorded(t, option);
}

/* Settings on which bits depend: the run's, else the defaults of its verb. */
static void take_settings(struct tuned *t)
{
    const struct tune_kind *kind = t->task.kind;
    const char *batch = recorded(t, "batch"), *threshold = recorded(t, "null-threshold");
    const char *samples = strrchr(batch ? batch : "", ':'); /* the last of a batch that grew */
    const uint64_t positions = (uint64_t)json_integer_value(json_object_get(t->config, "max_position_embeddings"));
    t->settings.init = t->directory;
    t->settings.tuning = &t->tuning;
    take_count(t, "seq", &t->settings.seq);
    if (t->settings.seq == 0) {
        t->settings.seq = strtoull(kind->seq, NULL, 10);
        if (positions > 0 && positions < t->settings.seq)
            t->settings.seq = positions;
    }
    batch = samples ? samples + 1 : batch ? batch : kind->batch;
    t->settings.batch[0] = t->settings.batch[1] = strtoull(batch, NULL, 10);
    take_count(t, "micro-batch", &t->settings.micro_batch);
    take_count(t, "doc-stride", &t->settings.doc_stride);
    take_count(t, "max-query", &t->settings.max_query);
    take_count(t, "max-answer", &t->settings.max_answer);
    take_count(t, "n-best", &t->settings.n_best);
    take_text(t, "text", &t->settings.text);
    take_text(t, "text2", &t->settings.text2);
    take_text(t, "label", &t->settings.label);
    take_text(t, "column", &t->settings.column);
    if (threshold)
        t->settings.null_threshold = strtod(threshold, NULL);
}

/* The recorded path of the data, which this command does not give. */
static int recorded_data(const struct tuned *t, const char **path, struct error *err)
{
    const struct tune_kind *kind = t->task.kind;
    *path = recorded(t, kind->data);
    if (!*path) {
        fail(err, ERR_USAGE, "--%s is missing: the %s to score the model on", kind->data, kind->data_is);
        return hint(err, "%s", kind->data_hint);
    }
    if (path_exists(*path))
        return 0;
    fail_at(err, ERR_USAGE, *path, ERROR_NO_OFFSET, "is not there: the data that the run was scored on");
    return hint(err, "run.json names that path, seen from where the run was started; --%s says where it is now",
                kind->data);
}

static int take_data(struct tuned *t, struct error *err)
{
    const struct settings *settings = &t->settings;
    const bool in_file = strcmp(t->task.kind->data, "dev") == 0;
    if (settings->dev && settings->glue)
        return fail(err, ERR_USAGE, "--dev FILE and --data DIR both say what to score on: give one of them");
    if (in_file && settings->glue) {
        fail(err, ERR_USAGE, "--data is for tasks of GLUE, the task of %s is %s", t->directory, t->task.name);
        return hint(err, "the %s come from --dev FILE", t->task.kind->data_is);
    }
    if (settings->dev || settings->glue)
        return 0;
    return recorded_data(t, in_file ? &t->settings.dev : &t->settings.glue, err);
}

static int take_task(struct tuned *t, struct error *err)
{
    take_settings(t);
    TRY(take_data(t, err));
    t->tuning = t->task.kind->tuning;
    t->tuning.context = t->task.kind->make(t->task.kind, t->task.name, &t->settings, TUNE_SCORE);
    return 0;
}

/* The hint is the command that trains the head. */
static int hint_training(const struct tuned *t, struct error *err)
{
    static const char after[] = " trains one";
    char *command = tune_command(&t->task, t->directory);
    if (strlen(command) + sizeof after > sizeof err->hint) { /* no command is cut off */
        mem_free(command);
        command = tune_command(&t->task, "FILE");
    }
    hint(err, "%s%s", command, after);
    mem_free(command);
    return -1;
}

/* A head that is drawn would score like chance, and mean nothing. */
static int check_head(const struct tuned *t, struct names_report *report, struct error *err)
{
    const struct head_choice *choice = &t->setup.recipe.head;
    if (!choice->drawn && report->drawn.size == 0)
        return 0;
    const bool lacks = !choice->drawn && report->misshapen.size == 0;
    fail_at(err, ERR_MISMATCH, t->directory, ERROR_NO_OFFSET, "has no head for %s: %s%.300s", t->task.name,
            lacks ? "it lacks " : "",
            lacks           ? buf_text(&report->drawn)
            : choice->drawn ? choice->why
                            : buf_text(&report->misshapen));
    if (choice->fits && choice->by_names)
        return hint(err,
                    "if the head is one of %s, write the task's labels into id2label of config.json, in the order of "
                    "the head's rows",
                    t->task.name);
    return hint_training(t, err);
}

static int read_model(struct tuned *t, struct error *err)
{
    SCOPED(names_report_release) struct names_report report = {0};
    const json_t *precision = json_object_get(t->record, "precision");
    TRY(engine_choose(&t->engine, &t->settings, &t->setup.recipe, &t->setup.task, err));
    TRY(engine_open(&t->engine, engine_precision(&t->engine, json_string_value(precision)), NULL, err));
    TRY(engine_load(&t->engine, ENGINE_MODEL, err));
    TRY(engine_read_weights(&t->engine, t->origin.weights, &report, err));
    TRY(check_head(t, &report, err));
    console_init(t->origin.name, "", buf_text(&report.body));
    if (head_choice_tells(&t->setup.recipe.head, &report))
        head_choice_say(&t->setup.recipe.head, &report);
    return 0;
}

static bool close_all(struct tuned *t, int result, struct error *err)
{
    engine_close(&t->engine);
    setup_close(&t->setup);
    origin_release(&t->origin);
    if (t->tuning.context)
        t->task.kind->release(t->tuning.context);
    forget(t);
    return process_group_leave(&t->processes, result, err);
}

static bool halted(void *processes)
{
    return process_group_stop_asked(processes) || process_group_has_failed(processes);
}

static void report(const struct tuned *t, json_t *scores, double seconds)
{
    if (t->settings.json) {
        json_t *facts = json_pack("{s:o, s:s, s:i, s:f}", "model", json_name(t->directory), "task", t->task.name, "seq",
                                  (int)t->setup.recipe.seq, "seconds", seconds);
        if (t->is_run)
            json_object_set_new(facts, "step", json_integer((json_int_t)t->origin.state.step));
        json_object_update(facts, scores);
        output_json(facts, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    } else {
        t->task.kind->say_scores(output_line, t->task.name, scores);
    }
    say_next(command_text("dstrain predict %s FILE --out FILE", t->directory));
    if (t->is_run)
        say_next_too(command_text("dstrain export %s --out DIR", t->directory));
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
    TRY(t->task.kind->evaluate(t->tuning.context, &work, &scores, err));
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
    return tune_refuse_options(t->task.kind, &t->settings, err);
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

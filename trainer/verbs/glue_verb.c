/* dstrain glue: for each seed a fine-tuned model and its scores. tune/glue.c describes one run. Scores are read from
 * the runs' own scores.json, so a repeated command continues where it stopped, and prints what is there. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/target.h"
#include "base/json_write.h"
#include "trainer/run/run.h"
#include "trainer/tune/glue_scores.h"
#include "trainer/verbs/tune_run.h"

/* ---- one run ---- */

/* *scores becomes the content of the run's scores.json, in the process that writes. */
static int run_one(struct settings *settings, const struct glue_task *task, uint64_t seed, const char *out,
                   json_t **scores, struct error *err)
{
    TRY(tune_run(&tune_glue, task->name, settings, seed, out, err));
    if (settings->launch->rank > 0)
        return 0;
    TRY(tune_read_scores(out, scores, err));
    glue_say_scores(log_say, task, *scores);
    return 0;
}

/* ---- several seeds ---- */

static json_t *spread_of(const struct glue_task *task, const json_t *runs)
{
    json_t *spread = json_object();
    const size_t count = json_array_size(runs);
    double *values = mem_array(count, sizeof *values);
    for (int i = 0; i < GLUE_DEVS_MAX && task->devs[i].dev; i++)
        for (const char *const *key = glue_keys(task->metric); *key; key++) {
            char name[40];
            snprintf(name, sizeof name, "%s%s", *key, task->devs[i].suffix);
            for (size_t k = 0; k < count; k++)
                values[k] = json_number_value(json_object_get(json_array_get(runs, k), name));
            json_object_set_new(spread, name, glue_spread(values, count));
        }
    mem_free(values);
    return spread;
}

/* The scores that were undefined in any of the runs. */
static json_t *undefined_of(const json_t *runs)
{
    json_t *names = json_object(), *list = json_array(), *run, *name;
    size_t i, k;
    const char *key;
    json_array_foreach((json_t *)runs, i, run) json_array_foreach(json_object_get(run, "undefined"), k, name)
        json_object_set(names, json_string_value(name), name);
    json_object_foreach(names, key, name) json_array_append(list, name);
    json_decref(names);
    return list;
}

static void say_spread(const struct glue_task *task, const json_t *spread, const json_t *commonest, size_t runs)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)spread, key, value) log_say(
        "seeds      %s: %s %.4f ± %.4f, median %.4f, best %.4f of %zu runs; always the commonest label: %.4f",
        task->name, key, json_number_value(json_object_get(value, "mean")),
        json_number_value(json_object_get(value, "deviation")), json_number_value(json_object_get(value, "median")),
        json_number_value(json_object_get(value, "best")), runs, json_number_value(json_object_get(commonest, key)));
}

static bool is_seed(const char *name)
{
    return strncmp(name, "seed-", 5) == 0;
}

static bool is_task(const char *name)
{
    const struct glue_task *task = glue_task_named(name);
    return task && strcmp(task->name, name) == 0;
}

static bool is_scores(const char *name)
{
    return strcmp(name, SCORES_NAME) == 0 || strcmp(name, SCORES_NAME ".tmp") == 0;
}

static int check_scores(const struct settings *settings, const char *out, struct error *err)
{
    static const struct target_form form = {.begins = "{\n  \"task\": \""};
    char *path = path_join(out, SCORES_NAME);
    const struct target target = {
        .option = "out", .path = path, .force = settings->force, .forms = &form, .form_count = 1};
    const int result = path_exists(path) ? target_check(&target, err) : 0;
    mem_free(path);
    return result;
}

/* A directory of several runs has only runs that are `ours`, and scores.json, which is replaced. */
static int check_several(const struct settings *settings, const char *out, bool (*ours)(const char *name),
                         struct error *err)
{
    struct path_list list = {0};
    const char *other = NULL;
    int result = path_is_directory(out) ? path_list(&list, out, err) : 0;
    for (size_t i = 0; i < list.count && !(other && strcmp(other, RUN_NAME) == 0); i++)
        if (!ours(list.names[i]) && !is_scores(list.names[i]))
            other = list.names[i];
    if (other && strcmp(other, RUN_NAME) == 0)
        result = fail_at(err, ERR_MISMATCH, out, ERROR_NO_OFFSET,
                         "holds one run: several seeds or tasks need a directory of their own, give another --out");
    else if (other)
        result = fail_at(err, ERR_USAGE, out, ERROR_NO_OFFSET,
                         "is not empty and holds more than such runs (it holds %.100s): give another --out", other);
    path_list_release(&list);
    return result < 0 ? -1 : check_scores(settings, out, err);
}

/* *scores: those of one run; for several seeds {"task", "seeds", "runs", "spread", "undefined"}, and the means under
 * the keys. */
static int run_seeds(struct settings *settings, const struct glue_task *task, const char *out, json_t **scores,
                     struct error *err)
{
    if (settings->seeds == 1)
        return run_one(settings, task, settings->seed, out, scores, err);
    json_t *runs = json_array(), *seeds = json_array();
    int result = check_several(settings, out, is_seed, err);
    for (uint64_t k = 0; k < settings->seeds && result == 0; k++) {
        char name[32];
        json_t *one = NULL;
        snprintf(name, sizeof name, "seed-%" PRIu64, settings->seed + k);
        char *path = path_join(out, name);
        result = run_one(settings, task, settings->seed + k, path, &one, err);
        json_array_append_new(seeds, json_integer((json_int_t)(settings->seed + k)));
        if (one)
            json_array_append_new(runs, one);
        mem_free(path);
    }
    if (result == 0) {
        json_t *spread = spread_of(task, runs);
        const char *key;
        json_t *value;
        json_t *commonest = json_object_get(json_array_get(runs, 0), GLUE_COMMONEST);
        say_spread(task, spread, commonest, json_array_size(runs));
        *scores = json_pack("{s:s, s:O, s:O, s:O, s:o}", "task", task->name, "seeds", seeds, "runs", runs, "spread",
                            spread, "undefined", undefined_of(runs));
        json_object_foreach(spread, key, value) json_object_set(*scores, key, json_object_get(value, "mean"));
        json_object_set(*scores, GLUE_COMMONEST, commonest);
        json_decref(spread);
        result = tune_write_scores(out, *scores, err);
    }
    json_decref(runs);
    json_decref(seeds);
    return result;
}

/* ---- all tasks ---- */

/* A task's value in the average: the mean of its numbers, without their own mean, in per cent. */
static double task_value(const struct glue_task *task, const json_t *scores)
{
    double sum = 0;
    int count = 0;
    for (int i = 0; i < GLUE_DEVS_MAX && task->devs[i].dev; i++)
        for (const char *const *key = glue_keys(task->metric); *key; key++) {
            char name[40];
            snprintf(name, sizeof name, "%s%s", *key, task->devs[i].suffix);
            if (strcmp(*key, "acc_and_f1") != 0 && strcmp(*key, "corr") != 0) {
                sum += 100 * json_number_value(json_object_get(scores, name));
                count++;
            }
        }
    return sum / count;
}

/* The columns are those of the tutorial of DeepSpeed's layer drop. */
static const struct {
    const char *task, *title, *first, *second;
} columns[] = {
    {"rte", "RTE", "acc", NULL},
    {"mrpc", "MRPC F1/Acc", "f1", "acc"},
    {"sts-b", "STS-B P/S", "pearson", "spearmanr"},
    {"cola", "CoLA MCC", "mcc", NULL},
    {"sst-2", "SST-2", "acc", NULL},
    {"qnli", "QNLI", "acc", NULL},
    {"qqp", "QQP F1/Acc", "f1", "acc"},
    {"mnli", "MNLI m/mm", "acc", "acc-mm"},
    {"wnli", "WNLI", "acc", NULL},
};

static double per_cent(const json_t *scores, const char *key)
{
    return 100 * json_number_value(json_object_get(scores, key));
}

/* Prints a row of the table: the scores, or those under `key` of each task's scores. */
static void print_row(const json_t *tasks, const char *key, double average, const char *name)
{
    struct buf values = {0};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const json_t *task = json_object_get(tasks, columns[i].task);
        const json_t *scores = key ? json_object_get(task, key) : task;
        char value[32];
        if (!task)
            continue;
        const int used = snprintf(value, sizeof value, "%.1f", per_cent(scores, columns[i].first));
        if (columns[i].second)
            snprintf(value + used, sizeof value - (size_t)used, "/%.1f", per_cent(scores, columns[i].second));
        buf_addf(&values, "%-12s", value);
    }
    output_line("%s%.1f%s", buf_text(&values), average, name);
    buf_release(&values);
}

static void print_table(const json_t *tasks, double average, double commonest)
{
    struct buf titles = {0};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (json_object_get(tasks, columns[i].task))
            buf_addf(&titles, "%-12s", columns[i].title);
    output_line("%s%s", buf_text(&titles), "avg");
    print_row(tasks, NULL, average, "");
    print_row(tasks, GLUE_COMMONEST, commonest, "   always the commonest label");
    buf_release(&titles);
}

static int run_all(struct settings *settings, json_t **scores, struct error *err)
{
    json_t *tasks = json_object();
    double sum = 0, commonest = 0;
    int result = check_several(settings, settings->out, is_task, err);
    for (size_t i = 0; i < GLUE_TASKS && result == 0; i++)
        if (glue_has_folder(&glue_tasks[i], settings->glue))
            result = glue_check_folder(&glue_tasks[i], settings->glue, true, err);
    for (size_t i = 0; i < GLUE_TASKS && result == 0; i++) {
        json_t *one = NULL;
        if (!glue_has_folder(&glue_tasks[i], settings->glue)) {
            log_say("note       %s is left out: %s holds no folder %s", glue_tasks[i].name, settings->glue,
                    glue_tasks[i].folder);
            continue;
        }
        char *out = path_join(settings->out, glue_tasks[i].name);
        result = run_seeds(settings, &glue_tasks[i], out, &one, err);
        if (result == 0) {
            sum += task_value(&glue_tasks[i], one);
            commonest += task_value(&glue_tasks[i], json_object_get(one, GLUE_COMMONEST));
            json_object_set_new(tasks, glue_tasks[i].name, one);
        }
        mem_free(out);
    }
    const size_t count = json_object_size(tasks);
    if (result == 0 && count == 0)
        result =
            fail_at(err, ERR_USAGE, settings->glue, ERROR_NO_OFFSET, "holds no folder of GLUE: CoLA, SST-2, MRPC ...");
    if (result == 0) {
        if (!settings->json)
            print_table(tasks, sum / (double)count, commonest / (double)count);
        *scores = json_pack("{s:s, s:O, s:f}", "task", "all", "tasks", tasks, "average", sum / (double)count);
        result = tune_write_scores(settings->out, *scores, err);
    }
    json_decref(tasks);
    return result;
}

/* ---- the command ---- */

static int check(const struct settings *settings, const char *name, struct error *err)
{
    const bool all = strcmp(name, "all") == 0;
    if (!all && !glue_task_named(name)) {
        fail(err, ERR_USAGE, "%.40s is not a task of GLUE", name);
        return hint(err, "tasks: %s; or all", tune_glue.tasks);
    }
    if (!settings->glue)
        return fail(err, ERR_USAGE, "--data DIR is missing: the folder of GLUE's tasks");
    if (!settings->out)
        return fail(err, ERR_USAGE, "--out DIR is missing: where model and scores are written");
    if (settings->launch->size > 1 && (all || settings->seeds > 1))
        return fail(err, ERR_USAGE, "several processes train one run: give one task, and --seed instead of --seeds");
    return 0;
}

/* Names what may be done with the run, or with the first of several. */
static void say_commands(const char *out, const json_t *scores)
{
    const json_t *tasks = json_object_get(scores, "tasks");
    char *run = mem_copy_text(out);
    if (tasks) {
        void *first = json_object_iter((json_t *)tasks);
        char *task = path_join(run, json_object_iter_key(first));
        mem_free(run);
        run = task;
        scores = json_object_iter_value(first);
    }
    if (json_object_get(scores, "seeds")) {
        char name[32];
        snprintf(name, sizeof name, "seed-%" JSON_INTEGER_FORMAT,
                 json_integer_value(json_array_get(json_object_get(scores, "seeds"), 0)));
        char *seed = path_join(run, name);
        mem_free(run);
        run = seed;
    }
    tune_say_next(run, true);
    mem_free(run);
}

int dstrain_glue(void *context, struct opt_paths bare, struct error *err)
{
    struct settings *settings = context;
    const char *name = bare.items[0];
    json_t *scores = NULL;
    TRY(check(settings, name, err));
    const int result = strcmp(name, "all") == 0
                           ? run_all(settings, &scores, err)
                           : run_seeds(settings, glue_task_named(name), settings->out, &scores, err);
    if (result == 0 && settings->json && scores)
        output_json(json_incref(scores), JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    if (result == 0 && scores)
        say_commands(settings->out, scores);
    json_decref(scores);
    return result;
}

/* dstrain glue: for each seed a fine-tuned model and its scores. tune/glue.c describes one run. Scores are read from
 * the runs' own scores.json, so a repeated command continues where it stopped, and prints what is there. */

#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/target.h"
#include "trainer/run/run.h"
#include "trainer/tune/glue_scores.h"
#include "trainer/verbs/tune_run.h"

static bool is_task(const char *name)
{
    const struct glue_task *task = glue_task_named(name);
    return task && strcmp(task->name, name) == 0;
}

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
    SCOPED(buf_release) struct buf values = {0};
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
}

static void print_table(const json_t *tasks, double average, double commonest)
{
    SCOPED(buf_release) struct buf titles = {0};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (json_object_get(tasks, columns[i].task))
            buf_addf(&titles, "%-12s", columns[i].title);
    output_line("%s%s", buf_text(&titles), "avg");
    print_row(tasks, NULL, average, "");
    print_row(tasks, SCORES_COMMONEST, commonest, "   always the commonest label");
}

static int run_all(struct settings *settings, json_t **scores, struct error *err)
{
    json_auto_t *tasks = json_object();
    double sum = 0, commonest = 0;
    TRY(tune_check_several(settings, settings->out, is_task, err));
    for (size_t i = 0; i < GLUE_TASKS; i++)
        if (glue_has_folder(&glue_tasks[i], settings->glue))
            TRY(glue_check_folder(&glue_tasks[i], settings->glue, true, err));
    for (size_t i = 0; i < GLUE_TASKS; i++) {
        json_t *one = NULL;
        if (!glue_has_folder(&glue_tasks[i], settings->glue)) {
            log_say("note       %s is left out: %s holds no folder %s", glue_tasks[i].name, settings->glue,
                    glue_tasks[i].folder);
            continue;
        }
        SCOPED(mem_free_at) char *out = path_join(settings->out, glue_tasks[i].name);
        TRY(tune_seeds(&tune_glue, glue_tasks[i].name, settings, out, &one, err));
        sum += task_value(&glue_tasks[i], one);
        commonest += task_value(&glue_tasks[i], json_object_get(one, SCORES_COMMONEST));
        json_object_set_new(tasks, glue_tasks[i].name, one);
    }
    const size_t count = json_object_size(tasks);
    if (count == 0)
        return fail_at(err, ERR_USAGE, settings->glue, ERROR_NO_OFFSET,
                       "holds no folder of GLUE: CoLA, SST-2, MRPC ...");
    if (!settings->json)
        print_table(tasks, sum / (double)count, commonest / (double)count);
    *scores = json_pack("{s:s, s:O, s:f}", "task", "all", "tasks", tasks, "average", sum / (double)count);
    return tune_write_scores(settings->out, *scores, err);
}

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
    if (!tasks)
        return tune_say_next_seed(out, scores);
    void *first = json_object_iter((json_t *)tasks);
    SCOPED(mem_free_at) char *run = path_join(out, json_object_iter_key(first));
    tune_say_next_seed(run, json_object_iter_value(first));
}

int dstrain_glue(void *context, struct opt_paths bare, struct error *err)
{
    struct settings *settings = context;
    const char *name = bare.items[0];
    json_t *scores = NULL;
    TRY(check(settings, name, err));
    const int result = strcmp(name, "all") == 0
                           ? run_all(settings, &scores, err)
                           : tune_seeds(&tune_glue, glue_task_named(name)->name, settings, settings->out, &scores, err);
    if (result == 0 && settings->json && scores)
        output_json(json_incref(scores), JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    if (result == 0 && scores)
        say_commands(settings->out, scores);
    json_decref(scores);
    return result;
}

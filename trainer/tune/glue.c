/* One fine-tuning on a task of GLUE (class_task.h). Beside scores.json it leaves
 *
 *     predictions/TASK.tsv    of the test file, where there is one, else of the dev file
 *     eval_results.txt        key = value: the scores */

#include "base/mem.h"
#include "trainer/keep/history.h"
#include "trainer/tune/class_task.h"
#include "trainer/tune/glue_scores.h"
#include "trainer/tune/predict.h"

_Static_assert(GLUE_DEVS_MAX <= CLASS_DEVS, "a job scores every dev file");

struct glue {
    struct class_job job;
    const struct glue_task *task;
    struct glue_set train, devs[GLUE_DEVS_MAX], tests[GLUE_DEVS_MAX]; /* tests: empty where there is no file */
};

static int read_file(const struct glue *g, const char *name, bool labelled, struct glue_set *set, struct error *err)
{
    SCOPED(mem_free_at)
    char *folder = path_join(g->job.settings->glue, g->task->folder), *path = path_join(folder, name);
    const int result =
        labelled || path_exists(path) ? glue_read(g->task, path, labelled, &g->job.text, g->job.length, set, err) : 0;
    return result;
}

static int read_files(struct glue *g, struct error *err)
{
    const struct glue_dev *devs = g->task->devs;
    TRY(glue_check_folder(g->task, g->job.settings->glue, !g->job.answers, err));
    if (!g->job.answers)
        TRY(read_file(g, "train.tsv", true, &g->train, err));
    for (int i = 0; i < GLUE_DEVS_MAX && devs[i].dev; i++) {
        g->job.dev[i] = &g->devs[i].samples;
        TRY(read_file(g, devs[i].dev, true, &g->devs[i], err));
        if (!g->job.answers) /* now, so that mistakes are found before the training */
            TRY(read_file(g, devs[i].test, false, &g->tests[i], err));
    }
    return 0;
}

static int read(struct class_job *job, const struct model_config *config, struct error *err)
{
    struct glue *g = (struct glue *)job;
    g->task = glue_task_named(job->task);
    if (g->task->train.b != GLUE_NONE)
        TRY(class_check_pairs(&job->text, config, err));
    job->labels = labels_of_glue(g->task);
    job->dev[0] = &g->devs[0].samples;
    if (job->answers && job->settings->dev) /* a file instead of the task's; needs no folder */
        return glue_read(g->task, job->settings->dev, true, &job->text, job->length, &g->devs[0], err);
    TRY(read_files(g, err));
    job->train = job->answers ? NULL : &g->train.samples;
    return 0;
}

static void release(struct class_job *job)
{
    struct glue *g = (struct glue *)job;
    glue_set_release(&g->train);
    for (int i = 0; i < GLUE_DEVS_MAX; i++) {
        glue_set_release(&g->devs[i]);
        glue_set_release(&g->tests[i]);
    }
}

static json_t *part(json_t *scores, const char *key, json_t *fresh)
{
    if (!json_object_get(scores, key))
        json_object_set(scores, key, fresh);
    json_decref(fresh);
    return json_object_get(scores, key);
}

static void score(const struct class_job *job, int i, const struct class_predictions *p, json_t *scores)
{
    const struct glue *g = (const struct glue *)job;
    const char *suffix = g->task->devs[i].suffix;
    char key[32];
    glue_score(g->task, job->dev[i], p->logits, suffix, scores, part(scores, "undefined", json_array()));
    glue_score_commonest(g->task, job->dev[i], suffix, part(scores, SCORES_COMMONEST, json_object()));
    json_array_append_new(part(scores, "dev", json_array()), json_integer((json_int_t)job->dev[i]->count));
    json_array_append_new(part(scores, "dev_passed_over", json_array()),
                          json_integer((json_int_t)g->devs[i].passed_over));
    snprintf(key, sizeof key, "eval_loss%s", suffix);
    json_object_set_new(scores, key, json_real(p->loss));
}

/* Predictions for the test file, which has no labels, or of the dev file, whose logits are given. */
static int predict_file(const struct class_job *job, const struct evaluation_work *work, const char *directory, int i,
                        const float *logits, struct error *err)
{
    const struct glue *g = (const struct glue *)job;
    const struct samples *test = &g->tests[i].samples;
    char name[32];
    snprintf(name, sizeof name, "%s.tsv", g->task->devs[i].out);
    SCOPED(mem_free_at) char *folder = path_join(directory, "predictions"), *path = path_join(folder, name);
    SCOPED(mem_free_at) float *own = mem_array(test->count * g->task->labels, sizeof *own);
    TRY(path_make_directory(folder, err));
    if (test->count > 0)
        TRY(predict(work, test, own, NULL, err));
    return glue_write_predictions(g->task, path, test->count > 0 ? own : logits,
                                  test->count > 0 ? test->count : job->dev[i]->count, err);
}

/* The loss of the last step. */
static double last_loss(const char *directory)
{
    struct history history;
    struct error ignored;
    if (history_read(&history, directory, &ignored) < 0)
        return 0;
    const double loss = history_value(&history, history_last(&history, false), "loss");
    history_release(&history);
    return isfinite(loss) ? loss : 0;
}

static int keep(const struct class_job *job, const struct evaluation_work *work, const char *directory, json_t *scores,
                struct error *err)
{
    const struct glue *g = (const struct glue *)job;
    json_t *results = json_object(), *value;
    const char *key;
    json_object_set_new(scores, "loss", json_real(last_loss(directory)));
    json_object_foreach(scores, key, value) if (json_is_real(value)) json_object_set(results, key, value);
    json_object_set_new(results, "global_step", json_integer((json_int_t)work->step));
    char *path = path_join(directory, EVAL_RESULTS_NAME);
    const int result = glue_write_results(path, results, err);
    json_object_update(scores, results);
    json_object_set_new(scores, "train", json_integer((json_int_t)g->train.samples.count));
    json_object_set_new(scores, "passed_over", json_integer((json_int_t)g->train.passed_over));
    json_decref(results);
    mem_free(path);
    return result;
}

static const struct class_kind class_kind = {
    .size = sizeof(struct glue),
    .read = read,
    .score = score,
    .keep = keep,
    .predict = predict_file,
    .release = release,
};

static const char *find(const char *name)
{
    const struct glue_task *task = glue_task_named(name);
    return task ? task->name : NULL;
}

static size_t fits(const json_t *config, const char *data, const char **names)
{
    const struct glue_task *tasks[GLUE_TASKS];
    const size_t count = labels_tasks(config, tasks);
    size_t there = 0;
    for (size_t i = 0; i < count && data && count > 1; i++)
        if (glue_has_folder(tasks[i], data))
            names[there++] = tasks[i]->name;
    for (size_t i = 0; i < count && there == 0; i++)
        names[i] = tasks[i]->name;
    return there > 0 ? there : count;
}

static size_t keys(const char *task, const json_t *values, char out[TUNE_KEYS_MAX][TUNE_KEY_SIZE])
{
    const struct glue_task *glue = glue_task_named(task);
    size_t count = 0;
    (void)values;
    for (int i = 0; i < GLUE_DEVS_MAX && glue->devs[i].dev; i++)
        for (const char *const *key = glue_keys(glue->metric); *key; key++)
            snprintf(out[count++], TUNE_KEY_SIZE, "%s%s", *key, glue->devs[i].suffix);
    return count;
}

static void say_scores(console_line line, const char *task, const json_t *values)
{
    glue_say_scores(line, glue_task_named(task), values);
}

const struct tune_kind tune_glue = {
    .verb = "glue",
    .tasks = "cola, sst-2, mrpc, sts-b, qqp, mnli, qnli, rte, wnli",
    .head = HEAD_CLASS,
    .seq = GLUE_SEQ,
    .batch = GLUE_BATCH,
    .data = "data",
    .data_is = "folder of the tasks",
    .data_hint = "--data DIR has a folder for each task, as DIR/MRPC; or --dev FILE is the task's file",
    .options = (const char *const[]){NULL},
    .tuning = CLASS_TUNING,
    .classes = &class_kind,
    .find = find,
    .fits = fits,
    .keys = keys,
    .make = class_make,
    .evaluate = class_evaluate,
    .release = class_release,
    .say_scores = say_scores,
    .asks = "--data DIR --out DIR",
};

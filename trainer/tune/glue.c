/* One fine-tuning on a task of GLUE: what train_run trains on (setup.h), and what it leaves in its directory,
 *
 *     predictions/TASK.tsv    of the test file, where there is one, else of the dev file
 *     eval_results.txt        key = value
 *     scores.json             the same and how they came about; written last */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/json_write.h"
#include "trainer/keep/metrics.h"
#include "trainer/tune/class_task.h"
#include "trainer/tune/glue_scores.h"
#include "trainer/tune/glue_tasks.h"
#include "trainer/tune/predict.h"
#include "trainer/tune/tune_kinds.h"

struct glue {
    const struct glue_task *task;
    const char *data; /* the folder of all tasks */
    bool answers;     /* nothing is trained on: only the dev files are read */
    const char *dev;  /* a file to score instead of the task's dev files, or NULL; needs no `data` */

    struct text text;
    uint32_t length;
    uint64_t seed;
    struct glue_set train, devs[GLUE_DEVS_MAX], tests[GLUE_DEVS_MAX]; /* tests: empty where there is no file */
    struct class_sources sources;
};

/* ---- what is trained on ---- */

static char *file_of(const struct glue *g, const char *name)
{
    char *folder = path_join(g->data, g->task->folder), *path = path_join(folder, name);
    mem_free(folder);
    return path;
}

static int read_file(struct glue *g, const char *name, bool labelled, struct glue_set *set, struct error *err)
{
    char *path = file_of(g, name);
    const int result = glue_read(g->task, path, labelled, &g->text, g->length, set, err);
    mem_free(path);
    return result;
}

/* The number of files that are scored. */
static int dev_count(const struct glue *g)
{
    int count = 0;
    while (count < GLUE_DEVS_MAX && g->task->devs[count].dev)
        count++;
    return g->dev ? 1 : count;
}

static bool has_test(const struct glue *g, const struct glue_dev *dev)
{
    char *path = file_of(g, dev->test);
    const bool there = path_exists(path);
    mem_free(path);
    return there;
}

static int read_files(struct glue *g, struct error *err)
{
    if (g->dev)
        return glue_read(g->task, g->dev, true, &g->text, g->length, &g->devs[0], err);
    if (!g->answers)
        TRY(read_file(g, "train.tsv", true, &g->train, err));
    for (int i = 0; i < dev_count(g); i++) {
        TRY(read_file(g, g->task->devs[i].dev, true, &g->devs[i], err));
        if (!g->answers && has_test(g, &g->task->devs[i])) /* now, so that mistakes are found before the training */
            TRY(read_file(g, g->task->devs[i].test, false, &g->tests[i], err));
    }
    return 0;
}

/* What stands for the task's data in the recipe: what is trained on, where there is such. */
static const struct samples *samples_of(const struct glue *g)
{
    return g->answers ? &g->devs[0].samples : &g->train.samples;
}

static int glue_open(void *context, const struct settings *settings, const struct origin *origin,
                     struct model_config *config, struct material *material, struct error *err)
{
    struct glue *g = context;
    g->length = (uint32_t)settings->seq;
    g->seed = settings->seed;
    if (!g->dev)
        TRY(glue_check_folder(g->task, g->data, !g->answers, err));
    if (g->task->train.b != GLUE_NONE)
        TRY(class_check_pairs(config, err));
    TRY(class_open(settings, origin, config, &g->text, err));
    TRY(read_files(g, err));
    *material = (struct material){
        .hash = samples_hash(samples_of(g)),
        .seq = g->length,
        .samples = samples_of(g)->count,
    };
    snprintf(material->task, sizeof material->task, "glue %s", g->task->name);
    const struct label_set set = labels_of_glue(g->task);
    return class_head(HEAD_CLASS, &set, g->task->name, origin, config, &material->head, err);
}

static const struct text *glue_text(void *context)
{
    return &((struct glue *)context)->text;
}

static void glue_release(void *context)
{
    struct glue *g = context;
    text_close(&g->text);
    glue_set_release(&g->train);
    for (int i = 0; i < GLUE_DEVS_MAX; i++) {
        glue_set_release(&g->devs[i]);
        glue_set_release(&g->tests[i]);
    }
    mem_free(g);
}

/* ---- what is made of the model ---- */

static int predict_file(const struct glue *g, const char *directory, const struct glue_dev *dev, const float *logits,
                        size_t count, struct error *err)
{
    char name[32];
    snprintf(name, sizeof name, "%s.tsv", dev->out);
    char *folder = path_join(directory, "predictions"), *path = path_join(folder, name);
    int result = path_make_directory(folder, err);
    if (result == 0)
        result = glue_write_predictions(g->task, path, logits, count, err);
    mem_free(path);
    mem_free(folder);
    return result;
}

/* Predictions for the test file, which has no labels. */
static int predict_test(const struct glue *g, const struct evaluation_work *work, const char *directory, int i,
                        struct error *err)
{
    const struct samples *samples = &g->tests[i].samples;
    float *logits = mem_array(samples->count * g->task->labels, sizeof *logits);
    int result = predict(work, samples, logits, NULL, err);
    if (result == 0)
        result = predict_file(g, directory, &g->task->devs[i], logits, samples->count, err);
    mem_free(logits);
    return result;
}

/* Scores, and what is said about them. */
struct results {
    json_t *values, *undefined, *commonest;
};

static struct results results_make(void)
{
    return (struct results){json_object(), json_array(), json_object()};
}

static void results_release(struct results *r)
{
    json_decref(r->values);
    json_decref(r->undefined);
    json_decref(r->commonest);
}

/* Scores dev file number i by the logits of its samples, whose mean loss is given. */
static void add_dev(const struct glue *g, int i, const float *logits, double loss, struct results *r)
{
    const struct glue_dev *dev = &g->task->devs[i];
    char key[32];
    glue_score(g->task, &g->devs[i].samples, logits, dev->suffix, r->values, r->undefined);
    glue_score_commonest(g->task, &g->devs[i].samples, dev->suffix, r->commonest);
    snprintf(key, sizeof key, "eval_loss%s", dev->suffix);
    json_object_set_new(r->values, key, json_real(loss));
}

/* Predicts dev file number i, and scores it; with a directory, writes predictions there. */
static int score_dev(const struct glue *g, const struct evaluation_work *work, const char *directory, int i,
                     struct results *r, struct error *err)
{
    const struct samples *samples = &g->devs[i].samples;
    double loss;
    float *logits = mem_array(samples->count * g->task->labels, sizeof *logits);
    int result = predict(work, samples, logits, &loss, err);
    if (result == 0)
        add_dev(g, i, logits, loss, r);
    if (result == 0 && directory)
        result = g->tests[i].samples.count > 0
                     ? predict_test(g, work, directory, i, err)
                     : predict_file(g, directory, &g->task->devs[i], logits, samples->count, err);
    mem_free(logits);
    return result;
}

/* {"task", "undefined", "commonest", "dev", "dev_passed_over"}, and the scores. */
static json_t *scores_json(const struct glue *g, const struct results *r)
{
    json_t *json =
        json_pack("{s:s, s:O, s:O}", "task", g->task->name, "undefined", r->undefined, SCORES_COMMONEST, r->commonest);
    json_t *dev = json_array(), *passed_over = json_array();
    for (int i = 0; i < dev_count(g); i++) {
        json_array_append_new(dev, json_integer((json_int_t)g->devs[i].samples.count));
        json_array_append_new(passed_over, json_integer((json_int_t)g->devs[i].passed_over));
    }
    json_object_set_new(json, "dev", dev);
    json_object_set_new(json, "dev_passed_over", passed_over);
    json_object_update(json, r->values);
    return json;
}

static int glue_evaluate(void *context, const struct evaluation_work *work, json_t **scores, struct error *err)
{
    const struct glue *g = context;
    struct results r = results_make();
    int result = 0;
    for (int i = 0; i < dev_count(g) && result == 0; i++)
        result = score_dev(g, work, NULL, i, &r, err);
    *scores = result == 0 ? scores_json(g, &r) : NULL;
    results_release(&r);
    return result;
}

/* The loss of the last step, from metrics.jsonl. */
static double last_loss(const char *directory)
{
    struct buf text = {0};
    struct error ignored = {0};
    double loss = 0;
    char *path = path_join(directory, METRICS_NAME);
    if (file_read_all(path, 1u << 30, &text, &ignored) == 0) {
        const char *begin = text.data, *end = text.data + text.size;
        for (bool found = false; !found && end > begin;) {
            const char *line = --end;
            while (line > begin && line[-1] != '\n')
                line--;
            json_error_t why;
            json_t *json = json_parse(str_range(line, end), METRICS_LINE_BYTES_MAX, &why);
            found = json && !json_object_get(json, "split");
            if (found)
                loss = json_number_value(json_object_get(json, "loss"));
            json_decref(json);
            end = line;
        }
    }
    buf_release(&text);
    mem_free(path);
    return loss;
}

static int write_scores(const struct glue *g, const char *directory, const struct results *r, struct error *err)
{
    char *results = path_join(directory, EVAL_RESULTS_NAME), *scores = path_join(directory, SCORES_NAME);
    int result = glue_write_results(results, r->values, err);
    json_t *json = scores_json(g, r),
           *training = json_pack("{s:I, s:I, s:I}", "seed", (json_int_t)g->seed, "train",
                                 (json_int_t)g->train.samples.count, "passed_over", (json_int_t)g->train.passed_over);
    json_object_update(json, training);
    if (result == 0)
        result = json_file_write(scores, json, err);
    json_decref(training);
    json_decref(json);
    mem_free(results);
    mem_free(scores);
    return result;
}

static int finish(const struct evaluation_work *work, const char *directory, struct error *err)
{
    const struct glue *g = work->task->context;
    struct results r = results_make();
    int result = 0;
    for (int i = 0; i < dev_count(g) && result == 0; i++)
        result = score_dev(g, work, directory, i, &r, err);
    json_object_set_new(r.values, "global_step", json_integer((json_int_t)work->step));
    json_object_set_new(r.values, "loss", json_real(last_loss(directory)));
    if (result == 0)
        result = write_scores(g, directory, &r, err);
    results_release(&r);
    return result;
}

static struct task glue_task_of(void *context, const struct recipe *recipe)
{
    struct glue *g = context;
    g->sources = (struct class_sources){.train = samples_of(g), .valid = &g->devs[0].samples};
    return class_task(&g->sources, g->length, recipe, finish, g);
}

/* ---- the row ---- */

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

static bool trains(const struct settings *settings)
{
    return settings->glue;
}

static bool scores(const struct settings *settings)
{
    (void)settings;
    return true;
}

static void *make(const char *task, const struct settings *settings, enum tune_use use)
{
    struct glue *g = mem_clear(1, sizeof *g);
    g->task = glue_task_named(task);
    g->data = settings->glue;
    g->answers = use == TUNE_SCORE;
    g->dev = use == TUNE_SCORE ? settings->dev : NULL;
    return g;
}

static void say_scores(console_line line, const char *task, const json_t *values)
{
    glue_say_scores(line, glue_task_named(task), values);
}

static char *command(const char *task, const char *model)
{
    return command_text("dstrain glue %s --init %s --data DIR --out DIR", task, model);
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
    .tuning = {.open = glue_open, .text = glue_text, .task = glue_task_of},
    .find = find,
    .fits = fits,
    .trains = trains,
    .scores = scores,
    .keys = keys,
    .make = make,
    .evaluate = glue_evaluate,
    .release = glue_release,
    .say_scores = say_scores,
    .command = command,
};

#include "trainer/tune/class_task.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/log.h"
#include "base/same_math.h"
#include "trainer/model/head.h"
#include "trainer/model/label_names.h"
#include "trainer/tune/class_scores.h"
#include "trainer/tune/predict.h"

static const struct metric class_metrics[] = {
    {"class_loss", "class", METRIC_LOSS, HEAD_CLASS, NULL},
    {"class_accuracy", "class", METRIC_ACCURACY, HEAD_CLASS, BASELINE_MAJORITY},
};
static const struct metric several_metrics[] = {
    {"class_loss", "class", METRIC_LOSS, HEAD_CLASS, NULL},
    {"class_accuracy", "class", METRIC_ACCURACY, HEAD_CLASS, NULL}, /* all labels of a text are right */
};
static const struct metric number_metrics[] = {
    {"squared_error", "squared error", METRIC_LOSS, HEAD_CLASS, NULL},
};

int class_check_pairs(const struct text *text, const struct model_config *config, struct error *err)
{
    if (!model_takes_pairs(config))
        return fail(err, ERR_MISMATCH, "the model knows one segment, the samples have two");
    return text_need_pairs(text, err);
}

/* The file of a folder that has one of these names, with any ending, as a path that the caller mem_free's; NULL: there
 * is none. */
static char *file_in(const char *folder, const char *const *stems)
{
    static const char *const endings[] = {"csv", "tsv", "jsonl", "json", "conll", "conllu", "txt"};
    static const char *const packings[] = {"", ".gz", ".zst", ".xz", ".bz2"};
    for (; *stems; stems++)
        for (size_t e = 0; e < sizeof endings / sizeof *endings; e++)
            for (size_t p = 0; p < sizeof packings / sizeof *packings; p++) {
                struct buf name = {0};
                buf_addf(&name, "%s.%s%s", *stems, endings[e], packings[p]);
                char *path = path_join(folder, buf_text(&name));
                buf_release(&name);
                if (path_is_file(path))
                    return path;
                mem_free(path);
            }
    return NULL;
}

/* --train DIR stands for the files of the splits in it. */
static int find_files(struct class_job *job, struct error *err)
{
    static const char *const train[] = {"train", NULL}, *const dev[] = {"dev", "valid", "validation", NULL};
    const char *folder = job->settings->train;
    job->train_path = folder;
    job->dev_path = job->settings->dev;
    if (!folder || !path_is_directory(folder))
        return 0;
    job->train_path = job->paths[0] = file_in(folder, train);
    if (!job->dev_path)
        job->dev_path = job->paths[1] = file_in(folder, dev);
    if (!job->train_path) {
        fail_at(err, ERR_USAGE, folder, ERROR_NO_OFFSET, "has no train.csv, train.tsv, train.jsonl or train.conll");
        return hint(err, "--train FILE names a file; dev.csv, valid.csv or validation.csv beside it would be scored");
    }
    log_say("files      %s%s%s", job->train_path, job->dev_path ? ", " : "", job->dev_path ? job->dev_path : "");
    return 0;
}

int class_nothing(const struct class_job *job, const char *what, struct error *err)
{
    fail_at(err, ERR_INPUT, job->dev_path ? job->dev_path : job->train_path, ERROR_NO_OFFSET, "has no %s to score",
            what);
    return job->dev_path ? -1 : hint(err, "every tenth text, by its hash, is held out; of so few none was: --dev FILE");
}

void *class_make(const struct tune_kind *kind, const char *task, const struct settings *settings, enum tune_use use)
{
    struct class_job *job = mem_clear(1, kind->classes->size);
    job->tune = kind;
    job->kind = kind->classes;
    job->settings = settings;
    job->task = task;
    job->answers = use == TUNE_SCORE;
    return job;
}

/* What stands for the data in the recipe: what is trained on, where there is such. */
static const struct samples *samples_of(const struct class_job *job)
{
    return job->train ? job->train : job->dev[0];
}

/* Puts the head on the model, and decides what it keeps of the origin's. */
static int choose_head(const struct class_job *job, const struct origin *origin, struct model_config *config,
                       struct head_choice *choice, struct error *err)
{
    const struct label_set *set = &job->labels;
    json_t *json = NULL;
    config->labels = (int32_t)set->count;
    config->several = set->several;
    config->label_names = set->count > 1 ? label_names(set->names, set->count) : NULL;
    config->label_weights = job->weights;
    snprintf(config->tuned_for, sizeof config->tuned_for, "%s", job->task);
    TRY(labels_read(origin->files, &json, err));
    labels_choose(json, job->tune->head, json_string_value(json_object_get(origin->identity, "task")), set, choice);
    json_decref(json);
    return 0;
}

int class_open(void *context, const struct settings *settings, const struct origin *origin, struct model_config *config,
               struct material *material, struct error *err)
{
    struct class_job *job = context;
    job->length = (uint32_t)settings->seq;
    TRY(find_files(job, err));
    if (settings->seq > (uint64_t)config->positions) {
        fail(err, ERR_MISMATCH, "--seq %" PRIu64 " is above the model's %" PRId32 " positions", settings->seq,
             config->positions);
        return hint(err, "--seq %" PRId32 " is the most", config->positions);
    }
    TRY(text_open(&job->text, origin->files, config, err));
    const bool special = text_take_specials(&job->text, settings, origin);
    TRY(job->kind->read(job, config, err));
    *material = (struct material){
        .hash = samples_hash(samples_of(job)) ^ job->hash,
        .seq = job->length,
        .samples = samples_of(job)->count,
        .special_in_text = special,
    };
    const bool only = strcmp(job->tune->verb, job->task) == 0;
    snprintf(material->task, sizeof material->task, "%s%s%s", job->tune->verb, only ? "" : " ", only ? "" : job->task);
    config->task_heads = 1u << job->tune->head;
    return job->labels.count > 0 ? choose_head(job, origin, config, &material->head, err) : 0;
}

const struct text *class_text(void *context)
{
    return &((struct class_job *)context)->text;
}

void class_release(void *context)
{
    struct class_job *job = context;
    job->kind->release(job);
    text_close(&job->text);
    class_names_release(&job->names);
    mem_free(job->paths[0]);
    mem_free(job->paths[1]);
    mem_free(job);
}

#define ERRORS_KEPT 10

struct mistake {
    size_t row;
    uint32_t found;
    double share; /* probability of the class that was predicted */
};

static int by_share(const void *a, const void *b)
{
    const struct mistake *one = a, *two = b;
    if (one->share != two->share)
        return one->share < two->share ? 1 : -1;
    return one->row > two->row ? 1 : -1;
}

/* The text of a sample: its pieces, joined to words; " | " between two segments. */
static json_t *text_of(const struct class_job *job, const struct samples *samples, size_t row)
{
    const struct vocab *vocab = job->text.vocab;
    const struct task_sample *sample = &samples->items[row];
    const uint32_t *ids = samples->ids + sample->at;
    SCOPED(buf_release) struct buf text = {0}, good = {0};
    for (uint32_t i = 1; i + 1 < sample->length; i++)
        if (ids[i] != vocab->between.ids[0])
            text_join(&job->text, ids[i], &text);
        else if (ids[i - 1] != ids[i])
            buf_add_text(&text, vocab->kind == VOCAB_WORDPIECE ? " |" : " | ");
    utf8_replace(buf_str(&text), &good); /* a text may be cut inside a character */
    const struct str joined = str_trim(buf_str(&good));
    json_t *json = json_stringn(joined.size > 0 ? joined.data : "", joined.size);
    return json;
}

/* For classes of texts "errors": the wrong predictions with the largest probabilities; and where the kind's scores lack
 * them, those of each class and which are confused. */
static void add_errors(const struct class_job *job, const struct class_predictions *p, json_t *scores)
{
    static const char *const details[] = {"per_class", "labels", "confusion"};
    const struct label_set *set = &job->labels;
    struct mistake *mistakes = mem_array(p->count, sizeof *mistakes);
    json_t *list = json_array(), *classes = class_scores(set, p->found, p->truth, p->count);
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++) {
        const float *own = p->logits + i * set->count;
        double sum = 0;
        for (uint32_t k = 0; k < set->count; k++)
            sum += same_exp((double)own[k] - (double)own[p->found[i]]);
        if (p->found[i] != p->truth[i])
            mistakes[count++] = (struct mistake){i, p->found[i], 1 / sum};
    }
    qsort(mistakes, count, sizeof *mistakes, by_share);
    for (size_t i = 0; i < count && i < ERRORS_KEPT; i++)
        json_array_append_new(list,
                              json_pack("{s:o, s:s, s:s, s:f}", "text", text_of(job, job->dev[0], mistakes[i].row),
                                        "truth", set->names[p->truth[mistakes[i].row]], "prediction",
                                        set->names[mistakes[i].found], "probability", mistakes[i].share));
    json_object_set_new(scores, "errors", list);
    for (size_t k = 0; k < sizeof details / sizeof *details; k++)
        if (json_object_get(classes, details[k]) && !json_object_get(scores, details[k]))
            json_object_set(scores, details[k], json_object_get(classes, details[k]));
    json_decref(classes);
    mem_free(mistakes);
}

json_t *class_predictions_scores(const struct label_set *set, const struct class_predictions *p)
{
    return p->numbers     ? class_number_scores(p->numbers, p->true_numbers, p->count)
           : set->several ? class_several_scores(set, p->found, p->truth, p->count)
                          : class_scores(set, p->found, p->truth, p->count);
}

/* Of a head of texts. */
static void take_predictions(const struct class_job *job, const struct samples *samples,
                             const struct model_config *config, struct class_predictions *p)
{
    const uint32_t columns = (uint32_t)config->labels;
    const bool numbers = columns == 1 && !config->several;
    p->count = samples->count;
    p->found = mem_array(2 * p->count, sizeof *p->found);
    p->truth = p->found + p->count;
    p->numbers = numbers ? mem_array(2 * p->count, sizeof *p->numbers) : NULL;
    p->true_numbers = numbers ? p->numbers + p->count : NULL;
    for (size_t i = 0; i < p->count; i++) {
        const float *own = p->logits + i * columns;
        const uint32_t label = samples->items[i].label, best = numbers ? 0 : class_of(own, columns);
        float number;
        memcpy(&number, &label, sizeof number);
        p->found[i] = config->several ? class_bits(own, &job->names) : job->names.rank ? job->names.rank[best] : best;
        p->truth[i] = label;
        if (numbers) {
            p->numbers[i] = (double)own[0];
            p->true_numbers[i] = (double)number;
        }
    }
}

/* Predicts and scores a dev file. */
static int score_one(const struct class_job *job, const struct evaluation_work *work, const char *directory, int i,
                     json_t *scores, struct error *err)
{
    const struct model_config *config = model_config(work->model);
    const bool texts = job->tune->head == HEAD_CLASS;
    struct class_predictions p = {0};
    SCOPED(mem_free_at)
    float *logits = mem_array(predict_rows(job->dev[i]) * (size_t)head_labels(job->tune->head, config), sizeof *logits);
    TRY(predict(work, job->dev[i], logits, &p.loss, err));
    p.logits = logits;
    if (texts)
        take_predictions(job, job->dev[i], config, &p);
    job->kind->score(job, i, &p, scores);
    if (directory && i == 0 && texts && job->labels.count > 1 && !job->labels.several)
        add_errors(job, &p, scores);
    mem_free(p.found);
    mem_free(p.numbers);
    return directory && job->kind->predict ? job->kind->predict(job, work, directory, i, logits, err) : 0;
}

/* With a directory, predictions are written there. */
static int score_all(const struct class_job *job, const struct evaluation_work *work, const char *directory,
                     json_t **scores, struct error *err)
{
    json_t *json = json_pack("{s:s}", "task", job->task);
    int result = 0;
    for (int i = 0; i < CLASS_DEVS && job->dev[i] && result == 0; i++)
        result = score_one(job, work, directory, i, json, err);
    *scores = result == 0 ? json : NULL;
    if (result < 0)
        json_decref(json);
    return result;
}

int class_evaluate(void *context, const struct evaluation_work *work, json_t **scores, struct error *err)
{
    return score_all(context, work, NULL, scores, err);
}

static int finish(const struct evaluation_work *work, const char *directory, struct error *err)
{
    const struct class_job *job = work->task->context;
    json_t *json;
    TRY(score_all(job, work, directory, &json, err));
    json_object_set_new(json, "seed", json_integer((json_int_t)job->settings->seed));
    int result = job->kind->keep ? job->kind->keep(job, work, directory, json, err) : 0;
    char *path = path_join(directory, SCORES_NAME);
    if (result == 0)
        result = json_file_write(path, json, err);
    json_decref(json);
    mem_free(path);
    return result;
}

struct task class_task(void *context, const struct recipe *recipe)
{
    struct class_job *job = context;
    const struct model_config *config = &recipe->config;
    job->run = (struct samples_reading){samples_of(job), recipe->shuffled, recipe->seed};
    job->split_train = (struct samples_reading){.samples = samples_of(job)};
    job->split_valid = (struct samples_reading){.samples = job->dev[0]};
    return (struct task){
        .heads = config->task_heads,
        .metrics = job->kind->metrics.count > 0 ? job->kind->metrics
                   : config->several            ? (struct metric_table){several_metrics, 2}
                   : config->labels == 1        ? (struct metric_table){number_metrics, 1}
                                                : (struct metric_table){class_metrics, 2},
        .samples = samples_source(&job->run, job->length),
        .splits = {[SPLIT_TRAIN] = samples_source(&job->split_train, job->length),
                   [SPLIT_VALID] = samples_source(&job->split_valid, job->length)},
        .evaluate = evaluate_means,
        .finish = finish,
        .context = job,
    };
}

void class_cut(struct class_cutter *c, struct str a, const struct str *b, uint32_t label, struct samples *samples)
{
    struct task_sample sample = {.label = label};
    c->a.count = c->b.count = 0;
    tokenizer_ids(c->text->state, a, &c->a);
    if (b)
        tokenizer_ids(c->text->state, *b, &c->b);
    sample.a_length = features_pair(&c->a, b ? &c->b : NULL, c->text->vocab, c->length, &c->pieces);
    sample.length = (uint32_t)c->pieces.count;
    samples_add(samples, c->pieces.data, sample);
}

void class_cutter_release(struct class_cutter *c)
{
    ids_release(&c->a);
    ids_release(&c->b);
    ids_release(&c->pieces);
}

void class_names_take(struct class_names *names, const char *const *columns, size_t count)
{
    *names = (struct class_names){
        .names = mem_array(count, sizeof *names->names),
        .texts = mem_clear(count, sizeof *names->texts),
        .rank = mem_array(count, sizeof *names->rank),
        .count = (uint32_t)count,
    };
    for (size_t i = 0; i < count; i++) {
        snprintf(names->texts[i], LABEL_NAME_SIZE, "%s", columns[i]);
        names->names[i] = names->texts[i];
    }
    qsort(names->names, count, sizeof *names->names, text_order);
    for (size_t i = 0; i < count; i++)
        names->rank[(size_t)(names->names[i] - names->texts[0]) / LABEL_NAME_SIZE] = (uint32_t)i;
}

void class_names_of(struct class_names *names, const struct model_config *config)
{
    const size_t count = (size_t)config->labels;
    char(*texts)[LABEL_NAME_SIZE] = mem_clear(count, sizeof *texts);
    const char **columns = mem_array(count, sizeof *columns);
    for (size_t i = 0; i < count; i++)
        columns[i] = label_name(config, (int32_t)i, texts[i]);
    class_names_take(names, columns, count);
    mem_free(columns);
    mem_free(texts);
}

void class_names_release(struct class_names *names)
{
    mem_free(names->names);
    mem_free(names->texts);
    mem_free(names->rank);
    *names = (struct class_names){0};
}

uint32_t class_bits(const float *logits, const struct class_names *names)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < names->count && i < BITS_LABELS; i++)
        bits |= (uint32_t)(logits[i] > 0) << names->rank[i];
    return bits;
}

bool class_number(struct str text, uint32_t *bits)
{
    char copy[64], *end = copy;
    float value = 0;
    if (text.size > 0 && text.size < sizeof copy) {
        memcpy(copy, text.data, text.size);
        copy[text.size] = '\0';
        value = strtof(copy, &end);
    }
    memcpy(bits, &value, sizeof value);
    return end > copy && (size_t)(end - copy) == text.size && isfinite(value);
}

uint32_t class_of(const float *logits, uint32_t labels)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < labels; i++)
        best = logits[i] > logits[best] ? i : best;
    return best;
}

/* One fine-tuning on a corpus with tags: what train_run trains on (setup.h). It leaves scores.json in the run's
 * directory: span_scores.h, and how they came about. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json_write.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "trainer/task/evaluate.h"
#include "trainer/tune/class_task.h"
#include "trainer/tune/corpus.h"
#include "trainer/tune/predict.h"
#include "trainer/tune/span_scores.h"
#include "trainer/tune/tune_kinds.h"

struct tagging {
    const struct settings *settings;
    bool answers; /* nothing is trained on */
    struct text text;
    struct class_names names;
    struct corpus train, dev;
    uint64_t unknown; /* words of dev whose tag the training lacks */
    struct class_sources sources;
};

/* ---- tags ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The distinct tags of a corpus; the caller mem_free's them. */
static size_t distinct(const struct corpus *corpus, const char ***names)
{
    size_t count = 0;
    *names = mem_array(corpus->words + 1, sizeof **names);
    for (size_t i = 0; i < corpus->words; i++)
        (*names)[i] = corpus_tag(corpus, i);
    qsort(*names, corpus->words, sizeof **names, by_text);
    for (size_t i = 0; i < corpus->words; i++)
        if (count == 0 || strcmp((*names)[i], (*names)[count - 1]) != 0)
            (*names)[count++] = (*names)[i];
    return count;
}

static int check_names(const struct tagging *t, const char *const *names, size_t count, struct error *err)
{
    const char *path = t->settings->train;
    if (count == 1)
        return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "has one tag only, \"%.60s\": there is nothing to learn",
                       names[0]);
    if (count > LABELS_MAX) {
        fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "has %zu tags; the most is %d", count, LABELS_MAX);
        return hint(err, "--column names the column of the tags, if it is not the last");
    }
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) >= LABEL_NAME_SIZE)
            return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "has a tag that is longer than %d bytes: %.70s",
                           LABEL_NAME_SIZE - 1, names[i]);
    return 0;
}

static int find_names(struct tagging *t, struct error *err)
{
    const char **names;
    const size_t count = distinct(&t->train, &names);
    const int result = check_names(t, names, count, err);
    if (result == 0)
        class_names_take(&t->names, names, count);
    mem_free(names);
    return result;
}

/* ---- what is trained on ---- */

static const struct samples *samples_of(const struct tagging *t)
{
    return t->answers ? &t->dev.samples : &t->train.samples;
}

static void say_data(const struct tagging *t)
{
    struct buf names = {0};
    for (uint32_t i = 0; i < t->names.count && i < 8; i++)
        buf_addf(&names, "%s%.40s", i > 0 ? ", " : "", t->names.names[i]);
    log_say("tags       %s%s   %zu words in %zu sentences to train on, %zu in %zu to score%s", buf_text(&names),
            t->names.count > 8 ? ", …" : "", t->train.words, t->train.sentences, t->dev.words, t->dev.sentences,
            t->settings->dev ? "" : " (every tenth sentence, by its hash)");
    if (!span_tags(t->names.names, t->names.count))
        log_say("note       the tags mark no spans (as B-PER, I-PER, O do): words are scored, not spans");
    buf_release(&names);
}

static void say_odd(const struct tagging *t)
{
    char count[56];
    if (t->unknown > 0)
        log_warn("%s of dev with tags that are not in training: counted as wrong",
                 format_counted(t->unknown, "word", count));
    if (t->train.cut + t->dev.cut > 0)
        log_say("note       %s longer than --seq, cut into windows that overlap by half",
                format_counted(t->train.cut + t->dev.cut, "sentence", count));
}

static int read_files(struct tagging *t, const struct model_config *config, struct error *err)
{
    const struct settings *s = t->settings;
    const uint32_t length = (uint32_t)s->seq;
    if (t->answers)
        class_names_of(&t->names, config);
    else
        TRY(corpus_read(&t->train, s->dev ? NULL : &t->dev, s->train, s->column, &t->text, length, err));
    if (s->dev)
        TRY(corpus_read(&t->dev, NULL, s->dev, s->column, &t->text, length, err));
    if (!t->answers)
        TRY(find_names(t, err));
    if (t->dev.samples.mark_count == 0)
        return fail_at(err, ERR_INPUT, s->dev ? s->dev : s->train, ERROR_NO_OFFSET, "has no word to score");
    corpus_label(&t->train, t->names.names, t->names.count);
    t->unknown = corpus_label(&t->dev, t->names.names, t->names.count);
    return 0;
}

static int tag_open(void *context, const struct settings *settings, const struct origin *origin,
                    struct model_config *config, struct material *material, struct error *err)
{
    struct tagging *t = context;
    TRY(class_open(settings, origin, config, &t->text, err));
    TRY(read_files(t, config, err));
    if (!t->answers)
        say_data(t);
    say_odd(t);
    *material = (struct material){
        .hash = samples_hash(samples_of(t)) ^ hash64(t->names.texts, t->names.count * sizeof *t->names.texts),
        .seq = (uint32_t)settings->seq,
        .samples = samples_of(t)->count,
    };
    snprintf(material->task, sizeof material->task, "tag");
    config->task_heads = 1u << HEAD_TOKEN;
    if (t->answers)
        return 0;
    const struct label_set set = {"the corpus", NULL, t->names.count, t->names.names, NULL, false};
    return class_head(HEAD_TOKEN, &set, "tag", origin, config, &material->head, err);
}

static const struct text *tag_text(void *context)
{
    return &((struct tagging *)context)->text;
}

static void tag_release(void *context)
{
    struct tagging *t = context;
    text_close(&t->text);
    corpus_release(&t->train);
    corpus_release(&t->dev);
    class_names_release(&t->names);
    mem_free(t);
}

/* ---- what is made of the model ---- */

/* The accuracy of giving every word the commonest tag. */
static json_t *score_commonest(const struct tagging *t, const char *const *truth, size_t count)
{
    size_t most = 0;
    for (uint32_t label = 0; label < t->names.count; label++) {
        size_t words = 0;
        for (size_t i = 0; i < count; i++)
            words += strcmp(truth[i], t->names.texts[label]) == 0;
        most = words > most ? words : most;
    }
    return json_pack("{s:f}", "accuracy", count > 0 ? (double)most / (double)count : 0);
}

/* Predicted and true tags of the words that have a piece, and where their sentences end. */
static json_t *score(const struct tagging *t, const float *logits)
{
    const struct corpus *dev = &t->dev;
    const size_t count = dev->samples.mark_count;
    const char **found = mem_array(2 * count, sizeof *found), **truth = found + count;
    size_t *ends = mem_array(dev->sentences, sizeof *ends), at = 0;
    for (size_t s = 0; s < dev->sentences; s++) {
        for (; at < count && dev->word_of[at] < dev->ends[s]; at++) {
            found[at] = t->names.texts[class_of(logits + at * t->names.count, t->names.count)];
            truth[at] = corpus_tag(dev, dev->word_of[at]);
        }
        ends[s] = at;
    }
    const bool spans = span_tags(t->names.names, t->names.count) && span_tags(truth, count);
    json_t *scores = span_scores(found, truth, count, ends, dev->sentences, spans);
    json_object_set_new(scores, SCORES_COMMONEST, score_commonest(t, truth, count));
    mem_free(found);
    mem_free(ends);
    return scores;
}

static json_t *scores_json(const struct tagging *t, const float *logits)
{
    json_t *json = json_pack("{s:s, s:I, s:I, s:I}", "task", "tag", "dev", (json_int_t)t->dev.words, "sentences",
                             (json_int_t)t->dev.sentences, "unknown", (json_int_t)t->unknown);
    json_t *scores = score(t, logits);
    json_object_update(json, scores);
    json_decref(scores);
    return json;
}

static int predict_dev(const struct tagging *t, const struct evaluation_work *work, json_t **scores, struct error *err)
{
    float *logits = mem_array(t->dev.samples.mark_count * t->names.count, sizeof *logits);
    const int result = predict(work, &t->dev.samples, logits, NULL, err);
    *scores = result == 0 ? scores_json(t, logits) : NULL;
    mem_free(logits);
    return result;
}

static int tag_evaluate(void *context, const struct evaluation_work *work, json_t **scores, struct error *err)
{
    return predict_dev(context, work, scores, err);
}

static int finish(const struct evaluation_work *work, const char *directory, struct error *err)
{
    const struct tagging *t = work->task->context;
    json_t *json;
    TRY(predict_dev(t, work, &json, err));
    char *path = path_join(directory, SCORES_NAME);
    json_object_set_new(json, "seed", json_integer((json_int_t)t->settings->seed));
    json_object_set_new(json, "train", json_integer((json_int_t)t->train.words));
    const int result = json_file_write(path, json, err);
    json_decref(json);
    mem_free(path);
    return result;
}

static const struct metric token_metrics[] = {
    {"token_loss", "token", METRIC_LOSS, HEAD_TOKEN, NULL},
    {"token_accuracy", "token", METRIC_ACCURACY, HEAD_TOKEN, BASELINE_MAJORITY},
};

static struct task tag_task_of(void *context, const struct recipe *recipe)
{
    struct tagging *t = context;
    t->sources = (struct class_sources){.train = samples_of(t), .valid = &t->dev.samples};
    struct task task = class_task(&t->sources, recipe->seq, recipe, finish, t);
    task.metrics = (struct metric_table){token_metrics, 2};
    return task;
}

/* ---- the row ---- */

static const char *find(const char *name)
{
    return strcmp(name, "tag") == 0 ? "tag" : NULL;
}

static size_t fits(const json_t *config, const char *data, const char **names)
{
    (void)config;
    (void)data;
    names[0] = "tag";
    return 1;
}

static bool trains(const struct settings *settings)
{
    return settings->train;
}

static bool scores(const struct settings *settings)
{
    (void)settings;
    return true;
}

static size_t keys(const char *task, const json_t *values, char out[TUNE_KEYS_MAX][TUNE_KEY_SIZE])
{
    static const char *const all[] = {"accuracy", "precision", "recall", "f1"};
    const size_t count = json_object_get(values, "f1") ? 4 : 1;
    (void)task;
    for (size_t i = 0; i < count; i++)
        snprintf(out[i], TUNE_KEY_SIZE, "%s", all[i]);
    return count;
}

static void *make(const char *task, const struct settings *settings, enum tune_use use)
{
    struct tagging *t = mem_clear(1, sizeof *t);
    (void)task;
    t->settings = settings;
    t->answers = use == TUNE_SCORE;
    return t;
}

static void say_scores(console_line line, const char *task, const json_t *values)
{
    char list[TUNE_KEYS_MAX][TUNE_KEY_SIZE], words[56];
    const size_t count = keys(task, values, list);
    struct buf text = {0};
    const char *type;
    json_t *one;
    for (size_t i = 0; i < count; i++)
        buf_addf(&text, "%s%s %.4f", i > 0 ? ", " : "", list[i], json_number_value(json_object_get(values, list[i])));
    line("scores     %s   %s", buf_text(&text),
         format_counted((uint64_t)json_integer_value(json_object_get(values, "dev")), "word", words));
    json_object_foreach(json_object_get(values, "per_type"), type, one)
        line("           precision %.3f, recall %.3f, F1 %.3f of %" JSON_INTEGER_FORMAT "   %s",
             json_number_value(json_object_get(one, "precision")), json_number_value(json_object_get(one, "recall")),
             json_number_value(json_object_get(one, "f1")), json_integer_value(json_object_get(one, "support")), type);
    buf_release(&text);
}

static char *command(const char *task, const char *model)
{
    (void)task;
    return command_text("dstrain tag --init %s --train FILE --dev FILE --out DIR", model);
}

const struct tune_kind tune_tag = {
    .verb = "tag",
    .tasks = "tag",
    .head = HEAD_TOKEN,
    .seq = GLUE_SEQ,
    .batch = GLUE_BATCH,
    .data = "dev",
    .data_is = "sentences with tags",
    .data_hint = "--dev FILE is a file like the one that the model was trained on",
    .options = (const char *const[]){"column", NULL},
    .tuning = {.open = tag_open, .text = tag_text, .task = tag_task_of},
    .find = find,
    .fits = fits,
    .trains = trains,
    .scores = scores,
    .keys = keys,
    .make = make,
    .evaluate = tag_evaluate,
    .release = tag_release,
    .say_scores = say_scores,
    .command = command,
};

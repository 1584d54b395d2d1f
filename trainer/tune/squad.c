/* One fine-tuning on questions in SQuAD's form: what train_run trains on (setup.h), and what it leaves in its
 * directory,
 *
 *     predictions.json         id: text
 *     nbest_predictions.json   id: [{"text", "probability", "start_logit", "end_logit"}]
 *     null_odds.json           id: number (version 2)
 *     scores.json              exact_match, f1 in per cent; written last. In version 2 `no_answer` is
 *                              what never giving an answer would score, both ways
 *
 * Without questions to be answered (`dev` NULL) none of them. */
#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/json.h"
#include "trainer/tune/answers.h"
#include "trainer/tune/labels.h"
#include "trainer/tune/predict.h"
#include "trainer/tune/squad_scores.h"
#include "trainer/tune/tune_kinds.h"

static const struct metric metrics[] = {
    {"span_loss", "span", METRIC_LOSS, HEAD_SPAN, NULL},
    {"span_accuracy", "span", METRIC_ACCURACY, HEAD_SPAN, NULL},
};

struct squad {
    const char *train, *dev; /* files */
    const char *logits;      /* a file of logits instead of the model's; NULL: the model's */
    struct squad_limits limits;
    struct answer_rules rules;

    struct text text;
    struct squad_file train_file, dev_file;
    struct squad_features train_features, dev_features;
    struct squad_features valid_features; /* of `dev` with labels: the held-out loss during training */
    struct samples_reading run, split_train, split_valid;
};

static int read_train(struct squad *s, struct error *err)
{
    char questions[56];
    TRY(squad_read(&s->train_file, s->train, err));
    for (size_t i = 0; i < s->train_file.count; i++) {
        const struct squad_question *q = &s->train_file.questions[i];
        if (!q->impossible && q->answer_count != 1) {
            fail_at(err, ERR_INPUT, s->train, ERROR_NO_OFFSET, "question %.80s has %" PRIu32 " answers", q->id.data,
                    q->answer_count);
            return hint(err, "to train on, each has one: this looks like a file to be answered (--dev)");
        }
    }
    squad_features_make(&s->train_file, &s->text, &s->limits, true, &s->train_features);
    if (s->train_features.count == 0)
        return fail_at(err, ERR_INPUT, s->train, ERROR_NO_OFFSET,
                       "holds no question to train on: no answer is in its context (%s)",
                       format_counted(s->train_features.left_out, "question", questions));
    if (s->train_features.left_out > 0)
        log_say("note       left out, as the answer is not in the context: %s: %s%s",
                format_counted(s->train_features.left_out, "question", questions), s->train_features.first_left_out,
                s->train_features.left_out > 1 ? " and others" : "");
    return 0;
}

static int read_dev(struct squad *s, bool evaluated, struct error *err)
{
    TRY(squad_read(&s->dev_file, s->dev, err));
    if (s->train && s->train_file.version_2 != s->dev_file.version_2)
        return fail_at(err, ERR_INPUT, s->dev, ERROR_NO_OFFSET,
                       "is of version %s, the file to train on is not: is_impossible tells them apart",
                       s->dev_file.version_2 ? "2.0" : "1.1");
    if (!squad_has_answers(&s->dev_file)) {
        fail_at(err, ERR_INPUT, s->dev, ERROR_NO_OFFSET, "has no answers to score by");
        return hint(err, "dstrain predict answers questions that have none");
    }
    s->rules.version_2 = s->dev_file.version_2;
    squad_features_make(&s->dev_file, &s->text, &s->limits, false, &s->dev_features);
    if (s->train && evaluated) /* the end of a run is judged by its answers; a loss costs one more pass */
        squad_features_make(&s->dev_file, &s->text, &s->limits, true, &s->valid_features);
    return 0;
}

static int squad_open(void *context, const struct settings *settings, const struct origin *origin,
                      struct model_config *config, struct material *material, struct error *err)
{
    struct squad *s = context;
    TRY(text_open(&s->text, origin->files, config, err));
    const bool special = text_take_specials(&s->text, settings, origin);
    TRY(squad_check_limits(&s->limits, &s->text, config, err));
    if (s->train)
        TRY(read_train(s, err));
    if (s->dev)
        TRY(read_dev(s, settings->eval_every > 0 || settings->keep_best, err));
    config->task_heads = 1u << HEAD_SPAN;
    const struct samples *samples = s->train ? &s->train_features.samples : &s->dev_features.samples;
    *material = (struct material){
        .task = "squad",
        .special_in_text = special,
        .hash = samples_hash(samples),
        .seq = s->limits.length,
        .samples = samples->count,
    };
    json_t *json = NULL;
    TRY(labels_read(origin->files, &json, err));
    labels_choose_head(json, HEAD_SPAN, &material->head);
    json_decref(json);
    return 0;
}

static const struct text *squad_text(void *context)
{
    return &((struct squad *)context)->text;
}

static void release(void *context)
{
    struct squad *s = context;
    text_close(&s->text);
    squad_features_release(&s->train_features);
    squad_features_release(&s->dev_features);
    squad_features_release(&s->valid_features);
    squad_release(&s->train_file);
    squad_release(&s->dev_file);
    mem_free(s);
}

static int write_text(const char *directory, const char *name, const struct buf *text, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    return file_write_all(path, text->data, text->size, err);
}

static int write_object(const char *directory, const char *name, const json_t *object, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    return json_file_write(path, object, err);
}

static void add_real(struct buf *out, const char *key, double value)
{
    char text[32];
    const int size = snprintf(text, sizeof text, "%.15g", value);
    buf_add_text(out, key);
    buf_add(out, text, (size_t)size);
    if (strspn(text, "-0123456789") == (size_t)size)
        buf_add_text(out, ".0"); /* else it would be an integer to those who read it */
}

/* Appends all answers to a question as a member of the object that begins with `out`. They are written as text at
 * once: as jansson's trees, those of a data set take most of the time for answers, and ten times the memory of the
 * file. */
static void add_choices(struct buf *out, struct str id, const struct answers *a)
{
    buf_add_text(out, out->size == 0 ? "{\n  " : ",\n  ");
    buf_add_json(out, id);
    buf_add_text(out, ": [\n");
    for (uint32_t i = 0; i < a->count; i++) {
        const struct choice *choice = &a->items[i];
        buf_add_text(out, i == 0 ? "    {\n      \"text\": " : ",\n    {\n      \"text\": ");
        buf_add_json(out, answers_text(a, i));
        add_real(out, ",\n      \"probability\": ", choice->probability);
        add_real(out, ",\n      \"start_logit\": ", choice->begin_logit);
        add_real(out, ",\n      \"end_logit\": ", choice->end_logit);
        buf_add_text(out, "\n    }");
    }
    buf_add_text(out, "\n  ]");
}

/* What is answered: {id: text}, all answers as text, and for version 2 {id: number}. */
struct answered {
    json_t *best, *odds;
    struct buf nbest;
};

static void answer_all(const struct squad *s, const struct logits_source *logits, struct answered *a)
{
    SCOPED(answers_release) struct answers answers = {0};
    for (size_t i = 0; i < s->dev_features.count; i++) {
        const struct squad_feature *feature = &s->dev_features.items[i];
        const struct str id = feature->question->id;
        answers_choose(feature, logits, &s->rules, &s->text, &answers);
        json_object_set_new(a->best, id.data, json_stringn(answers.best.data, answers.best.size));
        add_choices(&a->nbest, id, &answers);
        if (s->rules.version_2)
            json_object_set_new(a->odds, id.data, json_real(answers.null_odds));
    }
    buf_add_text(&a->nbest, a->nbest.size == 0 ? "{}\n" : "\n}\n");
}

static int write_all(const struct squad *s, const struct answered *a, const json_t *scores, const char *directory,
                     struct error *err)
{
    TRY(write_object(directory, "predictions.json", a->best, err));
    TRY(write_text(directory, "nbest_predictions.json", &a->nbest, err));
    if (s->rules.version_2)
        TRY(write_object(directory, "null_odds.json", a->odds, err));
    return write_object(directory, "scores.json", scores, err);
}

/* Answers the questions of `dev` with those logits, and writes the files to the directory; NULL: nowhere. *scores
 * becomes what scores.json has, unless `scores` is NULL; the caller json_decref's it. */
static int answer(struct squad *s, const struct logits_source *logits, const char *directory, json_t **scores,
                  struct error *err)
{
    struct answered a = {.best = json_object(), .odds = json_object()};
    answer_all(s, logits, &a);
    json_t *scored = squad_score(&s->dev_file, a.best, a.odds);
    const int result = directory ? write_all(s, &a, scored, directory, err) : 0;
    if (scores)
        *scores = json_incref(scored);
    json_decref(scored);
    json_decref(a.best);
    json_decref(a.odds);
    buf_release(&a.nbest);
    return result;
}

/* "EM 81.2, F1 88.5   10,570 questions" */
static void say_scores(console_line line, const char *task, const json_t *scores)
{
    (void)task;
    const json_int_t unanswered = json_integer_value(json_object_get(scores, "unanswered"));
    const json_t *no_answer = json_object_get(scores, "no_answer");
    char questions[56], never[48] = "";
    if (unanswered > 0)
        line("note       without an answer, counted as 0: %s",
             format_counted((uint64_t)unanswered, "question", questions));
    if (no_answer)
        snprintf(never, sizeof never, "; never an answer: %.2f", json_number_value(no_answer));
    line("scores     EM %.2f, F1 %.2f   %s%s", json_number_value(json_object_get(scores, "exact_match")),
         json_number_value(json_object_get(scores, "f1")),
         format_counted((uint64_t)json_integer_value(json_object_get(scores, "total")), "question", questions), never);
}

/* The logits of a file: both ends [windows, columns]. */
struct file_logits {
    float *begin, *end;
    size_t columns;
};

static struct window_logits logits_of_file(const void *context, uint32_t sample)
{
    const struct file_logits *file = context;
    const size_t at = sample * file->columns;
    return (struct window_logits){file->begin + at, file->end + at, 1, (uint32_t)file->columns};
}

static int take_logits(const char *path, const struct safetensors *file, const char *name,
                       const struct samples *samples, float **out, size_t *columns, struct error *err)
{
    const struct tensor *tensor = safetensors_find(file, name);
    if (!tensor || tensor->rank != 2 || tensor->shape[0] != samples->count || tensor->shape[1] < samples->longest ||
        tensor->shape[1] > UINT32_MAX)
        return fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "has no %s [%zu, at least %" PRIu32 "]", name,
                       samples->count, samples->longest);
    *columns = (size_t)tensor->shape[1];
    *out = mem_array((size_t)tensor_elements(tensor), sizeof **out);
    return tensor_to_f32(tensor, *out) == 0
               ? 0
               : fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "%s is not of floating-point numbers", name);
}

static int answer_from_file(struct squad *s, const char *directory, struct error *err)
{
    SCOPED(safetensors_close) struct safetensors file = {0};
    struct file_logits logits = {0};
    size_t end_columns = 0;
    TRY(safetensors_open(&file, s->logits, err));
    const struct samples *samples = &s->dev_features.samples;
    int result = take_logits(s->logits, &file, "start_logits", samples, &logits.begin, &logits.columns, err);
    if (result == 0)
        result = take_logits(s->logits, &file, "end_logits", samples, &logits.end, &end_columns, err);
    if (result == 0 && end_columns != logits.columns)
        result = fail_at(err, ERR_MISMATCH, s->logits, ERROR_NO_OFFSET, "start_logits and end_logits differ in size");
    if (result == 0)
        result = answer(s, &(struct logits_source){logits_of_file, &logits}, directory, NULL, err);
    mem_free(logits.begin);
    mem_free(logits.end);
    return result;
}

/* Answers with the model's logits. */
static int answer_by_model(struct squad *s, const struct evaluation_work *work, const char *directory, json_t **scores,
                           struct error *err)
{
    const struct samples *samples = &s->dev_features.samples;
    SCOPED(mem_free_at) float *logits = mem_array(2 * samples->id_count + 1, sizeof *logits);
    const void *context[] = {samples, logits};
    TRY(samples->count > 0 ? predict(work, samples, logits, NULL, err) : 0);
    return answer(s, &(struct logits_source){answers_window, context}, directory, scores, err);
}

static int evaluate(void *context, const struct evaluation_work *work, json_t **scores, struct error *err)
{
    return answer_by_model(context, work, NULL, scores, err);
}

static int finish(const struct evaluation_work *work, const char *directory, struct error *err)
{
    struct squad *s = (struct squad *)work->task->context;
    return s->logits ? answer_from_file(s, directory, err) : answer_by_model(s, work, directory, NULL, err);
}

static struct task squad_task_of(void *context, const struct recipe *recipe)
{
    struct squad *s = context;
    const struct samples *train = s->train ? &s->train_features.samples : &s->dev_features.samples;
    s->run = (struct samples_reading){train, recipe->shuffled, recipe->seed};
    s->split_train = (struct samples_reading){.samples = train};
    s->split_valid = (struct samples_reading){.samples = &s->valid_features.samples};
    struct task task = {
        .heads = recipe->config.task_heads,
        .metrics = {metrics, sizeof metrics / sizeof *metrics},
        .samples = samples_source(&s->run, s->limits.length),
        .splits = {[SPLIT_TRAIN] = samples_source(&s->split_train, s->limits.length)},
        .evaluate = evaluate_means,
        .finish = s->dev ? finish : NULL,
        .context = s,
    };
    if (s->valid_features.count > 0)
        task.splits[SPLIT_VALID] = samples_source(&s->split_valid, s->limits.length);
    return task;
}

static void *make(const struct tune_kind *kind, const char *task, const struct settings *settings, enum tune_use use)
{
    struct squad *s = mem_alloc(sizeof *s);
    (void)kind;
    (void)task;
    *s = (struct squad){
        .train = use == TUNE_SCORE ? NULL : settings->train,
        .dev = use == TUNE_REPLAY ? NULL : settings->dev,
        .logits = use == TUNE_TRAIN ? settings->logits : NULL,
        .limits = {(uint32_t)settings->seq, (uint32_t)settings->doc_stride, (uint32_t)settings->max_query},
        .rules = {.n_best = (uint32_t)settings->n_best,
                  .longest = (uint32_t)settings->max_answer,
                  .null_threshold = settings->null_threshold},
    };
    return s;
}

const struct tune_kind tune_squad = {
    .verb = "squad",
    .tasks = "squad",
    .head = HEAD_SPAN,
    .seq = SQUAD_SEQ,
    .batch = SQUAD_BATCH,
    .data = "dev",
    .data_is = "questions",
    .data_hint = "--dev FILE: questions in SQuAD's form, as dev-v1.1.json",
    .options = (const char *const[]){"doc-stride", "max-query", "max-answer", "n-best", "null-threshold", NULL},
    .tuning = {.open = squad_open, .text = squad_text, .task = squad_task_of},
    .make = make,
    .evaluate = evaluate,
    .release = release,
    .say_scores = say_scores,
    .asks = "--train FILE --out DIR",
};

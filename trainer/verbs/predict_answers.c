/* dstrain predict of a model that answers questions (predicting.h). */
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "trainer/tune/answers.h"
#include "trainer/tune/squad_scores.h"
#include "trainer/verbs/predicting.h"

struct questions {
    struct squad_file file;
    struct squad_features features;
    struct squad_limits limits;
    struct answer_rules rules;
    json_t *best, *odds; /* {id: text}, {id: number}: for the scores */
};

/* The command's value of an option, else the run's, else the default. */
static uint32_t count_of(const struct predicting *p, const char *option, uint64_t value)
{
    const char *run = predicting_recorded(p, option);
    return (uint32_t)(run && !settings_given(p->settings, option) ? strtoull(run, NULL, 10) : value);
}

static void take_settings(const struct predicting *p, struct questions *q)
{
    const struct settings *s = p->settings;
    const char *threshold = settings_given(s, "null-threshold") ? NULL : predicting_recorded(p, "null-threshold");
    q->limits = (struct squad_limits){p->cutter.length, count_of(p, "doc-stride", s->doc_stride),
                                      count_of(p, "max-query", s->max_query)};
    q->rules = (struct answer_rules){
        .n_best = count_of(p, "n-best", s->n_best),
        .longest = count_of(p, "max-answer", s->max_answer),
        .null_threshold = threshold ? strtod(threshold, NULL) : s->null_threshold,
    };
}

static int check_keys(const struct predicting *p, const json_t *qa, struct error *err)
{
    static const char *const ours[] = {"prediction", "probability"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (json_object_get(qa, ours[i])) {
            fail_at(err, ERR_USAGE, p->file, ERROR_NO_OFFSET, "has a question with the key \"%s\" already", ours[i]);
            return hint(err, "rename it, as the output has one of that name");
        }
    return 0;
}

/* Nine digits, as in tables. */
static json_t *probability_of(const struct answers *a)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (str_equal(answers_text(a, i), a->best))
            return json_real(round(a->items[i].probability * 1e9) / 1e9);
    return json_real(0);
}

static void answer_question(const struct predicting *p, struct questions *q, size_t i)
{
    const void *context[] = {&q->features.samples, p->logits};
    const struct squad_feature *feature = &q->features.items[i];
    const struct squad_question *question = &q->file.questions[i];
    SCOPED(answers_release) struct answers answers = {0};
    assert(feature->question == question);
    answers_choose(feature, &(struct logits_source){answers_window, context}, &q->rules, &p->reading.text, &answers);
    json_t *text = json_stringn(answers.best.data, answers.best.size);
    json_object_set(q->best, question->id.data, text);
    json_object_set_new(q->odds, question->id.data, json_real(answers.null_odds));
    json_object_set_new(question->json, "prediction", text);
    json_object_set_new(question->json, "probability", probability_of(&answers));
}

static void add_json(struct predicting *p, const json_t *json)
{
    json_add_text(json, JSON_REAL_PRECISION(15), &p->out);
    buf_add_byte(&p->out, '\n');
}

static bool all_have_answers(const struct squad_file *file)
{
    for (size_t i = 0; i < file->count; i++)
        if (file->questions[i].answer_count == 0 && !file->questions[i].impossible)
            return false;
    return true;
}

static int predict_all(struct predicting *p, struct questions *q, json_t **scores, struct error *err)
{
    TRY(squad_check_limits(&q->limits, &p->reading.text, &p->reading.recipe.config, err));
    TRY(squad_read(&q->file, p->file, err));
    for (size_t i = 0; i < q->file.count; i++)
        TRY(check_keys(p, q->file.questions[i].json, err));
    q->rules.version_2 = q->file.version_2;
    squad_features_make(&q->file, &p->reading.text, &q->limits, false, &q->features);
    TRY(predicting_compute(p, &q->features.samples, err));
    for (size_t i = 0; i < q->file.count; i++)
        answer_question(p, q, i);
    if (all_have_answers(&q->file))
        *scores = squad_score(&q->file, q->best, q->odds);
    for (size_t i = 0; q->file.lines && i < q->file.count; i++)
        add_json(p, q->file.questions[i].json);
    if (!q->file.lines)
        add_json(p, q->file.json);
    p->rows = q->file.count;
    return predicting_write(p, err);
}

int predict_answers(struct predicting *p, json_t **scores, struct error *err)
{
    struct questions q = {.best = json_object(), .odds = json_object()};
    take_settings(p, &q);
    const int result = predict_all(p, &q, scores, err);
    squad_features_release(&q.features);
    squad_release(&q.file);
    json_decref(q.best);
    json_decref(q.odds);
    return result;
}

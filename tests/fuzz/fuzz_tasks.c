// room: trainer
/* In: a choice, then a table in the form of a task of GLUE, or questions in SQuAD's form. Held: it is refused with a
 * message that says where, or it becomes samples within their limits, whose labels are inside them, and answers to
 * questions are made of logits that say nothing. */
#include "tests/fuzz/fuzz.h"

#include "trainer/tune/answers.h"
#include "trainer/tune/glue_tasks.h"
#include "trainer/tune/squad_scores.h"
#include "trainer/tune/squad_windows.h"

#define LENGTH 24

static struct text text_of_words(void)
{
    struct text text = {0};
    struct error err;
    const struct str pieces[] = {STR("[PAD]"), STR("[UNK]"), STR("[CLS]"), STR("[SEP]"), STR("[MASK]"),
                                 STR("a"),     STR("the"),   STR("##b"),   STR("."),     STR("1")};
    const int result = vocab_from_pieces(&text.vocab, pieces, sizeof pieces / sizeof *pieces, &err);
    assert(result == 0);
    text.words = (struct tokenizer_options){.profile = PROFILE_HF, .strip_accents = true};
    text.tokenizer = tokenizer_open(text.vocab, &text.words);
    text.state = tokenizer_state_open(text.tokenizer);
    return text;
}

static void check_samples(const struct samples *samples, const struct text *text)
{
    for (size_t i = 0; i < samples->count; i++) {
        const struct task_sample *item = &samples->items[i];
        assert(item->length >= 2 && item->length <= LENGTH && item->a_length <= item->length);
        assert(item->token < item->length);
        for (uint32_t j = 0; j < item->length; j++)
            assert(samples->ids[item->at + j] < text->vocab->count);
    }
}

static void table(const struct glue_task *task, const char *path, const struct text *text)
{
    struct glue_set set;
    struct error err = {0};
    if (glue_read(task, path, true, text, LENGTH, &set, &err) < 0)
        assert((err.kind == ERR_INPUT || err.kind == ERR_UNSAFE) && err.text[0]);
    else
        check_samples(&set.samples, text);
    glue_set_release(&set);
}

static struct window_logits zeros(const void *context, uint32_t sample)
{
    (void)sample;
    return (struct window_logits){context, context, 1, LENGTH};
}

static void answer_all(const struct squad_file *file, const struct squad_features *features, const struct text *text)
{
    static const float logits[LENGTH];
    const struct logits_source source = {zeros, logits};
    const struct answer_rules rules = {.n_best = 4, .longest = 6, .version_2 = file->version_2};
    json_t *best = json_object();
    struct answers answers = {0};
    for (size_t i = 0; i < features->count; i++) {
        answers_choose(&features->items[i], &source, &rules, text, &answers);
        assert(answers.count >= 1);
        json_object_set_new(best, features->items[i].question->id.data,
                            json_stringn(answers.best.data, answers.best.size));
    }
    json_auto_t *scores = squad_score(file, best, NULL);
    assert(json_number_value(json_object_get(scores, "f1")) <= 100 + 1e-9);
    json_decref(best);
    answers_release(&answers);
}

static void questions(bool training, const char *path, const struct text *text)
{
    const struct squad_limits limits = {LENGTH, 7, 9};
    struct squad_file file;
    struct squad_features features = {0};
    struct error err = {0};
    if (squad_read(&file, path, &err) < 0) {
        assert((err.kind == ERR_INPUT || err.kind == ERR_UNSAFE) && err.text[0]);
    } else {
        squad_features_make(&file, text, &limits, training, &features);
        check_samples(&features.samples, text);
        for (size_t i = 0; i < features.samples.count; i++)
            assert(features.samples.items[i].label < features.samples.items[i].length &&
                   features.samples.items[i].token <= features.samples.items[i].label);
        if (!training)
            answer_all(&file, &features, text);
    }
    squad_features_release(&features);
    squad_release(&file);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    const unsigned choice = take_byte(&data, &size) % (GLUE_TASKS + 2);
    static struct text text; /* kept: a tokenizer clears 2 MB, which took most of the time */
    const char *path = fuzz_file(as_str(data, size));
    if (!text.vocab)
        text = text_of_words();
    if (choice < GLUE_TASKS)
        table(&glue_tasks[choice], path, &text);
    else
        questions(choice == GLUE_TASKS, path, &text);
    return 0;
}

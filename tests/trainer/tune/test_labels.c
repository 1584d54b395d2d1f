/* Which heads of other models are taken for a task, by the names in their config.json, and what becomes of the rows. */
#include "tests/unit.h"
#include "trainer/keep/head_choice.h"
#include "trainer/tune/labels.h"

#define CLASSES(names)   "{\"architectures\":[\"BertForSequenceClassification\"],\"id2label\":{" names "}}"
#define TWO(a, b)        "\"0\":\"" a "\",\"1\":\"" b "\""
#define THREE(a, b, c)   TWO(a, b) ",\"2\":\"" c "\""
#define WITH(names, key) "{\"architectures\":[\"BertForSequenceClassification\"],\"id2label\":{" names "}," key "}"
#define COUNT(count)     "{\"architectures\":[\"BertForSequenceClassification\"],\"num_labels\":" count "}"
#define TASK(name)       "\"finetuning_task\":\"" name "\""
#define PROBLEM(name)    "\"problem_type\":\"" name "\""
#define MNLI             THREE("contradiction", "entailment", "neutral")

/* `rows`: where each row of the task's head is in the model's; NULL: drawn, and `why` is said. */
struct a_case {
    const char *task, *config, *recorded, *rows, *why;
    bool fits;
};

static const struct a_case cases[] = {
    /* names in any order, spelt in any way */
    {"mnli", CLASSES(MNLI), NULL, "0 1 2", NULL, 0},
    {"mnli", CLASSES(THREE("entailment", "neutral", "contradiction")), NULL, "2 0 1", "contradiction, entailment", 0},
    {"mnli", CLASSES(THREE("NEUTRAL", "Contradiction", "ENTAILMENT")), NULL, "1 2 0", "in the order of mnli", 0},
    {"rte", CLASSES(TWO("not_entailment", "entailment")), NULL, "1 0", "", 0},
    {"qnli", CLASSES(TWO("Not-Entailment", "ENTAILMENT")), NULL, "1 0", "", 0},
    {"rte", CLASSES(TWO("entailment", "not entailment")), NULL, "0 1", NULL, 0},
    {"sst-2", CLASSES(TWO("NEGATIVE", "POSITIVE")), NULL, "0 1", NULL, 0},
    {"sst-2", CLASSES(TWO("positive", "negative")), NULL, "1 0", "in the order of sst-2: 0 (negative), 1 (positive)",
     0},
    {"cola", CLASSES(TWO("unacceptable", "acceptable")), NULL, "0 1", NULL, 0},
    {"mrpc", CLASSES(TWO("equivalent", "not_equivalent")), NULL, "1 0", "", 0},
    {"qqp", CLASSES(TWO("not_duplicate", "duplicate")), NULL, "0 1", NULL, 0},
    {"wnli", CLASSES(TWO("entailment", "not_entailment")), NULL, "1 0", "", 0},
    {"wnli", CLASSES(TWO("1", "0")), NULL, "1 0", "", 0},
    {"mnli", "{\"id2label\":{" MNLI "}}", NULL, "0 1 2", NULL, 0}, /* no architecture: the names decide */
    {"mnli", "{\"architectures\":[\"RobertaPreLayerNormForSequenceClassification\"],\"id2label\":{" MNLI "}}", NULL,
     "0 1 2", NULL, 0},
    {"mnli", WITH(MNLI, PROBLEM("single_label_classification")), NULL, "0 1 2", NULL, 0},
    /* other names, or none */
    {"mnli", CLASSES(THREE("negative", "neutral", "positive")), NULL, NULL,
     "its labels are negative, neutral, positive; those of mnli are contradiction, entailment, neutral", 1},
    {"rte", CLASSES(TWO("entailment", "contradiction")), NULL, NULL, "its labels are", 1},
    {"mnli", CLASSES(THREE("LABEL_0", "LABEL_1", "LABEL_2")), NULL, NULL, "does not name its labels", 1},
    {"sst-2", CLASSES(TWO("label_0", "label_1")), NULL, NULL, "does not name", 1},
    {"sst-2", CLASSES(TWO("0", "LABEL_1")), NULL, NULL, "does not name", 1},
    {"sst-2", "{\"architectures\":[\"BertForSequenceClassification\"]}", NULL, NULL, "does not name", 1},
    {"mnli", CLASSES(THREE("neutral", "Neutral", "entailment")), NULL, NULL, "does not name", 1},
    {"mnli", CLASSES("\"0\":\"contradiction\",\"1\":\"entailment\",\"3\":\"neutral\""), NULL, NULL, "does not name", 1},
    {"mnli", CLASSES("\"0\":\"contradiction\",\"1\":\"entailment\",\"2\":7"), NULL, NULL, "does not name", 1},
    {"sst-2", CLASSES(TWO("negative", "1")), NULL, NULL, "its labels are negative, 1", 1}, /* half of each list */
    {"mnli", CLASSES(THREE("", "entailment", "neutral")), NULL, NULL, "does not name", 1},
    {"mnli", "{\"architectures\":[\"BertForSequenceClassification\"],\"id2label\":[\"a\",\"b\",\"c\"]}", NULL, NULL,
     "does not name", 0},
    /* another number of labels */
    {"mnli", CLASSES(TWO("entailment", "not_entailment")), NULL, NULL, "its labels are entailment, not_entailment;", 0},
    {"rte", CLASSES(MNLI), NULL, NULL, "its labels are contradiction", 0},
    {"rte", CLASSES(THREE("entailment", "not_entailment", "neutral")), NULL, NULL, "its labels are", 0},
    {"rte", CLASSES(MNLI ",\"3\":\"d\",\"4\":\"e\",\"5\":\"f\",\"6\":\"g\",\"7\":\"h\",\"8\":\"i\""), NULL, NULL,
     "its labels are contradiction", 0},
    /* numbers are the names of one task only */
    {"mrpc", CLASSES(TWO("0", "1")), NULL, "0 1", NULL, 0},
    {"mrpc", WITH(TWO("0", "1"), TASK("mrpc")), NULL, "0 1", NULL, 0},
    {"mrpc", WITH(TWO("0", "1"), TASK("cola")), NULL, NULL, "fine-tuned for cola", 1},
    {"mrpc", CLASSES(TWO("0", "1")), "glue sst-2", NULL, "fine-tuned for sst-2", 1},
    {"mrpc", WITH(TWO("0", "1"), TASK("cola")), "glue mrpc", "0 1", NULL, 0}, /* a run's record is nearer */
    {"sst-2", WITH(TWO("0", "1"), TASK("sst2")), NULL, "0 1", NULL, 0},
    {"rte", WITH(TWO("entailment", "not_entailment"), TASK("qnli")), NULL, "0 1", NULL, 0},
    /* other kinds of heads */
    {"mrpc", "{\"architectures\":[\"BertForTokenClassification\"],\"id2label\":{" TWO("0", "1") "}}", NULL, NULL,
     "it is a BertForTokenClassification", 1},
    {"mnli", "{\"architectures\":[\"BertForTokenClassification\"],\"id2label\":{" MNLI "}}", NULL, NULL,
     "BertForTokenClassification", 1},
    {"mrpc", "{\"architectures\":[\"BertForMultipleChoice\"]}", NULL, NULL, "BertForMultipleChoice", 0},
    {"mrpc", "{\"architectures\":[\"BertForPreTraining\"]}", NULL, NULL, "BertForPreTraining", 0},
    {"mrpc", "{}", NULL, NULL, "does not name", 0},
    {"mnli", WITH(MNLI, PROBLEM("multi_label_classification")), NULL, NULL, "any number of labels", 1},
    {"mnli", WITH(MNLI, PROBLEM("regression")), NULL, NULL, "predicts a number", 1},
    {"mnli", CLASSES("\"0\":\"LABEL_0\""), NULL, NULL, "predicts a number", 0},
    {"sts-b", CLASSES("\"0\":\"LABEL_0\""), NULL, "", NULL, 0},
    {"sts-b", WITH("\"0\":\"LABEL_0\"", PROBLEM("regression")), NULL, "", NULL, 0},
    {"sts-b", CLASSES(TWO("0", "1")), NULL, NULL, "predicts a class", 0},
    {"sts-b", COUNT("1"), NULL, "", NULL, 0},
    {"sts-b", COUNT("1," PROBLEM("regression")), NULL, "", NULL, 0},
    {"sts-b", COUNT("1," PROBLEM("single_label_classification")), NULL, NULL, "predicts a class", 1},
    {"sts-b", COUNT("2"), NULL, NULL, "predicts a class", 0},
    {"sts-b", COUNT("2," PROBLEM("regression")), NULL, NULL, "several numbers", 0},
    {"sts-b", WITH("\"0\":\"LABEL_0\"", "\"num_labels\":2"), NULL, "", NULL, 0}, /* names count, as in transformers */
    {"sts-b", "{\"num_labels\":1}", NULL, "", NULL, 0},
    {"sts-b", "{}", NULL, NULL, "predicts a class", 0},
    {"rte", COUNT("1"), NULL, NULL, "predicts a number", 0},
    {"rte", COUNT("1," PROBLEM("regression")), NULL, NULL, "predicts a number", 0},
    {"rte", COUNT("2," PROBLEM("regression")), NULL, NULL, "predicts a number", 1},
    {"rte", COUNT("1," PROBLEM("single_label_classification")), NULL, NULL, "does not name", 0},
    {"rte", COUNT("2"), NULL, NULL, "does not name", 1},
    {"mnli", COUNT("3"), NULL, NULL, "does not name", 1},
    {"sts-b", WITH("\"0\":\"LABEL_0\"", PROBLEM("single_label_classification")), NULL, NULL, "predicts a class", 1},
    {"sts-b", WITH("\"0\":\"x\"", PROBLEM("multi_label_classification")), NULL, NULL, "any number of labels", 1},
    {"sts-b", "{\"architectures\":[\"BertForTokenClassification\"],\"id2label\":{\"0\":\"x\"}}", NULL, NULL,
     "BertForTokenClassification", 1},
};

static void expect(const struct a_case *c, const struct head_choice *choice)
{
    char rows[24] = "", *at = rows;
    const struct glue_task *task = glue_task_named(c->task);
    for (uint32_t i = 0; i < task->labels && task->labels > 1; i++)
        at += sprintf(at, "%s%d", i > 0 ? " " : "", choice->moved ? (int)choice->rows[i] : (int)i);
    if (choice->drawn != !c->rows || (c->rows && strcmp(rows, c->rows) != 0) || choice->fits != c->fits)
        fail_msg("%s of %s: %s, rows %s, fits %d: %s", c->task, c->config, choice->drawn ? "drawn" : "kept", rows,
                 choice->fits, choice->why);
    if (c->why ? !strstr(choice->why, c->why) : choice->why[0] != '\0')
        fail_msg("%s of %s: \"%s\" is not \"%s\"", c->task, c->config, choice->why, c->why);
}

TEST(names_decide_about_a_head)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct head_choice choice;
        json_auto_t *config = json_loads(cases[i].config, 0, NULL);
        assert_non_null(config);
        const struct label_set set = labels_of_glue(glue_task_named(cases[i].task));
        labels_choose(config, HEAD_CLASS, cases[i].recorded, &set, &choice);
        expect(&cases[i], &choice);
        head_choice_release(&choice);
    }
}

/* A table of the user's has names of its own; numbers as names mean nothing elsewhere. */
TEST(a_table_takes_a_head_by_its_names)
{
    static const char *const names[] = {"bug", "praise", "question"}, *const numbers[] = {"1", "2"};
    const struct label_set set = {"the table", NULL, 3, names, NULL, false},
                           stars = {"the table", NULL, 2, numbers, NULL, false};
    struct head_choice choice;
    json_t *config = json_loads("{\"architectures\":[\"BertForSequenceClassification\"],"
                                "\"id2label\":{\"0\":\"Question\",\"1\":\"bug\",\"2\":\"praise\"}}",
                                0, NULL);
    labels_choose(config, HEAD_CLASS, "classify", &set, &choice);
    assert_true(!choice.drawn && choice.moved && choice.rows[0] == 1 && choice.rows[2] == 0);
    head_choice_release(&choice);
    labels_choose(config, HEAD_CLASS, "classify", &stars, &choice);
    assert_true(choice.drawn);
    json_decref(config);
    config = json_loads("{\"id2label\":{\"0\":\"1\",\"1\":\"2\"}}", 0, NULL);
    labels_choose(config, HEAD_CLASS, "classify", &stars, &choice);
    assert_true(choice.drawn && strstr(choice.why, "numbers"));
    for (int i = 0; i <= LABELS_MAX; i++) {
        char key[12];
        snprintf(key, sizeof key, "%d", i);
        json_object_set_new(json_object_get(config, "id2label"), key, json_pack("s+", "name ", key));
    }
    labels_choose(config, HEAD_CLASS, "classify", &set, &choice);
    assert_true(choice.drawn && strstr(choice.why, "does not name"));
    json_decref(config);
}

TEST(thousands_of_labels_are_found_by_name)
{
    enum { COUNT = 5000 };
    static char texts[COUNT][LABEL_NAME_SIZE];
    static const char *names[COUNT];
    const struct label_set set = {"the table", NULL, COUNT, names, NULL, false};
    struct head_choice choice;
    json_t *labels = json_object(), *config = json_pack("{s:o}", "id2label", labels);
    for (int i = 0; i < COUNT; i++) {
        char key[12];
        snprintf(key, sizeof key, "%d", COUNT - 1 - i);
        snprintf(texts[i], sizeof texts[i], "intent-%d", i);
        names[i] = texts[i];
        json_object_set_new(labels, key, json_pack("s+", "Intent ", texts[i] + 7));
    }
    labels_choose(config, HEAD_CLASS, "classify", &set, &choice);
    assert_true(!choice.drawn && choice.moved && choice.rows[0] == COUNT - 1 && choice.rows[COUNT - 1] == 0);
    head_choice_release(&choice);
    json_object_set_new(labels, "7", json_string("INTENT_9")); /* as another one is called */
    labels_choose(config, HEAD_CLASS, "classify", &set, &choice);
    assert_true(choice.drawn && strstr(choice.why, "does not name"));
    json_decref(config);
}

static bool keeps_spans(const char *text)
{
    struct head_choice choice;
    json_auto_t *config = json_loads(text, 0, NULL);
    labels_choose_head(config, HEAD_SPAN, &choice);
    assert_int_equal(choice.drawn, choice.why[0] != '\0');
    return !choice.drawn;
}

TEST(a_head_for_questions_is_that_of_its_class)
{
    assert_true(keeps_spans("{\"architectures\":[\"BertForQuestionAnswering\"]}"));
    assert_true(keeps_spans("{\"architectures\":[\"RobertaPreLayerNormForQuestionAnswering\"]}"));
    assert_true(keeps_spans("{}"));
    assert_false(keeps_spans("{\"architectures\":[\"BertForSequenceClassification\"]}"));
    assert_false(keeps_spans("{\"architectures\":[\"BertForPreTraining\"]}"));
}

TEST(a_task_is_found_by_name_or_by_its_labels)
{
    static const struct {
        const char *config, *tasks;
    } models[] = {
        {CLASSES(MNLI), "mnli "},
        {WITH(TWO("0", "1"), TASK("mrpc")), "mrpc "},
        {WITH(TWO("negative", "positive"), TASK("sst2")), "sst-2 "},
        {CLASSES(TWO("negative", "positive")), "sst-2 "},
        {CLASSES(TWO("entailment", "not_entailment")), "qnli rte wnli "},
        {CLASSES(TWO("0", "1")), "cola sst-2 mrpc qqp wnli "},
        {CLASSES("\"0\":\"LABEL_0\""), "sts-b "},
        {CLASSES(TWO("a", "b")), ""},
        {"{\"architectures\":[\"BertForQuestionAnswering\"]}", ""},
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const struct glue_task *tasks[GLUE_TASKS];
        char found[80] = "";
        json_auto_t *config = json_loads(models[i].config, 0, NULL);
        const size_t count = labels_tasks(config, tasks);
        for (size_t k = 0; k < count; k++)
            sprintf(found + strlen(found), "%s ", tasks[k]->name);
        assert_string_equal(found, models[i].tasks);
    }
}

/* ---- rows ---- */

TEST(rows_are_moved_or_drawn_and_nothing_else)
{
    struct model_config config;
    struct params params;
    assert_int_equal(model_config_named("tiny", &config), 0);
    config.vocabulary = 64;
    config.task_heads = 1u << HEAD_CLASS;
    config.labels = 3;
    params_init(&params, &config);
    const struct param *weight = params_find(&params, "classifier.weight"),
                       *bias = params_find(&params, "classifier.bias");
    SCOPED(mem_free_at)
    float *flat = mem_clear(params.size, sizeof *flat), *before = mem_array(params.size, sizeof *before);
    params_draw_all(&params, 7, flat);
    for (size_t i = 0; i < 3; i++)
        flat[bias->offset + i] = (float)i + 1;
    memcpy(before, flat, params.size * sizeof *flat);

    head_choice_apply(&(struct head_choice){0}, &params, 9, flat);
    assert_memory_equal(flat, before, params.size * sizeof *flat);

    head_choice_apply(&(struct head_choice){.moved = true, .rows = (uint32_t[]){2, 0, 1}}, &params, 9, flat);
    const size_t columns = (size_t)config.hidden;
    for (size_t i = 0; i < 3; i++) {
        assert_true(flat[bias->offset + i] == before[bias->offset + (i + 2) % 3]);
        assert_memory_equal(flat + weight->offset + i * columns, before + weight->offset + (i + 2) % 3 * columns,
                            columns * sizeof *flat);
    }

    head_choice_apply(&(struct head_choice){.drawn = true}, &params, 7, flat);
    assert_memory_equal(flat + weight->offset, before + weight->offset, weight->count * sizeof *flat); /* seed 7 */
    assert_true(flat[bias->offset] == 0);
    memcpy(flat + bias->offset, before + bias->offset, 3 * sizeof *flat);
    assert_memory_equal(flat, before, params.size * sizeof *flat);
    params_release(&params);
}

/* A head is told of once: in the note about the choice, or in the lists. */
TEST(a_head_is_told_of_once)
{
    static const struct {
        struct head_choice choice;
        const char *drawn, *unused, *misshapen;
        bool told;
        const char *drawn_left, *unused_left;
    } reports[] = {
        {{0}, "classifier.weight, classifier.bias", "", "", false, "classifier.weight, classifier.bias", ""},
        {{.drawn = true},
         "classifier.bias, bert.pooler.dense.bias",
         "cls.predictions.bias, module.classifier.bias",
         "",
         true,
         "bert.pooler.dense.bias",
         "cls.predictions.bias"},
        {{.drawn = true}, "", "cls.predictions.bias", "", true, "", "cls.predictions.bias"},  /* of the same shape */
        {{.drawn = true}, "qa_outputs.bias", "cls.a", "", false, "qa_outputs.bias", "cls.a"}, /* it has none */
        {{.drawn = true}, "qa_outputs.bias", "classifier.bias", "", true, "", ""},
        {{0}, "qa_outputs.bias", "qa_outputs.bias", "qa_outputs.weight is [3, 4], not [2, 4]", true, "", ""},
        {{.moved = true}, "", "cls.a", "", true, "", "cls.a"},
    };
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        SCOPED(names_report_release) struct names_report report = {0};
        buf_add_text(&report.drawn, reports[i].drawn);
        buf_add_text(&report.unused, reports[i].unused);
        buf_add_text(&report.misshapen, reports[i].misshapen);
        assert_int_equal(head_choice_tells(&reports[i].choice, &report), reports[i].told);
        assert_string_equal(buf_text(&report.drawn), reports[i].drawn_left);
        assert_string_equal(buf_text(&report.unused), reports[i].unused_left);
    }
}

/* GLUE tasks before and after the model: tables of text, pairs of pieces, scores. */
#include <sys/stat.h>

#include "base/file.h"
#include "tests/unit.h"
#include "trainer/tune/glue_scores.h"
#include "trainer/tune/glue_tasks.h"
#include "trainer/tune/scores.h"

#define FOLDER    "test_glue.d"
#define FILE_NAME FOLDER "/train.tsv"

/* ---- pairs ---- */

TEST(the_longer_text_loses_its_end)
{
    static const struct {
        size_t a, b, most, a_left, b_left;
    } cases[] = {{5, 5, 10, 5, 5}, {5, 5, 9, 5, 4}, {9, 2, 7, 5, 2}, {2, 9, 7, 2, 5},
                 {9, 9, 5, 3, 2},  {0, 9, 3, 0, 3}, {3, 0, 2, 2, 0}, {8, 9, 6, 3, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ids a = {.count = cases[i].a}, b = {.count = cases[i].b};
        features_truncate(&a, &b, cases[i].most);
        assert_true(a.count == cases[i].a_left && b.count == cases[i].b_left);
    }
}

TEST(a_pair_has_its_special_tokens)
{
    SCOPED(ids_release) struct ids a = {0}, b = {0}, out = {0};
    for (uint32_t i = 0; i < 6; i++) {
        ids_add(&a, 10 + i);
        ids_add(&b, 20 + i);
    }
    struct vocab vocab = {.before = {{1}, 1}, .between = {{2}, 1}, .after = {{2}, 1}, .second_type = true};
    assert_int_equal(features_pair(&a, &b, &vocab, 8, &out), 5);
    static const uint32_t both[] = {1, 10, 11, 12, 2, 20, 21, 2};
    assert_true(out.count == 8 && memcmp(out.data, both, sizeof both) == 0);
    a.count = 6;
    assert_int_equal(features_pair(&a, NULL, &vocab, 5, &out), 5);
    static const uint32_t one[] = {1, 10, 11, 12, 2};
    assert_true(out.count == 5 && memcmp(out.data, one, sizeof one) == 0);
    a.count = b.count = 6;
    vocab.between = (struct vocab_frame){{2, 2}, 2}; /* RoBERTa's */
    vocab.second_type = false;
    assert_int_equal(features_pair(&a, &b, &vocab, 8, &out), 8);
    static const uint32_t doubled[] = {1, 10, 11, 2, 2, 20, 21, 2};
    assert_true(out.count == 8 && memcmp(out.data, doubled, sizeof doubled) == 0);
}

/* ---- scores ---- */

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-12;
}

/* Computed by hand: 3 true positives, 1 false positive, 2 false negatives, 4 true negatives. */
TEST(classes_are_scored_as_defined)
{
    const uint32_t found[] = {1, 1, 1, 1, 0, 0, 0, 0, 0, 0}, truth[] = {1, 1, 1, 0, 1, 1, 0, 0, 0, 0};
    const uint32_t zeros[10] = {0};
    assert_true(near(score_accuracy(found, truth, 10), 0.7));
    assert_true(near(score_f1(found, truth, 10).value, 6.0 / 9));
    const struct score matthews = score_matthews(found, truth, 10, 2);
    assert_true(!matthews.undefined && near(matthews.value, (3 * 4 - 1 * 2) / sqrt(4.0 * 5 * 5 * 6)));
    assert_true(near(score_matthews(truth, truth, 10, 2).value, 1));
    assert_true(score_matthews(zeros, truth, 10, 2).undefined && score_matthews(zeros, truth, 10, 2).value == 0);
    assert_true(score_f1(zeros, zeros, 10).undefined && !score_f1(zeros, truth, 10).undefined);
}

TEST(correlations_are_those_of_values_and_of_ranks)
{
    const double a[] = {1, 2, 3, 4}, b[] = {1, 4, 9, 16}, down[] = {8, 6, 4, 2}, ties[] = {1, 2, 2, 3},
                 flat[] = {5, 5, 5, 5};
    assert_true(near(score_pearson(a, down, 4).value, -1));
    assert_true(near(score_pearson(a, b, 4).value, 25 / sqrt(5.0 * 129)));
    assert_true(near(score_spearman(a, b, 4).value, 1));
    assert_true(near(score_spearman(a, ties, 4).value, 4.5 / sqrt(5 * 4.5)));
    assert_true(score_pearson(a, flat, 4).undefined && score_spearman(flat, a, 4).undefined);
    assert_true(score_pearson(a, b, 1).undefined);
}

TEST(equal_logits_give_the_first_class_and_an_undefined_part_no_mean)
{
    static const float logits[] = {1, 1, 2, 2};
    struct samples samples = {0};
    json_t *values = json_object(), *undefined = json_array();
    for (size_t i = 0; i < 2; i++)
        samples_add(&samples, (const uint32_t[]){2}, (struct task_sample){.length = 1, .a_length = 1, .label = 0});
    glue_score(glue_task_named("mrpc"), &samples, logits, "-x", values, undefined);
    assert_true(json_number_value(json_object_get(values, "acc-x")) == 1);
    assert_true(json_number_value(json_object_get(values, "f1-x")) == 0); /* nothing is positive, here or there */
    assert_int_equal(json_array_size(undefined), 2);
    assert_string_equal(json_string_value(json_array_get(undefined, 0)), "f1-x");
    assert_string_equal(json_string_value(json_array_get(undefined, 1)), "acc_and_f1-x");
    samples_release(&samples);
    json_decref(values);
    json_decref(undefined);
}

/* Labels as digits; the scores of always giving the commonest of them. */
TEST(the_commonest_label_scores_too)
{
    static const struct {
        const char *task, *labels, *key;
        double value;
    } cases[] = {
        {"sst-2", "00101", "acc", 0.6},    {"sst-2", "11", "acc", 1},       {"mnli", "0122", "acc", 0.5},
        {"mrpc", "1101", "acc", 0.75},     {"mrpc", "1101", "f1", 6.0 / 7}, {"mrpc", "0010", "f1", 0},
        {"mrpc", "01", "acc", 0.5},        {"mrpc", "01", "f1", 0},         {"mrpc", "1", "acc_and_f1", 1},
        {"cola", "0111", "mcc", 0},        {"rte", "1110", "acc", 0.75},    {"sts-b", "0123", "pearson", 0},
        {"sts-b", "0123", "spearmanr", 0}, {"sts-b", "0123", "corr", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct samples samples = {.head = HEAD_CLASS};
        json_auto_t *values = json_object();
        for (const char *label = cases[i].labels; *label; label++) {
            struct task_sample sample = {.length = 1, .label = (uint32_t)(*label - '0')};
            const float number = (float)sample.label;
            if (strcmp(cases[i].task, "sts-b") == 0)
                memcpy(&sample.label, &number, sizeof number);
            samples_add(&samples, (const uint32_t[]){2}, sample);
        }
        glue_score_commonest(glue_task_named(cases[i].task), &samples, "", values);
        const double value = json_number_value(json_object_get(values, cases[i].key));
        if (!near(value, cases[i].value))
            fail_msg("%s of %s: %s is %g", cases[i].task, cases[i].labels, cases[i].key, value);
        samples_release(&samples);
    }
}

static uint64_t hash_of(uint32_t id, struct task_sample sample)
{
    struct samples samples = {0};
    samples_add(&samples, (const uint32_t[]){2, id, 3}, sample);
    const uint64_t hash = samples_hash(&samples);
    samples_release(&samples);
    return hash;
}

TEST(the_hash_of_samples_has_every_number)
{
    const struct task_sample sample = {.length = 3, .a_length = 2, .token = 1, .label = 4};
    struct task_sample other[] = {sample, sample, sample, sample};
    other[0].length = 2;
    other[1].a_length = 3;
    other[2].token = 2;
    other[3].label = 5;
    assert_true(hash_of(7, sample) == hash_of(7, sample) && hash_of(7, sample) != hash_of(8, sample));
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        assert_true(hash_of(7, other[i]) != hash_of(7, sample));
}

TEST(several_runs_have_mean_deviation_median_and_best)
{
    const double values[] = {4, 1, 3, 8};
    json_t *spread = glue_spread(values, 4), *one = glue_spread(values, 1);
    assert_true(near(json_number_value(json_object_get(spread, "mean")), 4));
    assert_true(near(json_number_value(json_object_get(spread, "deviation")), sqrt(26.0 / 3)));
    assert_true(near(json_number_value(json_object_get(spread, "median")), 3.5));
    assert_true(near(json_number_value(json_object_get(spread, "best")), 8));
    assert_true(json_number_value(json_object_get(one, "deviation")) == 0);
    json_decref(spread);
    json_decref(one);
}

static int clear(void **state)
{
    (void)state;
    unlink(FILE_NAME);
    rmdir(FOLDER);
    return 0;
}

TEST_WITH(results_are_sorted_and_printed_as_python_does, NULL, clear)
{
    struct error err;
    SCOPED(buf_release) struct buf text = {0};
    json_auto_t *values =
        json_pack("{s:f, s:f, s:f, s:I}", "mcc", 0.0, "acc", 0.1, "loss", 2.0 / 3, "global_step", (json_int_t)7);
    mkdir(FOLDER, 0777);
    assert_int_equal(glue_write_results(FILE_NAME, values, &err), 0);
    assert_int_equal(file_read_all(FILE_NAME, 1000, &text, &err), 0);
    assert_string_equal(buf_text(&text), "acc = 0.1\nglobal_step = 7\nloss = 0.6666666666666666\nmcc = 0.0\n");
}

/* With as many digits as the number needs: 1 to 17. */
TEST_WITH(results_read_back_exactly, NULL, clear)
{
    struct error err;
    SCOPED(buf_release) struct buf text = {0};
    json_t *values = json_object();
    char key[16];
    enum { COUNT = 2000 };
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(key, sizeof key, "%04zu", i);
        json_object_set_new(values, key, json_real((double)(i * 0x9e3779b97f4a7c15 >> i % 60) / (1 << i % 24)));
    }
    mkdir(FOLDER, 0777);
    assert_int_equal(glue_write_results(FILE_NAME, values, &err), 0);
    assert_int_equal(file_read_all(FILE_NAME, 1 << 20, &text, &err), 0);
    const char *at = buf_text(&text);
    for (size_t i = 0; i < COUNT; i++, at = strchr(at, '\n') + 1) {
        snprintf(key, sizeof key, "%04zu", i);
        assert_memory_equal(at, key, 4);
        assert_true(strtod(at + 7, NULL) == json_real_value(json_object_get(values, key)));
    }
    json_decref(values);
}

/* ---- a task's file ---- */

static struct text text_of_words(void)
{
    struct text text = {0};
    struct error err;
    const struct str pieces[] = {STR("[PAD]"),  STR("[UNK]"), STR("[CLS]"), STR("[SEP]"),
                                 STR("[MASK]"), STR("a"),     STR("b")};
    assert_int_equal(vocab_from_pieces(&text.vocab, pieces, 7, &err), 0);
    text.words = (struct tokenizer_options){.profile = PROFILE_HF, .strip_accents = true};
    text.tokenizer = tokenizer_open(text.vocab, &text.words);
    text.state = tokenizer_state_open(text.tokenizer);
    return text;
}

static int read_rows(const char *task, const char *rows, struct glue_set *set, struct error *err)
{
    struct text text = text_of_words();
    mkdir(FOLDER, 0777);
    *err = (struct error){0};
    assert_int_equal(file_write_all(FILE_NAME, rows, strlen(rows), err), 0);
    const int result = glue_read(glue_task_named(task), FILE_NAME, true, &text, 16, set, err);
    text_close(&text);
    return result;
}

TEST_WITH(a_task_has_its_own_columns, NULL, clear)
{
    struct glue_set set;
    struct error err;
    float number;
    assert_int_equal(read_rows("mrpc", "Quality\tx\ty\tz\tw\r\n1\t8\t9\ta b\tb\r\n0\t8\t9\t\"a\tb a\r\n", &set, &err),
                     0);
    assert_int_equal(set.samples.count, 2);
    const struct task_sample *first = &set.samples.items[0];
    static const uint32_t ids[] = {2, 5, 6, 3, 6, 3};
    assert_true(first->length == 6 && first->a_length == 4 && first->label == 1 && first->token == 0);
    assert_memory_equal(set.samples.ids, ids, sizeof ids);
    assert_int_equal(set.samples.items[1].length, 7); /* the quote is an unknown piece */
    glue_set_release(&set);
    assert_int_equal(read_rows("sts-b", "h\n1\t2\t3\t4\t5\t6\t7\ta\tb\t3.25\n", &set, &err), 0);
    memcpy(&number, &set.samples.items[0].label, sizeof number);
    assert_true(number == 3.25f);
    glue_set_release(&set);
    assert_int_equal(read_rows("mnli", "h\n1\t2\t3\t4\t5\t6\t7\t8\ta\tb\tc\tneutral\n", &set, &err), 0);
    assert_int_equal(set.samples.items[0].label, 2);
    glue_set_release(&set);
    assert_int_equal(read_rows("qqp", "h\n1\t2\t3\ta\tb\n1\t2\t3\ta\tb\t1\n", &set, &err), 0);
    assert_true(set.samples.count == 1 && set.passed_over == 1);
    glue_set_release(&set);
}

TEST_WITH(wrong_rows_are_named, NULL, clear)
{
    static const struct {
        const char *task, *rows, *words;
    } cases[] = {
        {"cola", "", "holds no rows"},
        {"sst-2", "sentence\tlabel\n", "holds no rows"},
        {"cola", "x\t1\t\ta\nx\t2\t\ta\n", "line 2, column 2"},
        {"cola", "x\t1\t\n", "line 1 has 3 columns, column 4"},
        {"sst-2", "s\tl\na\t1\nb\n", "line 3 has 1 column, column 2"},
        {"rte", "h\n1\ta\tb\tentails\n", "line 2, column 4"},
        {"rte", "h\n1\ta\tentailment\n", "line 2 has 3 columns"},
        {"rte", "1\ta\tb\tentailment\n2\ta\tb\tentailment\n", "the names of the columns are missing"},
        {"sts-b", "h\n1\t2\t3\t4\t5\t6\t7\ta\tb\tmuch\n", "line 2, column 10"},
        {"sts-b", "h\n1\t2\t3\t4\t5\t6\t7\ta\tb\tnan\n", "not a number"},
        {"sts-b", "h\n1\t2\t3\t4\t5\t6\t7\ta\tb\t1.5x\n", "not a number"},
        {"sts-b", "h\n1\t2\t3\t4\t5\t6\t7\ta\tb\t\n", "not a number"},
        {"qqp", "h\n1\t2\t3\ta\tb\n", "1 were too short"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct glue_set set;
        struct error err;
        assert_int_equal(read_rows(cases[i].task, cases[i].rows, &set, &err), -1);
        assert_int_equal(err.kind, ERR_INPUT);
        assert_string_equal(err.file, FILE_NAME);
        if (!strstr(err.text, cases[i].words))
            fail_msg("\"%s\" does not say %s", err.text, cases[i].words);
        glue_set_release(&set);
    }
}

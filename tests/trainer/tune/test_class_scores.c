/* Scores of predictions: the numbers are those of scikit-learn 1.9 (and scipy) for the same lists. */
#include "base/str.h"
#include "tests/unit.h"
#include "trainer/tune/class_scores.h"
#include "trainer/tune/labelled.h"

static const char *const names[] = {"a", "b", "c", "d", "never"};

static void expect_number(const json_t *scores, const char *key, double expected)
{
    const double value = json_number_value(json_object_get(scores, key));
    if (!(fabs(value - expected) <= 1e-12))
        fail_msg("%s is %.17g, not %.17g", key, value, expected);
}

TEST(classes_are_scored)
{
    static const uint32_t truth[] = {0, 0, 1, 1, 1, 2, 2, 0, 1, 0, 2, 2, 1, 0};
    static const uint32_t found[] = {0, 1, 1, 1, 0, 3, 0, 0, 1, 0, 1, 0, 1, 3};
    const struct label_set set = {"table", NULL, 5, names, NULL, false};
    json_auto_t *scores = class_scores(&set, found, truth, 14);
    expect_number(scores, "accuracy", 0.5);
    expect_number(scores, "f1_macro", 0.3181818181818182);
    expect_number(scores, "f1_micro", 0.5);
    expect_number(scores, "f1_weighted", 0.45454545454545453);
    const json_t *each = json_object_get(scores, "per_class"), *b = json_object_get(each, "b");
    expect_number(b, "precision", 0.66666666666666667);
    expect_number(b, "recall", 0.8);
    expect_number(b, "f1", 0.72727272727272727);
    expect_number(b, "support", 5);
    expect_number(json_object_get(each, "c"), "f1", 0);
    expect_number(json_object_get(each, "never"), "precision", 0);
    const json_t *row = json_array_get(json_object_get(scores, "confusion"), 2);
    assert_int_equal(json_integer_value(json_array_get(row, 0)), 2);
    assert_int_equal(json_integer_value(json_array_get(row, 2)), 0);
    assert_int_equal(json_integer_value(json_array_get(row, 3)), 1);
    assert_string_equal(json_string_value(json_array_get(json_object_get(scores, "labels"), 3)), "d");
}

/* Bits have room for 31 labels. */
TEST(cells_of_several_labels_are_bits)
{
    static char texts[32][12];
    const char *many[32];
    uint32_t bits = 0;
    for (int i = 0; i < 32; i++) {
        snprintf(texts[i], sizeof texts[i], "label %02d", i);
        many[i] = texts[i];
    }
    assert_true(labelled_bits(STR("label 30; label 00"), many, 31, &bits));
    assert_true(bits == (1u << 30 | 1));
    assert_true(labelled_bits(STR("[\"label 03\"]"), many, 31, &bits) && bits == 8);
    assert_true(labelled_bits(STR(" "), many, 31, &bits) && bits == 0);
    assert_false(labelled_bits(STR("label 30, label 31"), many, 31, &bits));
    assert_false(labelled_bits(STR("label 00"), many, 32, &bits));
}

TEST(several_labels_are_scored)
{
    static const uint32_t truth[] = {3, 1, 4, 8, 7, 2, 9, 0, 1, 4}, found[] = {3, 0, 5, 8, 15, 2, 6, 0, 1, 12};
    const struct label_set set = {"table", NULL, 5, names, NULL, true};
    json_auto_t *scores = class_several_scores(&set, found, truth, 10);
    expect_number(scores, "accuracy", 0.5);
    expect_number(scores, "subset_accuracy", 0.5);
    expect_number(scores, "f1_samples", 0.6190476190476191);
    expect_number(scores, "f1_macro", 0.5561904761904761);
    expect_number(scores, "f1_micro", 0.7142857142857143);
    expect_number(scores, "f1_weighted", 0.7135531135531135);
    const json_t *each = json_object_get(scores, "per_class"), *a = json_object_get(each, "a");
    expect_number(a, "precision", 0.75);
    expect_number(a, "recall", 0.6);
    expect_number(a, "support", 5);
    expect_number(json_object_get(each, "never"), "f1", 0);
}

TEST(numbers_are_scored)
{
    static const double found[] = {1.5, 2, 3.25, 0, 4, 2, 2}, truth[] = {1, 2.5, 3, 0.5, 3.75, 2.5, 1};
    json_auto_t *scores = class_number_scores(found, truth, 7);
    expect_number(scores, "pearson", 0.8883987191984273);
    expect_number(scores, "spearman", 0.9435641951204964);
    expect_number(scores, "rmse", 0.5509731650193397);
}

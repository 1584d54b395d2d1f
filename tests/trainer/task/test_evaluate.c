/* Means from the sums of heads, and the text that reports them. */
#include "tests/unit.h"
#include "trainer/task/pretraining.h"
#include "trainer/run/console.h"

static const struct model_metrics sums = {
    .heads = {[HEAD_MASKED] = {12, 3, 4}, [HEAD_NEXT] = {1.5, 2, 6}},
    .sequences = 6,
    .tokens = 70,
};

static struct evaluation means_of(uint32_t heads, const struct model_metrics *metrics)
{
    const struct task task = {.heads = heads, .metrics = pretraining_metrics};
    return evaluation_of(&task, metrics);
}

static void assert_said(const struct evaluation *means, const char *text, const char *json)
{
    char out[LOSS_TEXT_SIZE];
    assert_string_equal(loss_text(&pretraining_metrics, means, out), text);
    json_auto_t *facts = console_means_json(&pretraining_metrics, means);
    char *dumped = json_dumps(facts, JSON_REAL_PRECISION(6) | JSON_COMPACT);
    assert_string_equal(dumped, json);
    free(dumped);
}

TEST(means_are_by_each_heads_own_count)
{
    const struct evaluation means = means_of(1u << HEAD_MASKED | 1u << HEAD_NEXT, &sums);
    assert_int_equal(means.samples, 6);
    assert_int_equal(means.tokens, 70);
    assert_said(&means, "loss 3.250 (mlm 3.000, nsp 0.250)",
                "{\"loss\":3.25,\"mlm_loss\":3.0,\"nsp_loss\":0.25,\"mlm_accuracy\":0.75,\"nsp_accuracy\":0.333333}");
}

TEST(a_head_that_does_not_run_has_no_mean)
{
    const struct evaluation means = means_of(1u << HEAD_MASKED, &sums);
    assert_said(&means, "loss 3.000",
                "{\"loss\":3.0,\"mlm_loss\":3.0,\"nsp_loss\":null,\"mlm_accuracy\":0.75,\"nsp_accuracy\":null}");
}

TEST(no_labels_are_no_loss)
{
    const struct model_metrics none = {.sequences = 2, .tokens = 9};
    const struct evaluation means = means_of(1u << HEAD_MASKED, &none);
    assert_true(means.loss == 0 && means.values[0] == 0);
}

TEST(no_samples_have_no_mean)
{
    const struct model_metrics none = {0};
    const struct evaluation means = means_of(1u << HEAD_MASKED, &none);
    assert_said(&means, "loss not finite",
                "{\"loss\":null,\"mlm_loss\":null,\"nsp_loss\":null,\"mlm_accuracy\":null,\"nsp_accuracy\":null}");
}

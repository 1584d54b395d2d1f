/* metrics.jsonl: complete lines, and every step once. */
#include "tests/needs_faults.h"
#include "tests/shards/tiny.h"

#include <errno.h>
#include <jansson.h>

#include "trainer/keep/history.h"
#include "trainer/run/interval.h"
#include "trainer/keep/metrics.h"
#include "trainer/task/pretraining.h"

static struct error *const err = &tiny_err;

static void write_line(struct metrics *metrics, uint64_t step, bool valid)
{
    const struct evaluation means = {.loss = 2.5, .values = {2.25, NAN, 0.5, NAN}};
    const struct evaluation interval = {.loss = 3.5, .values = {3.25, NAN, 0.25, NAN}};
    const struct metrics_line line = {
        .step = step,
        .valid = valid,
        .metrics = &pretraining_metrics,
        .means = &means,
        .interval = &interval,
        .samples = step * 4,
        .learning_rate = 1e-4,
    };
    assert_ok(metrics_write(metrics, &line, err));
}

static void expect(const char *directory, const char *steps, uint64_t at, bool evaluated)
{
    struct metrics metrics;
    SCOPED(buf_release) struct buf found = {0};
    struct metrics_past past = {.evaluated = !evaluated};
    assert_ok(metrics_open(&metrics, directory, at, &past, err));
    metrics_close(&metrics);
    assert_int_equal(past.evaluated, evaluated);
    SCOPED(buf_release) struct buf text = tiny_read(directory, "metrics.jsonl");
    for (char *line = (char *)buf_text(&text), *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        json_auto_t *json = json_loads(line, 0, NULL);
        assert_non_null(json);
        buf_addf(&found, "%d%s ", (int)json_integer_value(json_object_get(json, "step")),
                 json_object_get(json, "split") ? "v" : "");
    }
    assert_string_equal(buf_text(&found), steps);
}

/* A mean without samples, and a baseline of 0, which no label gives, are null in the file, and read as NAN. */
TEST(what_was_not_measured_is_null)
{
    struct metrics metrics;
    struct metrics_past past;
    struct history history;
    const struct evaluation means = {.loss = 2.5, .values = {2.25, NAN, 0.5, NAN}, .baselines = {[2] = 0, [3] = 0.75}};
    const struct metrics_line line = {.step = 1,
                                      .valid = true,
                                      .metrics = &pretraining_metrics,
                                      .means = &means,
                                      .learning_rate = NAN,
                                      .grad_norm = NAN,
                                      .loss_scale = INFINITY,
                                      .epoch = 0.5};
    assert_ok(metrics_open(&metrics, *state, 0, &past, err));
    assert_ok(metrics_write(&metrics, &line, err));
    metrics_close(&metrics);
    struct buf text = tiny_read(*state, "metrics.jsonl");
    json_auto_t *json = json_loads(buf_text(&text), 0, NULL);
    static const char *const nulls[] = {"nsp_loss",      "nsp_accuracy", "mlm_accuracy_commonest",
                                        "learning_rate", "grad_norm",    "loss_scale"};
    assert_ok(history_read(&history, *state, err));
    for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++) {
        assert_true(json_is_null(json_object_get(json, nulls[i])));
        assert_true(isnan(history_value(&history, history.lines, nulls[i])));
    }
    assert_true(json_number_value(json_object_get(json, "nsp_accuracy_majority")) == 0.75);
    assert_true(history_value(&history, history.lines, "nsp_accuracy_majority") == 0.75);
    assert_true(history_value(&history, history.lines, "mlm_loss") == 2.25);
    history_release(&history);
    buf_release(&text);
    tiny_write(*state, "metrics.jsonl", "", 0);
}

TEST(lines_after_the_checkpoint_are_cut)
{
    struct metrics metrics;
    struct metrics_past past = {.evaluated = true};
    assert_ok(metrics_open(&metrics, *state, 0, &past, err));
    assert_false(past.evaluated);
    for (uint64_t step = 1; step <= 5; step++) {
        write_line(&metrics, step, false);
        if (step == 3)
            write_line(&metrics, step, true);
    }
    metrics_close(&metrics);
    expect(*state, "1 2 3 3v 4 5 ", 9, false);
    expect(*state, "1 2 3 3v ", 3, true);
    assert_ok(metrics_open(&metrics, *state, 3, &past, err));
    write_line(&metrics, 4, false); /* continues after them */
    metrics_close(&metrics);
    expect(*state, "1 2 3 3v 4 ", 4, false);
    expect(*state, "", 0, false);
}

/* The lowest loss is the best, the first of equal ones; losses are compared with the seven digits of a line; a
 * non-finite one is never the best. */
TEST(the_best_evaluation_is_found_again)
{
    static const double losses[] = {3, (double)NAN, 2.50000001, 2.5, 2.75};
    struct metrics metrics;
    struct metrics_best best = METRICS_BEST_NONE;
    struct metrics_past past = {.kept_step = 4};
    assert_ok(metrics_open(&metrics, *state, 0, &past, err));
    assert_true(past.best.loss == INFINITY && past.best.since == 0);
    for (uint64_t step = 1; step <= 5; step++) {
        struct metrics_line line = {.valid = true, .step = step, .metrics = &pretraining_metrics};
        const struct evaluation means = {.samples = 1, .loss = losses[step - 1]};
        line.means = &means;
        assert_ok(metrics_write(&metrics, &line, err));
        metrics_best_add(&best, step, losses[step - 1]);
    }
    metrics_close(&metrics);
    assert_true(best.step == 3 && best.since == 2 && best.loss == 2.5 && best.last == 2.75);
    assert_ok(metrics_open(&metrics, *state, 5, &past, err));
    metrics_close(&metrics);
    assert_true(past.best.step == 3 && past.best.since == 2 && past.best.loss == 2.5 && past.best.last == 2.75);
    assert_true(past.kept_loss == 2.5 && past.evaluated);
    assert_ok(metrics_open(&metrics, *state, 2, &past, err));
    metrics_close(&metrics);
    assert_true(past.best.step == 1 && past.best.since == 1 && past.kept_loss == INFINITY);
}

TEST(half_a_line_is_cut)
{
    const char *text = "{\"step\":1}\n{\"step\":2}\n{\"st";
    tiny_write(*state, "metrics.jsonl", text, strlen(text));
    expect(*state, "1 2 ", 9, false);
    text = "{\"step\":1}\nrubbish\n{\"step\":2}\n";
    tiny_write(*state, "metrics.jsonl", text, strlen(text));
    expect(*state, "1 ", 9, false);
}

TEST(a_line_has_every_key)
{
    static const char *const keys[] = {"step",
                                       "loss",
                                       "mlm_loss",
                                       "nsp_loss",
                                       "mlm_accuracy",
                                       "nsp_accuracy",
                                       "learning_rate",
                                       "grad_norm",
                                       "samples",
                                       "tokens",
                                       "epoch",
                                       "seconds",
                                       "sequences_per_second",
                                       "data_wait_seconds",
                                       "loss_scale",
                                       "skipped",
                                       "loss_mean",
                                       "mlm_loss_mean",
                                       "nsp_loss_mean"};
    struct metrics metrics;
    struct metrics_past past = {0};
    assert_ok(metrics_open(&metrics, *state, 0, &past, err));
    write_line(&metrics, 7, false);
    metrics_close(&metrics);
    SCOPED(buf_release) struct buf text = tiny_read(*state, "metrics.jsonl");
    json_auto_t *json = json_loadb(text.data, text.size, 0, NULL);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_non_null(json_object_get(json, keys[i]));
    assert_null(json_object_get(json, "split"));
    assert_true(json_is_null(json_object_get(json, "nsp_loss")));
    assert_true(json_real_value(json_object_get(json, "loss")) == 2.5);
    assert_true(json_real_value(json_object_get(json, "mlm_loss")) == 2.25);
    assert_true(json_real_value(json_object_get(json, "mlm_accuracy")) == 0.5);
    assert_true(json_real_value(json_object_get(json, "loss_mean")) == 3.5);
    assert_true(json_real_value(json_object_get(json, "mlm_loss_mean")) == 3.25);
    assert_null(json_object_get(json, "mlm_accuracy_mean"));
    assert_int_equal(json_integer_value(json_object_get(json, "samples")), 28);
}

TEST(an_interval_is_a_mean_over_labels)
{
    const struct step_facts steps[] = {
        {.counts = {[HEAD_MASKED] = 10, [HEAD_NEXT] = 4}, .means.values = {2, 0.5, 0.25, 1}},
        {.counts = {[HEAD_MASKED] = 30, [HEAD_NEXT] = 4}, .means.values = {4, 1, 0.75, 0}},
        {.counts = {[HEAD_MASKED] = 50, [HEAD_NEXT] = 4}, .means.values = {INFINITY, NAN, 0, NAN}},
    };
    struct interval interval = {0};
    assert_true(isnan(interval_means(&interval, &pretraining_metrics).loss));
    for (size_t i = 0; i < 3; i++)
        interval_add(&interval, &pretraining_metrics, &steps[i]);
    const struct evaluation means = interval_means(&interval, &pretraining_metrics);
    assert_true(means.values[0] == 3.5 && means.values[1] == 0.75 && means.loss == 4.25);
    assert_true(fabs(means.values[2] - 25.0 / 90) < 1e-15 && means.values[3] == 0.5);

    struct interval again = {0};
    assert_null(interval_json(&again, &pretraining_metrics));
    interval_read(&again, &pretraining_metrics, NULL);
    json_t *json = interval_json(&interval, &pretraining_metrics),
           *wrong = json_pack("{s:[s], s:i}", "mlm_loss", "x", "nsp_loss", 3);
    interval_read(&again, &pretraining_metrics, wrong);
    assert_true(isnan(interval_means(&again, &pretraining_metrics).loss));
    interval_read(&again, &pretraining_metrics, json);
    assert_memory_equal(&again, &interval, sizeof interval);
    json_decref(wrong);
    json_decref(json);
}

/* A power loss removes what is not synced. The line of a step may be lost, but not a reported evaluation and its event,
 * nor anything before a checkpoint. */
TEST(evaluations_are_synced_and_the_rest_when_asked)
{
    const struct evaluation means = {.loss = 2.5};
    const struct metrics_line line = {.step = 2, .valid = true, .metrics = &pretraining_metrics, .means = &means};
    struct metrics metrics;
    struct metrics_past past = {0};
    assert_ok(metrics_open(&metrics, *state, 0, &past, err));
    const uint64_t before = file_calls(FILE_CHANGES);
    write_line(&metrics, 1, false);
    assert_int_equal(file_calls(FILE_CHANGES), before + 2);
    write_line(&metrics, 1, true);
    assert_int_equal(file_calls(FILE_CHANGES), before + 6);
    for (uint64_t at = 1; at <= 2; at++) {
        file_fault_set((struct file_fault){.at = at, .kind = FILE_FAULT_ERRNO, .number = EIO});
        assert_fails(metrics_sync(&metrics, err), ERR_RESOURCE);
    }
    assert_ok(metrics_sync(&metrics, err));
    file_fault_set((struct file_fault){.at = 2, .kind = FILE_FAULT_ERRNO, .number = EIO}); /* the sync of the event file
                                                                                            * */
    assert_fails(metrics_write(&metrics, &line, err), ERR_RESOURCE);
    file_fault_set((struct file_fault){0});
    metrics_close(&metrics);
    expect(*state, "1 1v ", 2, false);
}

/* Lines 0 to count - 1, of which the first alone is an evaluation; line i has i for a loss. */
static void expect_history(const char *directory, size_t count)
{
    struct history history;
    SCOPED(buf_release) struct buf text = {0};
    for (size_t i = 0; i < count; i++)
        buf_addf(&text, "{\"step\":%zu,%s\"loss\":%zu.5}\n", i + 1, i == 0 ? "\"split\":\"valid\"," : "", i);
    tiny_write(directory, "metrics.jsonl", text.data, text.size);
    assert_ok(history_read(&history, directory, err));
    assert_int_equal(history.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(history.lines[i].step, i + 1);
        assert_true(history_value(&history, &history.lines[i], "loss") == (double)i + 0.5);
    }
    assert_ptr_equal(history_last(&history, true), &history.lines[0]);
    assert_ptr_equal(history_last(&history, false), count > 1 ? &history.lines[count - 1] : NULL);
    history_release(&history);
}

TEST(a_history_has_every_line)
{
    static const size_t counts[] = {1, 2, 3, 255, 256, 257, 512, 513};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        expect_history(*state, counts[i]);
}

/* Keys of up to HISTORY_KEY_BYTES - 1 bytes, and the first HISTORY_KEYS of them. */
TEST(a_history_has_room_for_keys)
{
    struct history history;
    SCOPED(buf_release) struct buf text = {0};
    for (int length = (int)HISTORY_KEY_BYTES - 2; length <= (int)HISTORY_KEY_BYTES + 1; length++)
        buf_addf(&text, "%s\"%0*d_loss\":%d", text.size ? "," : "{\"step\":1,", length - 5, 7, length);
    buf_add_text(&text, "}\n{\"step\":2");
    for (int i = 0; i < 50; i++)
        buf_addf(&text, ",\"%d_loss\":%d", i, i);
    buf_add_text(&text, "}\n");
    tiny_write(*state, "metrics.jsonl", text.data, text.size);
    assert_ok(history_read(&history, *state, err));
    for (int length = (int)HISTORY_KEY_BYTES - 2; length <= (int)HISTORY_KEY_BYTES + 1; length++) {
        char key[HISTORY_KEY_BYTES + 8];
        snprintf(key, sizeof key, "%0*d_loss", length - 5, 7);
        const double value = history_value(&history, &history.lines[0], key);
        assert_true(length < (int)HISTORY_KEY_BYTES ? value == length : isnan(value));
    }
    assert_int_equal(history.key_count, HISTORY_KEYS);
    for (int i = 0; i < 50; i++) {
        char key[HISTORY_KEY_BYTES];
        snprintf(key, sizeof key, "%d_loss", i);
        const double value = history_value(&history, &history.lines[1], key);
        assert_true(i < (int)HISTORY_KEYS - 2 ? value == i : isnan(value));
    }
    history_release(&history);
}

GROUP(tiny_enter, tiny_tear_down)

/* Which runs are healthy, judged by made-up lines of metrics: every kind of finding, and what is close to it. */
#include "tests/shards/tiny.h"

#include <jansson.h>

#include "trainer/run/health.h"
#include "trainer/keep/metrics.h"

#define PIECES 8000 /* ln 8000 = 8.987 */

/* A loss that falls from `from` towards `to`, with noise of +-`noise`; part 0 to 1 of the run. */
static double fall(double from, double to, double part, double noise, int i)
{
    const double wave = (double)(i * 2654435761u % 1000) / 500 - 1;
    return to + (from - to) * exp(-5 * part) + noise * wave;
}

static void add_train(struct buf *lines, int step, double loss, double norm)
{
    buf_addf(lines, "{\"step\":%d,\"loss_mean\":", step);
    buf_addf(lines, isfinite(loss) ? "%.6g" : "null", loss);
    buf_addf(lines, ",\"grad_norm\":%.6g,\"skipped\":0}\n", norm);
}

static void add_valid(struct buf *lines, int step, double loss, double accuracy, double baseline)
{
    buf_addf(lines, "{\"step\":%d,\"split\":\"valid\",\"loss\":%.6g,\"mlm_accuracy\":%.6g", step, loss, accuracy);
    buf_addf(lines, ",\"mlm_accuracy_commonest\":%.6g}\n", baseline);
}

static json_t *record_of(void)
{
    return json_pack("{s:{s:i, s:b, s:f, s:f, s:I}, s:{s:s, s:s}, s:[{s:[s, s, s]}, {s:[s, s, s, s, s, s, s, s, s]}]}",
                     "identity", "vocabulary", PIECES, "next_sentence", 0, "gradient_clipping", 1.0, "lr", 0.1, "steps",
                     (json_int_t)1000, "settings", "keep-best", "false", "eval-every", "0", "starts", "command",
                     "/opt/dstrain", "--shards", "those of the first start", "command", "/opt/dstrain", "--shards",
                     "my data", "--lr=0.1", "--epochs", "3", "--fresh", "--out", "r");
}

/* The kinds of the findings, "diverged clipped", and the command. Takes over the lines and the record. */
static void expect(const char *directory, struct buf *lines, json_t *record, const char *kinds, const char *command)
{
    SCOPED(buf_release) struct buf found = {0};
    size_t i;
    json_t *finding;
    tiny_write(directory, METRICS_NAME, lines->size > 0 ? lines->data : "", lines->size);
    struct health health = health_read(directory, record);
    json_array_foreach(health.findings, i, finding)
        buf_addf(&found, "%s%s", i > 0 ? " " : "", json_string_value(json_object_get(finding, "kind")));
    assert_string_equal(buf_text(&found), kinds);
    if (command)
        assert_string_equal(health.command, command);
    else if (!*kinds)
        assert_null(health.command);
    health_release(&health);
    buf_release(lines);
    json_decref(record);
}

#define LOWER_RATE "dstrain --shards 'my data' --epochs 3 --out r --lr 0.01 --fresh"

TEST(healthy_runs_are_silent)
{
    struct buf lines = {0};
    expect(*state, &lines, record_of(), "", NULL); /* nothing was logged yet */

    add_train(&lines, 1, 9.02, 2);
    expect(*state, &lines, record_of(), "", NULL);

    add_train(&lines, 10, 9.02, 2); /* 20 steps, before anything is learned */
    add_train(&lines, 20, 8.99, 2);
    add_valid(&lines, 20, 8.98, 0.001, 0.05);
    expect(*state, &lines, record_of(), "", NULL);

    for (int i = 1; i <= 100; i++) { /* down to the plateau, where the accuracy is that of the commonest piece */
        add_train(&lines, 10 * i, fall(9, 7, i / 100.0, 0.1, i), 1.5);
        if (i % 20 == 0)
            add_valid(&lines, 10 * i, fall(9, 7.1, i / 100.0, 0.001, i), 0.05, 0.05);
    }
    expect(*state, &lines, record_of(), "", NULL);

    for (int i = 1; i <= 20; i++) { /* goes on from another model: noise, and no fall to speak of */
        add_train(&lines, i, fall(6.5, 6.5, i / 20.0, 0.3, i), 1.2);
        if (i % 5 == 0)
            add_valid(&lines, i, 6.5 + 0.01 * (i == 10), 0.1, 0.05);
    }
    expect(*state, &lines, record_of(), "", NULL);
}

TEST(a_high_rate_diverges)
{
    struct buf lines = {0};
    for (int i = 1; i <= 10; i++)
        add_train(&lines, 10 * i, 61713 + i, 1e8);
    add_valid(&lines, 100, 61700, 0, 0.05);
    expect(*state, &lines, record_of(), "diverged worse-than-chance clipped", LOWER_RATE);

    add_train(&lines, 20, 42, 0.5); /* one line is enough */
    expect(*state, &lines, record_of(), "diverged", LOWER_RATE);

    for (int i = 1; i <= 20; i++) /* from a trained model, and below chance */
        add_train(&lines, 10 * i, i < 5 ? 3 : 6.5, 1);
    expect(*state, &lines, record_of(), "diverged worse-than-best", LOWER_RATE);

    for (int i = 1; i <= 20; i++) /* the same of a run that masks more and more */
        add_train(&lines, 10 * i, 3 + 0.1 * i, 1);
    json_t *harder = record_of();
    json_object_update_new(json_object_get(harder, "identity"),
                           json_pack("{s:f, s:f}", "mask_prob", 0.15, "mask_prob_end", 0.5));
    expect(*state, &lines, harder, "", NULL);

    for (int i = 1; i <= 20; i++)
        add_train(&lines, 10 * i, i < 15 ? 7 : (double)NAN, 1);
    expect(*state, &lines, record_of(), "diverged", LOWER_RATE);
}

TEST(nothing_is_learned)
{
    struct buf lines = {0};
    for (int i = 1; i <= 20; i++)
        add_train(&lines, 10 * i, fall(9, 9, 0, 0.01, i), 1.5);
    add_valid(&lines, 200, 9, 0, 0.05);
    expect(*state, &lines, record_of(), "worse-than-chance",
           "dstrain --shards 'my data' --epochs 3 --out r --lr 1 --fresh");

    for (int i = 1; i <= 20; i++) /* it falls slowly, but steadily */
        add_train(&lines, 10 * i, 9 - 0.01 * i, 1.5);
    add_valid(&lines, 200, 8.8, 0, 0.05);
    expect(*state, &lines, record_of(), "", NULL);

    for (int i = 1; i <= 300; i++) /* on the plateau for 3,000 steps */
        add_train(&lines, 10 * i, fall(9, 7, i / 100.0, 0.05, i), 1.5);
    add_valid(&lines, 3000, 7, 0.05, 0.05);
    expect(*state, &lines, record_of(), "worse-than-chance",
           "dstrain --shards 'my data' --lr=0.1 --out r --steps 10000 --fresh");
}

TEST(clipped_to_a_small_part)
{
    struct buf lines = {0};
    for (int i = 1; i <= 10; i++)
        add_train(&lines, 10 * i, 6.5, i == 1 ? 0.5 : 8);
    expect(*state, &lines, record_of(), "", NULL); /* 90 % of them */
    for (int i = 1; i <= 40; i++)
        add_train(&lines, 10 * i, 6.5, i == 1 ? 0.5 : 8);
    expect(*state, &lines, record_of(), "clipped", LOWER_RATE);
    for (int i = 1; i <= 40; i++) /* it learns all the same */
        add_train(&lines, 10 * i, 6.5 - 0.05 * i, 8);
    expect(*state, &lines, record_of(), "", NULL);
}

#define KEPT "dstrain --shards 'my data' --lr=0.1 --epochs 3 --out r --keep-best --eval-every 50"

TEST(the_held_out_loss_rises)
{
    SCOPED(buf_release) struct buf lines = {0};
    for (int i = 1; i <= 10; i++) {
        add_train(&lines, 10 * i, 6 - 0.4 * i, 1);
        add_valid(&lines, 10 * i, i < 4 ? 6 - 0.1 * i : 5.5 + 0.08 * i, 0.2, 0.05);
    }
    expect(*state, &lines, record_of(), "worse-than-best overfits", KEPT " --patience 3 --fresh");

    for (int i = 1; i <= 10; i++) { /* a jump at the end, of both losses */
        add_train(&lines, 10 * i, i < 10 ? 6 - 0.1 * i : 5.5, 1);
        add_valid(&lines, 10 * i, i < 10 ? 6 - 0.1 * i : 5.5, 0.2, 0.05);
    }
    expect(*state, &lines, record_of(), "worse-than-best", KEPT " --fresh");

    for (int i = 1; i <= 10; i++) { /* up and down, within a margin */
        add_train(&lines, 10 * i, 6 - 0.1 * i, 1);
        add_valid(&lines, 10 * i, 5 + 0.04 * (i % 2), 0.2, 0.05);
    }
    expect(*state, &lines, record_of(), "", NULL);

    for (int i = 1; i <= 10; i++) { /* its best checkpoint is kept: nothing better can be advised */
        add_train(&lines, 10 * i, 6 - 0.4 * i, 1);
        add_valid(&lines, 10 * i, i < 4 ? 6 - 0.1 * i : 5.5 + 0.08 * i, 0.2, 0.05);
    }
    json_t *keeps = record_of();
    json_object_set_new(json_object_get(keeps, "settings"), "keep-best", json_string("true"));
    tiny_write(*state, METRICS_NAME, lines.data, lines.size);
    struct health health = health_read(*state, keeps);
    assert_int_equal(json_array_size(health.findings), 2);
    assert_null(health.command);
    health_release(&health);
    json_decref(keeps);
}

/* Of a task: more certain and more often right, with a higher loss. */
TEST(a_task_with_a_higher_accuracy)
{
    struct buf lines = {0};
    for (int last = 0; last < 2; last++) {
        for (int i = 1; i <= 10; i++) {
            add_train(&lines, 10 * i, 0.7 - 0.05 * i, 1);
            buf_addf(&lines, "{\"step\":%d,\"split\":\"valid\",\"loss\":%.4f,\"class_loss\":0.5,", 10 * i,
                     i < 4 ? 0.6 - 0.05 * i : 0.3 + 0.05 * i);
            buf_addf(&lines, "\"class_accuracy\":%.4f,\"class_accuracy_majority\":0.5}\n",
                     i < 10 || last == 0 ? 0.7 + 0.01 * i : 0.6);
        }
        json_t *record = record_of();
        json_object_set_new(json_object_get(record, "identity"), "task", json_string("glue rte"));
        expect(*state, &lines, record, last == 0 ? "" : "worse-than-best overfits", NULL);
    }
}

/* A table of 150 classes begins at ln(150) = 5.01, which is no divergence; a rise is one. */
TEST(a_table_of_many_classes)
{
    struct buf lines = {0};
    for (int rises = 0; rises < 2; rises++) {
        for (int i = 1; i <= 10; i++)
            buf_addf(&lines, "{\"step\":%d,\"loss_mean\":%.4f,\"class_loss\":5,\"grad_norm\":0.9,\"skipped\":0}\n",
                     10 * i, 5.01 + (rises ? 0.3 : -0.01) * i);
        json_t *record = record_of();
        json_object_set_new(json_object_get(record, "identity"), "task", json_string("classify"));
        expect(*state, &lines, record, rises ? "diverged worse-than-best" : "", NULL);
    }
}

TEST(what_cannot_be_judged)
{
    SCOPED(buf_release) struct buf lines = {0};
    buf_add_text(&lines, "rubbish\n");
    expect(*state, &lines, record_of(), "", NULL);
    for (int i = 1; i <= 10; i++)
        add_train(&lines, 10 * i, 100, 1);
    json_t *bare = json_object(); /* a record without identity, settings or starts */
    expect(*state, &lines, bare, "", NULL);
    for (int i = 1; i <= 10; i++)
        add_train(&lines, 10 * i, 100, 1);
    json_t *lost = record_of();
    json_object_set_new(lost, "starts", json_pack("[{s:[i, n, s]}]", "command", 1, "dstrain"));
    tiny_write(*state, METRICS_NAME, lines.data, lines.size);
    struct health health = health_read(*state, lost);
    assert_int_equal(json_array_size(health.findings), 1);
    health_release(&health);
    json_decref(lost);
}

GROUP(tiny_enter, tiny_tear_down)

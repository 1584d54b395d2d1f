/* TensorBoard's event file: events after the resumed step and foreign bytes are cut. tests/flow/train_seen.sh checks
 * that other readers can read it. */
#include "tests/shards/tiny.h"

#include "base/tfrecord.h"
#include "trainer/keep/events.h"
#include "trainer/keep/metrics.h"
#include "trainer/task/pretraining.h"

static struct error *const err = &tiny_err;

static void reopen(struct events *events, const char *directory, uint64_t step, bool evaluated)
{
    assert_ok(events_open(events, directory, step, evaluated, err));
}

static void write_line(struct events *events, uint64_t step, bool valid)
{
    const struct evaluation means = {.loss = 2.5, .values = {2.25, NAN, 0.5, NAN}};
    const struct metrics_line line = {
        .step = step,
        .valid = valid,
        .metrics = &pretraining_metrics,
        .means = &means,
        .grad_norm = 1e300,
        .learning_rate = 1e-4,
    };
    assert_ok(events_write(events, &line, err));
}

/* The number of records in the file, which must have nothing else. */
static int records(const char *directory)
{
    SCOPED(buf_release) struct buf text = tiny_read(directory, EVENTS_NAME);
    struct str message;
    size_t at = 0;
    int count = 0;
    for (; tfrecord_message((struct str){text.data + at, text.size - at}, &message); count++)
        at += TFRECORD_BYTES_BEFORE + message.size + TFRECORD_BYTES_AFTER;
    assert_int_equal(at, text.size);
    return count;
}

static int opened_at(const char *directory, uint64_t step, bool evaluated)
{
    struct events events;
    reopen(&events, directory, step, evaluated);
    events_close(&events);
    return records(directory);
}

/* The version, then steps 1, 2, 3, 3 evaluated, 300, 301. */
static void write_six(const char *directory)
{
    struct events events;
    SCOPED(mem_free_at) char *path = path_join(directory, EVENTS_NAME);
    assert_ok(path_remove(path, err));
    reopen(&events, directory, 0, false);
    for (uint64_t step = 1; step <= 3; step++)
        write_line(&events, step, false);
    write_line(&events, 3, true);
    write_line(&events, 300, false);
    write_line(&events, 301, false);
    events_close(&events);
}

TEST(events_after_the_checkpoint_are_cut)
{
    static const struct {
        uint64_t step;
        bool evaluated;
        int records;
    } cases[] = {{400, false, 7}, {301, false, 7}, {300, false, 6}, {299, false, 5},
                 {3, true, 5},    {3, false, 4},   {2, true, 3},    {0, false, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_six(*state);
        assert_int_equal(opened_at(*state, cases[i].step, cases[i].evaluated), cases[i].records);
    }
}

TEST(only_finite_numbers_are_written)
{
    write_six(*state);
    SCOPED(buf_release) struct buf text = tiny_read(*state, EVENTS_NAME);
    assert_true(str_find(buf_str(&text), STR("valid/mlm_loss")) != SIZE_MAX);
    assert_true(str_find(buf_str(&text), STR("learning_rate")) != SIZE_MAX);
    assert_true(str_find(buf_str(&text), STR("valid/learning_rate")) == SIZE_MAX);
    assert_true(str_find(buf_str(&text), STR("nsp_loss")) == SIZE_MAX);
    assert_true(str_find(buf_str(&text), STR("grad_norm")) == SIZE_MAX); /* not a finite float */
}

TEST(damage_is_cut)
{
    write_six(*state);
    SCOPED(buf_release) struct buf whole = tiny_read(*state, EVENTS_NAME);
    for (size_t size = 0; size < whole.size; size += 7) {
        tiny_write(*state, EVENTS_NAME, whole.data, size);
        assert_in_range(opened_at(*state, 400, true), 1, 6);
    }
    for (size_t at = 0; at < whole.size; at += 5) {
        whole.data[at] ^= 16;
        tiny_write(*state, EVENTS_NAME, whole.data, whole.size);
        assert_in_range(opened_at(*state, 400, true), 1, 6);
        whole.data[at] ^= 16;
    }
}

/* Complete records with foreign messages, alone and after the version. */
TEST(foreign_events_are_cut)
{
    static const struct str messages[] = {{"", 0},
                                          {"\x09", 1},
                                          {"\x09........", 9},
                                          {"\x09........\x10", 10},
                                          {"\x09........\x10\x80", 11},
                                          {"\x09........\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 20},
                                          {"\x09........\x10\x01", 11},
                                          {"\x09........\x10\x01\x42", 12}};
    for (size_t i = 0; i < 2 * sizeof messages / sizeof *messages; i++) {
        const struct str message = messages[i / 2];
        SCOPED(buf_release) struct buf text = {0};
        char record[64];
        opened_at(*state, 0, false);
        if (i % 2)
            text = tiny_read(*state, EVENTS_NAME);
        memcpy(record + TFRECORD_BYTES_BEFORE, message.data, message.size);
        buf_add(&text, record, tfrecord_frame(record, message.size));
        tiny_write(*state, EVENTS_NAME, text.data, text.size);
        assert_int_equal(opened_at(*state, 400, true), 1);
    }
}

GROUP(tiny_enter, tiny_tear_down)

/* The names with the most bytes: exact while all names fit, within the stated bound otherwise, and the same after a
 * journal. */
#include "base/random.h"
#include "pipeline/parts/name_counts.h"
#include "tests/unit.h"

static const char *top_name(const struct name_counts *table, size_t place)
{
    uint32_t top[64];
    assert_true(name_counts_top(table, top, 64) > place);
    return name_counts_name(table, &table->rows[top[place]]);
}

TEST(names_are_ordered_by_bytes_then_by_name)
{
    SCOPED(name_counts_release) struct name_counts table = {0};
    uint32_t top[64];
    assert_int_equal(name_counts_top(&table, top, 64), 0);
    name_counts_add(&table, STR("b"), 1, 10);
    name_counts_add(&table, STR("a"), 2, 10);
    name_counts_add(&table, STR(""), 1, 7);
    name_counts_add(&table, STR("c\xC3\xA9"), 1, 5);
    name_counts_add(&table, STR("c\xC3\xA9"), 1, 15);
    assert_int_equal(name_counts_top(&table, top, 64), 4);
    assert_string_equal(top_name(&table, 0), "c\xC3\xA9");
    assert_string_equal(top_name(&table, 1), "a");
    assert_string_equal(top_name(&table, 2), "b");
    assert_string_equal(top_name(&table, 3), "");
    assert_int_equal(table.rows[top[0]].count, 2);
    assert_int_equal(table.rows[top[0]].bytes, 20);
    assert_int_equal(name_counts_top(&table, top, 2), 2);
    assert_string_equal(name_counts_name(&table, &table.rows[top[1]]), "a");
    assert_int_equal(name_counts_top(&table, top, 0), 0);
    name_counts_reset(&table);
    assert_int_equal(name_counts_top(&table, top, 64), 0);
    name_counts_add(&table, STR("a"), 1, 1);
    assert_int_equal(table.rows[0].bytes, 1);
}

/* Name number i. The bytes of names fall as 1/i, as those of templates do. */
static struct str name_of(uint32_t i, char out[32])
{
    return (struct str){out, (size_t)snprintf(out, 32, "name %u", i)};
}

#define NAMES  100000u
#define GROUPS 200u
#define HITS   2000u

/* Adds the draws of one group to a table, and to the exact counts in truth[NAMES]. */
static void draw(struct name_counts *table, uint32_t group, uint64_t *truth)
{
    const struct random_stream draws = random_stream(7, RANDOM_PAIR, group, 0, 0, 0, 0);
    char name[32];
    for (uint32_t i = 0; i < HITS; i++) {
        uint32_t words[4];
        random_at4(&draws, i, 0, words);
        const uint32_t which = (uint32_t)((uint64_t)words[0] * NAMES >> 32) >> (words[1] % 17);
        name_counts_add(table, name_of(which, name), 1, 5 + which % 7);
        truth[which] += 5 + which % 7;
    }
}

TEST(what_is_forgotten_is_bounded)
{
    uint64_t *truth = mem_clear(NAMES, sizeof *truth), all = 0;
    SCOPED(name_counts_release) struct name_counts whole = {0}, group = {0};
    for (uint32_t g = 0; g < GROUPS; g++) {
        name_counts_reset(&group);
        draw(&group, g, truth);
        name_counts_merge(&whole, &group);
    }
    for (size_t i = 0; i < NAMES; i++)
        all += truth[i];
    assert_true(whole.count <= NAME_COUNTS_MAX);
    assert_true(whole.missed > 0);
    assert_true(whole.missed <= 2 * all / NAME_COUNTS_MAX);
    for (size_t i = 0; i < whole.count; i++) {
        const struct name_count *row = &whole.rows[i];
        const uint64_t true_bytes = truth[strtoul(name_counts_name(&whole, row) + 5, NULL, 10)];
        assert_true(row->bytes <= true_bytes);
        assert_true(true_bytes <= row->bytes + row->missed);
        assert_true(row->missed <= whole.missed);
    }
    assert_string_equal(top_name(&whole, 0), "name 0");
    uint32_t top[1];
    name_counts_top(&whole, top, 1);
    assert_int_equal(whole.rows[top[0]].bytes, truth[0]);
    mem_free(truth);
}

/* A group full of hostile names is merged. */
TEST(merged_losses_add_up)
{
    SCOPED(name_counts_release) struct name_counts whole = {0}, group = {0};
    char name[32];
    name_counts_add(&whole, STR("kept"), 1, 1000);
    for (uint32_t i = 0; i <= NAME_COUNTS_MAX; i++)
        name_counts_add(&group, name_of(i, name), 1, 3);
    assert_int_equal(group.missed, 3);
    name_counts_merge(&whole, &group);
    assert_int_equal(whole.missed, 3);
    for (size_t i = 0; i < whole.count; i++)
        assert_int_equal(whole.rows[i].missed, 3);
    assert_string_equal(top_name(&whole, 0), "kept");
    name_counts_merge(&whole, &group);
    assert_int_equal(whole.missed, 6);
}

TEST(a_journal_changes_nothing)
{
    SCOPED(mem_free_at) uint64_t *truth = mem_clear(NAMES, sizeof *truth);
    struct name_counts one = {0}, two = {0}, group = {0};
    for (uint32_t g = 0; g < 40; g++) {
        name_counts_reset(&group);
        draw(&group, g, truth);
        name_counts_merge(&one, &group);
        name_counts_merge(&two, &group);
        json_auto_t *json = name_counts_json(&two);
        name_counts_release(&two);
        assert_true(name_counts_read(&two, json));
    }
    assert_true(one.missed > 0);
    json_t *a = name_counts_json(&one), *b = name_counts_json(&two);
    assert_true(json_equal(a, b));
    json_decref(a);
    json_decref(b);
    name_counts_release(&one);
    name_counts_release(&two);
    name_counts_release(&group);
}

TEST(journals_that_are_none)
{
    static const char *const cases[] = {
        "{}", "[]", "{\"missed\": -1, \"rows\": []}", "{\"missed\": 0, \"rows\": {}}",
        "{\"missed\": 0, \"rows\": [[\"a\", 1, 2]]}", "{\"missed\": 0, \"rows\": [[\"a\", 1, 2, 0, 0]]}",
        "{\"missed\": 0, \"rows\": [[\"a\", 1, -2, 0]]}", "{\"missed\": 0, \"rows\": [[1, 1, 2, 0]]}",
        "{\"missed\": 0, \"rows\": [[\"a\", 1, 2, 0], [\"a\", 1, 2, 0]]}",
        "{\"missed\": 0, \"rows\": [[\"a\", 1, 2.5, 0]]}",
        /* 97 bytes */
        "{\"missed\": 0, \"rows\": "
        "[[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaa\", 1, 2, 0]]}"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_auto_t *json = json_loads(cases[i], 0, NULL);
        SCOPED(name_counts_release) struct name_counts table = {0};
        assert_non_null(json);
        if (name_counts_read(&table, json) || table.count > 0)
            fail_msg("read: %s", cases[i]);
    }
}

/* String views, buffers and human-readable numbers. */
#include "tests/base/help.h"

#include "base/str.h"

#include <jansson.h>

TEST(views_compare_and_search)
{
    const struct str none = {0};
    assert_true(str_equal(none, STR("")));
    assert_true(str_starts(STR("abc"), STR("ab")) && !str_starts(STR("a"), STR("ab")) && str_starts(STR("a"), none));
    assert_true(str_ends(STR("abc"), STR("bc")) && !str_ends(STR("c"), STR("bc")) && str_ends(STR("a"), none));
    assert_true(str_equal_ascii_nocase(STR("ReDirect"), STR("rEdIRECT")));
    assert_false(str_equal_ascii_nocase(STR("a"), STR("ab")));
    assert_false(str_equal_ascii_nocase(STR("@"), STR("`"))); /* these differ by the same bit as letters do */
    assert_false(str_equal_ascii_nocase(STR("\xC3\x84"), STR("\xC3\xA4")));
    assert_true(str_equal(str_trim(STR(" \t\r\n a b \n")), STR("a b")));
    assert_int_equal(str_trim(STR(" \t")).size, 0);
    assert_int_equal(str_trim(none).size, 0);
    assert_true(str_compare(STR("a"), STR("ab")) < 0 && str_compare(STR("b"), STR("ab")) > 0);
    assert_true(str_compare(STR("\xff"), STR("a")) > 0);
    assert_true(str_compare(STR("a\0b"), STR("a\0c")) < 0);
    assert_int_equal(str_compare(none, none), 0);
    assert_int_equal(str_find(STR("a\0bc"), STR("\0b")), 1);
    assert_int_equal(str_find(STR("abc"), none), 0);
    assert_true(str_find(STR("abc"), STR("abcd")) == SIZE_MAX && str_find(none, STR("a")) == SIZE_MAX);
}

TEST(distance_is_levenshteins)
{
    assert_int_equal(str_distance(STR("kitten"), STR("sitting")), 3);
    assert_int_equal(str_distance(STR(""), STR("abc")), 3);
    assert_int_equal(str_distance(STR("abc"), STR("")), 3);
    assert_int_equal(str_distance(STR("abc"), STR("abc")), 0);
    assert_int_equal(str_distance(STR("flaw"), STR("lawn")), 2);
    assert_int_equal(str_distance(STR("ab"), STR("a")), 1);
    assert_int_equal(str_distance(STR("abxc"), STR("abc")), 1);
    assert_int_equal(str_distance(STR("abc"), STR("abxc")), 1);
    assert_int_equal(str_distance(STR("xxabc"), STR("abc")), 2);
    char a[63], b[63];
    memset(a, 'a', 63);
    memset(b, 'b', 63);
    assert_int_equal(str_distance((struct str){a, 63}, (struct str){b, 63}), 63);
}

TEST(buffers_grow)
{
    struct buf buf = {0};
    assert_string_equal(buf_text(&buf), "");
    assert_int_equal(buf.size, 0);
    for (int i = 0; i < 100000; i++)
        buf_add_byte(&buf, (char)('a' + i % 26));
    assert_int_equal(buf.size, 100000);
    assert_int_equal(buf.data[99999], 'a' + 99999 % 26);
    buf_reset(&buf);
    assert_true(buf.capacity >= 100000);
    buf_add_text(&buf, "x");
    buf_add_str(&buf, STR("\0y"));
    buf_add(&buf, NULL, 0);
    buf_addf(&buf, "%d-%s", 42, "z");
    assert_true(str_equal(buf_str(&buf), STR("x\0y42-z")));
    assert_int_equal(buf_text(&buf)[buf.size], 0);
    SCOPED(mem_free_at) char *text = mem_alloc(5001);
    memset(text, 'q', 5000);
    text[5000] = 0;
    buf_release(&buf);
    buf_addf(&buf, "%s", text);
    assert_int_equal(buf.size, 5000);
    buf_release(&buf);
    assert_null(buf.data);
    buf_release(&buf);
}

TEST(json_strings_escape_what_they_must)
{
    SCOPED(buf_release) struct buf buf = {0};
    buf_add_json(&buf, STR("a\"b\\c/\n\x1f\x7f\xc3\xa9"));
    assert_true(str_equal(buf_str(&buf), STR("\"a\\\"b\\\\c/\\n\\u001F\x7f\xc3\xa9\"")));
    buf_reset(&buf);
    buf_add_json(&buf, STR(""));
    assert_true(str_equal(buf_str(&buf), STR("\"\"")));
}

/* jansson is the reference: each byte at each place of a block, and none. */
TEST(json_strings_are_those_of_jansson)
{
    for (size_t at = 0; at < 100; at += 3)
        for (unsigned char byte = 1; byte < 0x80; byte++) {
            char text[100];
            SCOPED(buf_release) struct buf buf = {0};
            memset(text, 'x', sizeof text);
            text[at] = (char)byte;
            text[sizeof text - 1] = text[at / 2] = '\n';
            buf_add_json(&buf, (struct str){text, sizeof text});
            json_auto_t *string = json_stringn(text, sizeof text);
            char *expected = json_dumps(string, JSON_ENCODE_ANY);
            assert_string_equal(buf_text(&buf), expected);
            free(expected);
        }
}

static void reserve_too_much(void *argument)
{
    (void)argument;
    struct buf buf = {0};
    buf_add_text(&buf, "abc");
    buf_reserve(&buf, SIZE_MAX - 1);
}

TEST(a_buffer_that_overflows_ends_the_program)
{
    struct outcome seen;
    in_child(reserve_too_much, NULL, &seen);
    assert_int_equal(seen.code, 7);
}

TEST(figures_have_three_digits)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {{0, "0 B"},
                 {999, "999 B"},
                 {1000, "1.00 kB"},
                 {1024, "1.02 kB"},
                 {9994, "9.99 kB"},
                 {9995, "10.0 kB"},
                 {99949, "99.9 kB"},
                 {99951, "100 kB"},
                 {999499, "999 kB"},
                 {999500, "1.00 MB"},
                 {1020000000, "1.02 GB"},
                 {123456789012, "123 GB"},
                 {UINT64_MAX, "18.4 EB"}};
    char out[32];
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(format_bytes(cases[i].bytes, out), cases[i].text);
    /* At most three digits, and never decreasing: checked at every power of ten and its neighbours. */
    for (uint64_t power = 1; power < UINT64_MAX / 10; power *= 10)
        for (int step = -1; step <= 1; step++) {
            unsigned digits = 0;
            for (const char *at = format_bytes(power + (uint64_t)step, out); *at; at++)
                digits += *at >= '0' && *at <= '9';
            assert_true(digits >= 1 && digits <= 3);
        }
}

TEST(counts_have_commas)
{
    char out[32], counted[56];
    assert_string_equal(format_count(0, out), "0");
    assert_string_equal(format_count(999, out), "999");
    assert_string_equal(format_count(1000, out), "1,000");
    assert_string_equal(format_count(1412870, out), "1,412,870");
    assert_string_equal(format_short(9999, out), "9,999");
    assert_string_equal(format_short(86900, out), "86.9 k");
    assert_string_equal(format_short(1249000, out), "1.2 M");
    assert_string_equal(format_short(188600000, out), "189 M");
    assert_string_equal(format_short(12340000000, out), "12.3 G");
    assert_string_equal(format_counted(1, "thread", counted), "1 thread");
    assert_string_equal(format_counted(1042, "sample", counted), "1,042 samples");
    assert_string_equal(format_count(UINT64_MAX, out), "18,446,744,073,709,551,615");
}

TEST(seconds_read_as_a_clock)
{
    char out[32];
    assert_string_equal(format_seconds(0, out), "0:00");
    assert_string_equal(format_seconds(18.4, out), "0:18");
    assert_string_equal(format_seconds(59.6, out), "1:00");
    assert_string_equal(format_seconds(3723, out), "1:02:03");
    assert_string_equal(format_seconds(172799, out), "47:59:59");
    assert_string_equal(format_seconds(172800, out), "2.0 days");
    assert_string_equal(format_seconds(31878241, out), "369 days");
    assert_string_equal(format_seconds(4.1e9, out), "47,454 days");
    assert_string_equal(format_seconds(-5, out), "0:00");
    assert_string_equal(format_seconds((double)NAN, out), "0:00");
    assert_true(strlen(format_seconds((double)INFINITY, out)) < 31);
}

/* json_line.h: which lines are accepted, compared with jansson, and the values of members. */
#include "pipeline/json_line.h"

#include "base/mem.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool taken(struct str line, struct json_member *member)
{
    struct json_line scratch = {0};
    struct arena arena = {0};
    struct json_member none = {.name = "none"};
    struct str text = STR("");
    const bool result = json_line_read(&scratch, line, member ? member : &none, 1, &arena);
    if (result && member && member->kind == MEMBER_TEXT) { /* must outlive the arena */
        text = (struct str){mem_alloc(member->text.size), member->text.size};
        memcpy((char *)text.data, member->text.data, text.size);
    }
    if (member)
        member->text = text;
    json_line_release(&scratch);
    arena_release(&arena);
    return result;
}

static bool jansson_takes(struct str line)
{
    json_t *object = json_loadb(line.data, line.size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    const bool result = json_is_object(object);
    json_decref(object);
    return result;
}

static void check(struct str line, bool expected)
{
    if (jansson_takes(line) != expected)
        fail_msg("jansson: %.*s", (int)line.size, line.data);
    if (taken(line, NULL) != expected)
        fail_msg("%.*s", (int)line.size, line.data);
}

/* Half way from the largest double to 2^1024: 2^1024 - 2^970. */
#define BIG                                                                                                            \
    "17976931348623158079372897140530341507993413271003782693617377898044496829276475094664901797758720709633028641"   \
    "66928879109465555478519404026306574886715058206819089020007083836762738548458177115317644757302700698555713669"   \
    "59622842914819860834936475292719074168444365510704342711559699508093042880177904174497792"

static void takes_what_is_json(void **state)
{
    (void)state;
    static const struct str lines[] = {
        STR("{}"),
        STR(" \t\r\n{ \n} \r\t\n"),
        STR("{\"\":1}"),
        STR("{\"a\":1,\"b\":[],\"c\":{},\"d\":{\"a\":1}}"),
        STR("{\"a\":[1,[2,[{}]],{\"a\":[]}]}"),
        STR("{\"a\" : true , \"b\":false,\"c\":null}"),
        STR("{\"a\":[0,-0,10,-1,0.0,-0.5,1e5,1E+5,1e-5,1.25e0,9223372036854775807,-9223372036854775808]}"),
        STR("{\"a\":1e308}"),
        STR("{\"a\":0e99999999999999999999}"),
        STR("{\"a\":1e-99999999999999999999}"),
        STR("{\"a\":0."
            "000000000000000000000000000000000000000000000000001e350}"),
        STR("{\"a\":1.7976931348623158e308}"),
        STR("{\"a\":" BIG "e-1}"),
        STR("{\"a\":0.000001e314}"),
        STR("{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\ude00\\u0000\"}"),
        STR("{\"a\":\"\x7f\xc3\xa9\"}"),
        STR("{\"costarring\":1,\"liquid\":2}"), /* names of equal hash */
        STR("{\"a\":1,\"A\":1,\"\\u0061a\":1}"),
        STR("{\"\xc3\xa9\":1,\"e\":2}"),
        STR("{\"b\":{\"a\":1},\"a\":{\"a\":1,\"b\":{\"a\":1}}}"),
        STR("{\"a\":[{\"a\":1},{\"a\":1}]}"),
        STR("{\"a\":\"\\u0000\"}"),
        STR("{\"\\uFFFF\":\"\\uFFFE\"}"),
    };
    for (size_t i = 0; i < COUNT(lines); i++)
        check(lines[i], true);
}

static void refuses_what_is_not(void **state)
{
    (void)state;
    static const struct str lines[] = {
        STR(""),
        STR(" "),
        STR("{"),
        STR("}"),
        STR("{}}"),
        STR("{} x"),
        STR("{},"),
        STR("1"),
        STR("\"a\""),
        STR("null"),
        STR("{\"a\"}"),
        STR("{\"a\":}"),
        STR("{\"a\":1,}"),
        STR("{,\"a\":1}"),
        STR("{\"a\" 1}"),
        STR("{\"a\":1 \"b\":2}"),
        STR("{a:1}"),
        STR("{'a':1}"),
        STR("{1:1}"),
        STR("{\"a\":[1,]}"),
        STR("{\"a\":[,1]}"),
        STR("{\"a\":[1 2]}"),
        STR("{\"a\":[1}"),
        STR("{\"a\":{]}"),
        STR("{\"a\":[}"),
        STR("{\"a\":[1]"),
        STR("{\"a\":[[]"),
        STR("{\"a\":True}"),
        STR("{\"a\":truex}"),
        STR("{\"a\":tru}"),
        STR("{\"a\":true1}"),
        STR("{\"a\":nul"),
        STR("{\"a\":NaN}"),
        STR("{\"a\":Infinity}"),
        STR("{\"a\":-}"),
        STR("{\"a\":+1}"),
        STR("{\"a\":01}"),
        STR("{\"a\":-01}"),
        STR("{\"a\":1.}"),
        STR("{\"a\":.5}"),
        STR("{\"a\":1e}"),
        STR("{\"a\":1e+}"),
        STR("{\"a\":1.e5}"),
        STR("{\"a\":0x10}"),
        STR("{\"a\":1a}"),
        STR("{\"a\":9223372036854775808}"),
        STR("{\"a\":-9223372036854775809}"),
        STR("{\"a\":1e309}"),
        STR("{\"a\":-1e99999999999999999999}"),
        STR("{\"a\":1.7976931348623159e308}"),
        STR("{\"a\":" BIG ".0}"),
        STR("{\"a\":0.0001e313}"),
        STR("{\"a\":\"\n\"}"),
        STR("{\"a\":\"\x1f\"}"),
        STR("{\"a\":\"\t\"}"),
        STR("{\"a\":\"\0\"}"),
        STR("{\0}"),
        STR("{}\0"),
        STR("{\"a\":\"x"),
        STR("{\"a\":\"\\"),
        STR("{\"a\":\"\\\""),
        STR("{\"a\":\"\\x\"}"),
        STR("{\"a\":\"\\\0\"}"),
        STR("{\"a\":\"\\u\"}"),
        STR("{\"a\":\"\\u12\"}"),
        STR("{\"a\":\"\\u12g4\"}"),
        STR("{\"a\":\"\\ud800\"}"),
        STR("{\"a\":\"\\ud800x\"}"),
        STR("{\"a\":\"\\ud800\\n\"}"),
        STR("{\"a\":\"\\ud800\\ud800\"}"),
        STR("{\"a\":\"\\udc00\"}"),
        STR("{\"a\":\"\\ud800\\u0041\"}"),
        STR("{\"a\":\"\\ud800\\ue000\"}"),
        STR("{\"a\":\"\\ud83d\\ude0"),
        STR("{\"\\u0000\":1}"),
        STR("{\"a\\u0000\":1}"),
        STR("{\"a\":1,\"a\":2}"),
        STR("{\"a\":1,\"\\u0061\":2}"),
        STR("{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}"),
        STR("{\"x\":{\"a\":1,\"b\":2,\"c\":3,\"a\":4}}"),
        STR("{\"\":1,\"\":2}"),
        STR("{\xc2\xa0}"),
        STR("{\"a\":1}{\"b\":1}"),
        STR("\xef\xbb\xbf{}"),
        STR("{\"a\":1/2}"),
        STR("{/**/}"),
    };
    for (size_t i = 0; i < COUNT(lines); i++)
        check(lines[i], false);
}

static void refuses_an_array_and_a_nul(void **state)
{
    (void)state;
    assert_false(taken(STR("[]"), NULL));
    assert_false(taken(STR("[{\"text\":\"x\"}]"), NULL));
    assert_false(taken(STR("{\"a\":1\0}"), NULL)); /* which jansson ignores after a number */
}

static void says_what_was_asked(void **state)
{
    (void)state;
    struct json_member text = {.name = "text"};
    assert_true(taken(STR("{\"t\":[\"text\",1],\"t\\u0065xt\":\"a\\u0000\\n\\ud83d\\ude00\",\"texts\":2}"), &text));
    assert_int_equal(text.kind, MEMBER_TEXT);
    assert_true(str_equal(text.text, STR("a\0\n\xf0\x9f\x98\x80")));
    mem_free((char *)text.text.data);

    struct json_member id = {.name = "id"};
    assert_true(taken(STR("{\"x\":{\"id\":5},\"id\":-12}"), &id));
    assert_int_equal(id.kind, MEMBER_INTEGER);
    assert_int_equal(id.integer, -12);
    static const struct str others[] = {STR("{\"id\":1.0}"),    STR("{\"id\":true}"),        STR("{\"id\":[1]}"),
                                        STR("{\"id\":{}}"),     STR("{\"a\":{\"id\":1}}"),   STR("{\"i\":1}"),
                                        STR("{\"id\":null}"),   STR("{\"a\":[{\"id\":1}]}"), STR("{}"),
                                        STR("{\"id \":\"id\"}")};
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_true(taken(others[i], &id));
        assert_int_equal(id.kind, MEMBER_OTHER);
    }
}

/* A line of `depth` nested containers, with or without a value in the innermost one. */
static struct buf nested(size_t depth, const char *open, const char *value, char close)
{
    struct buf line = {0};
    buf_add_text(&line, "{\"a\":");
    for (size_t i = 1; i < depth; i++)
        buf_add_text(&line, open);
    buf_add_text(&line, value);
    for (size_t i = 1; i < depth; i++)
        buf_add_byte(&line, close);
    buf_add_byte(&line, '}');
    return line;
}

static void nests_as_deep_as_jansson(void **state)
{
    (void)state;
    static const struct {
        size_t depth;
        const char *open, *value;
        char close;
        bool expected;
    } cases[] = {{2047, "[", "1", ']', true}, {2048, "[", "", ']', true},        {2048, "[", "1", ']', false},
                 {2049, "[", "", ']', false}, {2047, "{\"a\":", "1", '}', true}, {2048, "{\"a\":", "1", '}', false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf line = nested(cases[i].depth, cases[i].open, cases[i].value, cases[i].close);
        check(buf_str(&line), cases[i].expected);
        buf_release(&line);
    }
}

/* Two equal keys among many are found at any position. */
static void finds_equal_keys(void **state)
{
    (void)state;
    for (unsigned count = 1; count < 70; count++)
        for (unsigned twin = 0; twin <= count; twin += 7) { /* twin == count: no key is equal */
            struct buf line = {0};
            for (unsigned i = 0; i < count; i++)
                buf_addf(&line, "%c\"k%u\":{\"k1\":0}", i ? ',' : '{', i * 7919 % 1000);
            buf_addf(&line, ",\"%s%u\":1}", twin < count ? "\\u006b" : "K", twin * 7919 % 1000);
            check(buf_str(&line), twin == count);
            buf_release(&line);
        }
}

/* The tree that an earlier version built from such a line took 45 times its size. */
static void many_values_take_no_memory(void **state)
{
    (void)state;
    struct json_line scratch = {0};
    struct arena arena = {0};
    struct json_member text = {.name = "text"};
    struct buf line = {0};
    buf_add_text(&line, "{\"text\":\"x\",\"a\":[");
    for (int i = 0; i < 1000000; i++)
        buf_add_text(&line, "[],");
    buf_add_text(&line, "{}]}");
    const uint64_t calls = mem_calls();
    assert_true(json_line_read(&scratch, buf_str(&line), &text, 1, &arena));
    assert_true(str_equal(text.text, STR("x")));
    assert_true(mem_calls() - calls <= 1);
    assert_true(scratch.capacity <= 64 && arena_bytes(&arena) == 0);
    buf_release(&line);
    json_line_release(&scratch);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_is_json),         cmocka_unit_test(refuses_what_is_not),
        cmocka_unit_test(refuses_an_array_and_a_nul), cmocka_unit_test(says_what_was_asked),
        cmocka_unit_test(nests_as_deep_as_jansson),   cmocka_unit_test(finds_equal_keys),
        cmocka_unit_test(many_values_take_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

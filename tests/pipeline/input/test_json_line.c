/* json_line.h: which lines are taken, compared with jansson and as Python does, and the values of members. */
#include "pipeline/input/json_line.h"

#include "pipeline/parts/page_parts.h"
#include "tests/needs_faults.h"
#include "tests/unit.h"

#include <jansson.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool taken_repaired(struct str line, struct json_member *member, uint32_t *repairs)
{
    struct json_line scratch = {0};
    struct arena arena = {0};
    struct json_member none = {.name = "none"};
    struct str text = STR("");
    *repairs = 0;
    const bool result = json_line_read(&scratch, line, member ? member : &none, 1, &arena, repairs);
    if (result && member && member->kind != MEMBER_MISSING) { /* must outlive the arena */
        text = (struct str){mem_alloc(member->text.size), member->text.size};
        memcpy((char *)text.data, member->text.data, text.size);
    }
    if (member)
        member->text = text;
    json_line_release(&scratch);
    arena_release(&arena);
    return result;
}

static bool taken(struct str line, struct json_member *member)
{
    uint32_t repairs;
    return taken_repaired(line, member, &repairs);
}

static bool jansson_takes(struct str line)
{
    json_auto_t *object = json_loadb(line.data, line.size, JSON_ALLOW_NUL, NULL);
    const bool result = json_is_object(object);
    return result;
}

static void check(struct str line, bool expected)
{
    uint32_t repairs;
    if (jansson_takes(line) != expected)
        fail_msg("jansson: %.*s", (int)line.size, line.data);
    if (taken_repaired(line, NULL, &repairs) != expected || (expected && repairs != 0))
        fail_msg("%.*s: %x", (int)line.size, line.data, repairs);
}

TEST(takes_what_is_json)
{
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

TEST(refuses_what_is_not)
{
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
        STR("{\"a\":\"x"),
        STR("{\"a\":\"\\"),
        STR("{\"a\":\"\\\""),
        STR("{\"a\":\"\\x\"}"),
        STR("{\"a\":\"\\\0\"}"),
        STR("{\"a\":\"\\u\"}"),
        STR("{\"a\":\"\\u12\"}"),
        STR("{\"a\":\"\\u12g4\"}"),
        STR("{\"a\":\"\\ud83d\\ude0"),
        STR("{\xc2\xa0}"),
        STR("{\"a\":1}{\"b\":1}"),
        STR("{\"a\":1/2}"),
        STR("{/**/}"),
    };
    for (size_t i = 0; i < COUNT(lines); i++)
        check(lines[i], false);
}

#define BIT(reason) (1u << REPAIR_##reason)

/* Beyond RFC 8259 or jansson, as in Python: taken with the text under "a", and with repairs. */
TEST(takes_what_python_writes)
{
    static const struct {
        struct str line;
        struct str text; /* data NULL: of another kind */
        uint32_t repairs;
    } cases[] = {
        {STR("{\"b\":NaN,\"a\":\"x\"}"), STR("x"), BIT(NUMBER)},
        {STR("{\"a\":\"x\",\"b\":[Infinity,-Infinity]}"), STR("x"), BIT(NUMBER)},
        {STR("{\"b\":9223372036854775808,\"a\":\"x\"}"), STR("x"), 0},
        {STR("{\"b\":-9223372036854775809,\"a\":\"x\"}"), STR("x"), 0},
        {STR("{\"b\":340282366920938463463374607431768211456,\"a\":\"x\"}"), STR("x"), 0},
        {STR("{\"b\":[1e309,-1e99999999999999999999,1e400],\"a\":\"x\"}"), STR("x"), 0},
        {STR("{\"b\":[1e309,-1e99999999999999999999],\"a\":\"x\"}"), STR("x"), 0},
        {STR("{\"a\":\"\n\x1f\t\"}"), STR("\n\x1f\t"), BIT(CHARACTER)},
        {STR("{\"a\":\"x\0y\"}"), STR("x\0y"), BIT(NUL)},
        {STR("{\0\"a\":\"x\"}\0\0"), STR("x"), BIT(NUL)},
        {STR("{\"a\":\"\\ud800\"}"), STR("\xef\xbf\xbd"), BIT(SURROGATE)},
        {STR("{\"a\":\"\\ud800x\"}"), STR("\xef\xbf\xbdx"), BIT(SURROGATE)},
        {STR("{\"a\":\"\\ud800\\n\"}"), STR("\xef\xbf\xbd\n"), BIT(SURROGATE)},
        {STR("{\"a\":\"\\ud83d\\ud83d\\ude00\"}"), STR("\xef\xbf\xbd\xf0\x9f\x98\x80"), BIT(SURROGATE)},
        {STR("{\"a\":\"\\ude00\\ud83d\"}"), STR("\xef\xbf\xbd\xef\xbf\xbd"), BIT(SURROGATE)},
        {STR("{\"a\":\"\\ud800\\u0041\"}"),
         STR("\xef\xbf\xbd"
             "A"),
         BIT(SURROGATE)},
        {STR("{\"\\ud800\":1,\"a\":\"x\"}"), STR("x"), BIT(SURROGATE)},
        {STR("{\"a\\u0000\":1,\"a\":\"x\",\"\\u0000\":2}"), STR("x"), 0},
        {STR("{\"a\":1,\"a\":\"x\"}"), STR("x"), BIT(KEY)},
        {STR("{\"a\":\"y\",\"\\u0061\":\"x\"}"), STR("x"), BIT(KEY)},
        {STR("{\"a\":\"y\",\"a\":null}"), {NULL, 0}, BIT(KEY)},
        {STR("{\"a\":{\"a\":1},\"a\":[\"a\"],\"a\":\"x\"}"), STR("x"), BIT(KEY)},
        {STR("{\"b\":1,\"b\":2,\"c\":{\"a\":1,\"a\":2},\"a\":\"x\"}"), STR("x"), 0}, /* keys nobody reads */
        {STR("\xef\xbb\xbf{\"a\":\"x\"}"), STR("x"), BIT(MARK)},
        {STR(" \xef\xbb\xbf\xef\xbb\xbf {\"a\":\"x\"}"), STR("x"), BIT(MARK)},
        {STR("{\"a\":\"x\xff\xe2\x82y\"}"), STR("x\xef\xbf\xbd\xef\xbf\xbdy"), BIT(ENCODING)},
        {STR("{\"b\xff\":1,\"a\":\"\xed\xa0\xbd\"}"), STR("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"), BIT(ENCODING)},
        {STR("{\"a\":\"\n\xff\",\"b\":NaN,\"a\":\"\\udc00\"}"), STR("\xef\xbf\xbd"),
         BIT(CHARACTER) | BIT(ENCODING) | BIT(NUMBER) | BIT(KEY) | BIT(SURROGATE)},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct json_member member = {.name = "a"};
        uint32_t repairs;
        if (!taken_repaired(cases[i].line, &member, &repairs) || repairs != cases[i].repairs ||
            (member.kind == MEMBER_TEXT) != (cases[i].text.data != NULL) ||
            (cases[i].text.data && !str_equal(member.text, cases[i].text)))
            fail_msg("case %zu: %.*s: repairs %x", i, (int)cases[i].line.size, cases[i].line.data, repairs);
        mem_free((char *)member.text.data);
    }
}

TEST(refuses_an_array_and_what_python_does)
{
    static const struct str lines[] = {STR("[]"),
                                       STR("[{\"text\":\"x\"}]"),
                                       STR("{\"a\":+Infinity}"),
                                       STR("{\"a\":-NaN}"),
                                       STR("{\"a\":nan}"),
                                       STR("{\"a\":Infinit}"),
                                       STR("{\"a\":NaNx}"),
                                       STR("{\"a\":--1}"),
                                       STR("{\xef\xbb\xbf}"),
                                       STR("\xef\xbb\xbf"),
                                       STR("\0"),
                                       STR("{\"a\":\"\\ud8\"}"),
                                       STR("{\"a\xff:1}")};
    for (size_t i = 0; i < COUNT(lines); i++)
        assert_false(taken(lines[i], NULL));
}

TEST(says_what_was_asked)
{
    struct json_member text = {.name = "text"};
    assert_true(taken(STR("{\"t\":[\"text\",1],\"t\\u0065xt\":\"a\\u0000\\n\\ud83d\\ude00\",\"texts\":2}"), &text));
    assert_int_equal(text.kind, MEMBER_TEXT);
    assert_true(str_equal(text.text, STR("a\0\n\xf0\x9f\x98\x80")));
    mem_free((char *)text.text.data);

    struct json_member id = {.name = "id"};
    assert_true(taken(STR("{\"x\":{\"id\":5},\"id\":-12}"), &id));
    assert_int_equal(id.kind, MEMBER_INTEGER);
    assert_int_equal(id.integer, -12);
    mem_free((char *)id.text.data);
    static const struct {
        struct str line;
        enum member_kind kind;
        struct str text;
    } others[] = {{STR("{\"id\": 1.0 }"), MEMBER_REAL, STR("1.0")},
                  {STR("{\"id\":1e3}"), MEMBER_REAL, STR("1e3")},
                  {STR("{\"id\":NaN}"), MEMBER_REAL, STR("NaN")},
                  {STR("{\"id\":-18446744073709551615}"), MEMBER_DIGITS, STR("-18446744073709551615")},
                  {STR("{\"id\":true}"), MEMBER_TRUE, STR("true")},
                  {STR("{\"id\":false}"), MEMBER_FALSE, STR("false")},
                  {STR("{\"id\":null}"), MEMBER_NULL, STR("null")},
                  {STR("{\"id\": [1, {\"id\":2}] }"), MEMBER_ARRAY, STR("[1, {\"id\":2}]")},
                  {STR("{\"id\":{\"id\":[]}}"), MEMBER_OBJECT, STR("{\"id\":[]}")},
                  {STR("{\"a\":{\"id\":1}}"), MEMBER_MISSING, STR("")},
                  {STR("{\"a\":[{\"id\":1}]}"), MEMBER_MISSING, STR("")},
                  {STR("{\"i\":1}"), MEMBER_MISSING, STR("")},
                  {STR("{}"), MEMBER_MISSING, STR("")},
                  {STR("{\"id \":\"id\"}"), MEMBER_MISSING, STR("")}};
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_true(taken(others[i].line, &id));
        assert_int_equal(id.kind, others[i].kind);
        assert_true(str_equal(id.text, others[i].text));
        if (id.kind != MEMBER_MISSING)
            mem_free((char *)id.text.data);
    }
}

static void note_member(void *context, const struct json_member *member)
{
    buf_addf(context, "%s=%d:%.*s;", member->name, (int)member->kind, (int)member->text.size, member->text.data);
}

TEST(lists_all_members)
{
    struct json_line scratch = {0};
    SCOPED(arena_release) struct arena arena = {0};
    SCOPED(buf_release) struct buf found = {0};
    assert_true(json_line_each(&scratch, STR("{\"\\u0061\":\"x\\n\",\"b\":{\"c\":[1]},\"a\":1e9}"), note_member, &found,
                               &arena));
    assert_string_equal(buf_text(&found), "a=1:x\n;b=9:{\"c\":[1]};a=4:1e9;");
    buf_reset(&found);
    assert_false(json_line_each(&scratch, STR("{\"a\":1,\"b\":?}"), note_member, &found, &arena));
    assert_string_equal(buf_text(&found), "a=2:1;"); /* what precedes the error */
    json_line_release(&scratch);
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

TEST(nests_at_any_depth)
{
    static const struct {
        const char *open, *value;
        char close;
    } cases[] = {{"[", "1", ']'}, {"[", "[]", ']'}, {"{\"a\":", "1", '}'}};
    for (size_t depth = 1; depth < 1000000; depth *= 10)
        for (size_t i = 0; i < COUNT(cases); i++) {
            SCOPED(buf_release) struct buf line = nested(depth, cases[i].open, cases[i].value, cases[i].close);
            assert_true(taken(buf_str(&line), NULL));
            line.size--;
            assert_false(taken(buf_str(&line), NULL));
        }
}

/* The tree that an earlier version built from such a line took 45 times its size. */
TEST(many_values_take_no_memory)
{
    struct json_line scratch = {0};
    SCOPED(arena_release) struct arena arena = {0};
    struct json_member text = {.name = "text"};
    SCOPED(buf_release) struct buf line = {0};
    buf_add_text(&line, "{\"text\":\"x\",\"a\":[");
    for (int i = 0; i < 1000000; i++)
        buf_add_text(&line, "[],");
    buf_add_text(&line, "{}]}");
    const uint64_t calls = mem_calls();
    uint32_t repairs = 0;
    assert_true(json_line_read(&scratch, buf_str(&line), &text, 1, &arena, &repairs));
    assert_true(str_equal(text.text, STR("x")));
    assert_true(mem_calls() - calls <= 1);
    assert_true(scratch.open.capacity <= 64 && arena_bytes(&arena) == 0);
    json_line_release(&scratch);
}

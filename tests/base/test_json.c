/* json.h: hostile texts whose tree would need too much memory are refused with a message. */
#include "tests/base/help.h"

#include "base/json.h"

#define LIMIT (1u << 20)

/* `unit` repeated as often as fits into the limit, in brackets. */
static struct buf filled(const char *unit)
{
    struct buf text = {0};
    buf_add_byte(&text, '[');
    while (text.size < LIMIT - 100)
        buf_add_text(&text, unit);
    buf_add_text(&text, "1]");
    return text;
}

static json_t *parse(struct str text, json_error_t *why)
{
    return json_parse(text, LIMIT, why);
}

TEST(reads_what_jansson_reads)
{
    json_error_t why;
    json_auto_t *value = parse(STR("{\"a\": [1, \"two\", {\"b\": null}]}"), &why);
    assert_int_equal(json_array_size(json_object_get(value, "a")), 3);
    static const struct str wrong[] = {
        STR(""),           STR("{"), STR("1"), STR("{\"a\":1,\"a\":2}"), STR("{} {}"), STR("[\"\\u0000\"]"),
        STR("{\"a\":tru"), {NULL, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_null(parse(wrong[i], &why));
        assert_true(why.text[0]);
    }
    assert_null(parse(STR("{\"a\": 1,\n\"b\" 2}"), &why));
    assert_int_equal(why.line, 2);
}

/* The trees of these texts would take 45, 75, 40 and 17 times the memory of the text. */
TEST(many_values_are_refused)
{
    static const char *const units[] = {"[],", "{},", "\"\",", "1,"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        json_error_t why;
        SCOPED(buf_release) struct buf text = filled(units[i]);
        assert_null(parse(buf_str(&text), &why));
        assert_non_null(strstr(why.text, "more values than fit into 8 MB"));
    }
}

/* Rows of numbers and long strings, as programs write them, are accepted up to the size limit. */
TEST(usual_files_are_taken)
{
    static const char *const units[] = {
        "{\"file\": \"seq128/train-00000-of-00064.dss\", \"samples\": 400000, \"bytes\": 268435456, \"hash\": "
        "\"2709aa165945b65c\"},\n",
        "\"a text of some words, as they stand in files of settings\",",
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        json_error_t why;
        SCOPED(buf_release) struct buf text = filled(units[i]);
        json_auto_t *value = parse(buf_str(&text), &why);
        assert_non_null(value);
    }
}

static int read_text(struct str text, json_t **out, struct error *err)
{
    assert_int_equal(file_write_all("json.tmp.json", text.data, text.size, err), 0);
    const int result = json_read("json.tmp.json", 64, ERR_INPUT, out, err);
    unlink("json.tmp.json");
    return result;
}

TEST(a_file_holds_one_object)
{
    struct error err = {0};
    json_t *object;
    assert_int_equal(read_text(STR("{\"a\": 1}\n"), &object, &err), 0);
    json_decref(object);
    assert_int_equal(read_text(STR("[1]"), &object, &err), -1);
    assert_int_equal(err.kind, ERR_INPUT);
    assert_null(object);
    assert_int_equal(read_text(STR("{\"a\": 1,}"), &object, &err), -1);
    assert_int_equal(err.kind, ERR_INPUT);
    assert_int_equal(err.offset, 9);
    assert_int_equal(
        read_text(STR("{\"a\": \"0123456789012345678901234567890123456789012345678901234567\"}"), &object, &err), -1);
    assert_int_equal(err.kind, ERR_UNSAFE);
    assert_int_equal(json_read("nowhere.json", 64, ERR_INPUT, &object, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
}

static int read_foreign(const char *text, json_t **out, struct error *err)
{
    assert_int_equal(file_write_all("json.tmp.json", text, strlen(text), err), 0);
    const int result = json_read_foreign("json.tmp.json", 4096, ERR_INPUT, out, err);
    unlink("json.tmp.json");
    return result;
}

/* Values as Python reads them, and what becomes of them here: an integer, a real, or null ('n'). */
TEST(files_of_other_programs_hold_any_number)
{
    static const struct {
        const char *text;
        char kind;
        double value;
    } cases[] = {
        {"1000000000000000019884624838656", 'r', 1e30},
        {"-1000000000000000019884624838656", 'r', -1e30},
        {"9223372036854775807", 'i', 9223372036854775807.0},
        {"9223372036854775808", 'r', 9223372036854775808.0},
        {"-9223372036854775808", 'i', -9223372036854775808.0},
        {"-9223372036854775809", 'r', -9223372036854775809.0},
        {"18446744073709551616", 'r', 18446744073709551616.0},
        {"1234567890123456789012345678901234567890", 'r', 1234567890123456789012345678901234567890.0},
        {"0", 'i', 0},
        {"-7", 'i', -7},
        {"1e30", 'r', 1e30},
        {"12345678901234567890123E-5", 'r', 12345678901234567890123E-5},
        {"12345678901234567890123.5e+2", 'r', 12345678901234567890123.5e+2},
        {"1e999", 'n', 0},
        {"-1.5e999", 'n', 0},
        {"NaN", 'n', 0},
        {"Infinity", 'n', 0},
        {"-Infinity", 'n', 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {0};
        SCOPED(buf_release) struct buf text = {0};
        json_t *object;
        buf_addf(&text, "{\"a\":%s, \"b\" : [true ,%s,{\"c\":\n%s}]}", cases[i].text, cases[i].text, cases[i].text);
        assert_int_equal(read_foreign(buf_text(&text), &object, &err), 0);
        const json_t *list = json_object_get(object, "b");
        const json_t *places[] = {json_object_get(object, "a"), json_array_get(list, 1),
                                  json_object_get(json_array_get(list, 2), "c")};
        for (size_t at = 0; at < 3; at++) {
            assert_int_equal(json_is_null(places[at]), cases[i].kind == 'n');
            assert_int_equal(json_is_real(places[at]), cases[i].kind == 'r');
            assert_true(json_number_value(places[at]) == cases[i].value);
        }
        json_decref(object);
    }
}

TEST(strings_are_left_alone)
{
    static const char *const texts[] = {
        "NaN", "-Infinity, 1e999", "99999999999999999999", "a \" NaN, 99999999999999999999", "\\", "end \\\" Infinity"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct error err = {0};
        SCOPED(buf_release) struct buf text = {0};
        json_t *object;
        buf_add_text(&text, "{");
        buf_add_json(&text, str_of(texts[i]));
        buf_add_text(&text, ":NaN,\"b\":");
        buf_add_json(&text, str_of(texts[i]));
        buf_add_text(&text, "}");
        assert_int_equal(read_foreign(buf_text(&text), &object, &err), 0);
        assert_true(json_is_null(json_object_get(object, texts[i])));
        assert_string_equal(json_string_value(json_object_get(object, "b")), texts[i]);
        json_decref(object);
    }
}

/* What Python does not read either stays an error, at its place in the file; our own files have none of this. */
TEST(other_words_are_refused)
{
    struct error err = {0};
    json_t *object;
    static const char *const wrong[] = {
        "{\"a\": -NaN}",   "{\"a\": nan}",  "{\"a\": NaNs}", "{NaN: 1}",           "{\"a\": 1e999x}",
        "{\"a\": 1.e999}", "{\"a\": 0123}", "{\"a\": 1e}",   "{\"a\": +Infinity}", "{\"a\": 1, \"a\": NaN}",
        "{\"a\": NaN",     "{\"a\": \"NaN", "[NaN]",         "{\"a\": \"\\"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(read_foreign(wrong[i], &object, &err), -1);
        assert_null(object);
    }
    assert_int_equal(read_foreign("{\"a\": NaN, \"b\": 99999999999999999999, \"c\" 1}", &object, &err), -1);
    assert_int_equal(err.offset, 43); /* after the value that should not be there */
    static const char *const foreign[] = {"{\"a\": NaN}", "{\"a\": 9223372036854775808}"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        assert_int_equal(read_text(str_of(foreign[i]), &object, &err), -1);
}

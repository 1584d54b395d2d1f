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

static void reads_what_jansson_reads(void **state)
{
    (void)state;
    json_error_t why;
    json_t *value = parse(STR("{\"a\": [1, \"two\", {\"b\": null}]}"), &why);
    assert_int_equal(json_array_size(json_object_get(value, "a")), 3);
    json_decref(value);
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
static void many_values_are_refused(void **state)
{
    (void)state;
    static const char *const units[] = {"[],", "{},", "\"\",", "1,"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        json_error_t why;
        struct buf text = filled(units[i]);
        assert_null(parse(buf_str(&text), &why));
        assert_non_null(strstr(why.text, "more values than fit into 8 MB"));
        buf_release(&text);
    }
}

/* Rows of numbers and long strings, as programs write them, are accepted up to the size limit. */
static void usual_files_are_taken(void **state)
{
    (void)state;
    static const char *const units[] = {
        "{\"file\": \"seq128/train-00000-of-00064.dss\", \"samples\": 400000, \"bytes\": 268435456, \"hash\": "
        "\"2709aa165945b65c\"},\n",
        "\"a text of some words, as they stand in files of settings\",",
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        json_error_t why;
        struct buf text = filled(units[i]);
        json_t *value = parse(buf_str(&text), &why);
        assert_non_null(value);
        json_decref(value);
        buf_release(&text);
    }
}

static int read_text(struct str text, json_t **out, struct error *err)
{
    assert_int_equal(file_write_all("json.tmp.json", text.data, text.size, err), 0);
    const int result = json_read("json.tmp.json", 64, ERR_INPUT, out, err);
    unlink("json.tmp.json");
    return result;
}

static void a_file_holds_one_object(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_jansson_reads),
        cmocka_unit_test(many_values_are_refused),
        cmocka_unit_test(usual_files_are_taken),
        cmocka_unit_test(a_file_holds_one_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

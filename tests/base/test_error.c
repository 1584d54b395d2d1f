/* An error states what happened, where, and what to do about it; it has one message and one exit code. */
#include "tests/base/help.h"

#include "base/error.h"

#include <errno.h>
#include <jansson.h>

static int step(int bad, struct error *err)
{
    return bad ? (fail)(err, ERR_INPUT, "step %d", bad) : 0;
}

static int caller(int bad, struct error *err)
{
    TRY(step(bad, err));
    return 7;
}

TEST(fail_fills_and_TRY_passes_on)
{
    struct error err;
    memset(&err, 'x', sizeof(err));
    assert_int_equal(caller(0, &err), 7);
    assert_int_equal(caller(3, &err), -1);
    assert_int_equal(err.kind, ERR_INPUT);
    assert_string_equal(err.text, "step 3");
    assert_string_equal(err.file, "");
    assert_string_equal(err.hint, "");
    assert_true(err.offset == ERROR_NO_OFFSET);
    assert_null(memchr(&err, 'x', sizeof(err))); /* no byte of the stack is sent to another process */
    assert_int_equal(fail_at(&err, ERR_VERIFY, "a.dss", 0, "bad"), -1);
    assert_true(err.offset == 0);
    assert_string_equal(err.file, "a.dss");
    assert_int_equal(hint(&err, "do %s", "this"), -1);
    assert_string_equal(err.hint, "do this");
    assert_string_equal(err.text, "bad");
}

TEST(errno_gives_kind_and_reason)
{
    static const struct {
        int number;
        enum error_kind kind;
    } cases[] = {{ENOENT, ERR_USAGE}, {EACCES, ERR_USAGE},    {EPERM, ERR_USAGE},     {ENOTDIR, ERR_USAGE},
                 {EISDIR, ERR_USAGE}, {EROFS, ERR_USAGE},     {ELOOP, ERR_USAGE},     {ENAMETOOLONG, ERR_USAGE},
                 {EIO, ERR_RESOURCE}, {ENOSPC, ERR_RESOURCE}, {ENOMEM, ERR_RESOURCE}, {EMFILE, ERR_RESOURCE}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct error err;
        errno = cases[i].number;
        assert_int_equal(fail_errno(&err, "f", "cannot %s", "go"), -1);
        assert_int_equal(err.kind, cases[i].kind);
        assert_non_null(strstr(err.text, "cannot go: "));
        assert_non_null(strstr(err.text, strerror(cases[i].number)));
    }
}

TEST(long_texts_are_cut)
{
    struct error err;
    char text[2000];
    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 1] = 0;
    errno = EIO;
    fail_errno(&err, text, "%s", text);
    hint(&err, "%s", text);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_int_equal(strlen(err.file), sizeof(err.file) - 1);
    assert_int_equal(strlen(err.hint), sizeof(err.hint) - 1);
}

static void print_plain(void *argument)
{
    _exit(error_print(argument, "dsdata", 0));
}

static void print_json(void *argument)
{
    _exit(error_print(argument, "dsdata", 1));
}

TEST(a_message_has_file_byte_and_hint)
{
    struct error err;
    struct outcome seen;
    fail_at(&err, ERR_INPUT, "d\n\033[2Jump.bz2", 7, "block CRC does not match");
    hint(&err, "fetch it again");
    in_child(print_plain, &err, &seen);
    assert_int_equal(seen.code, 3);
    assert_string_equal(seen.out, "");
    assert_string_equal(seen.err, "dsdata: d??[2Jump.bz2: byte 7: block CRC does not match\n  fetch it again\n");
    fail_at(&err, ERR_VERIFY, "a.dss", 0, "bad");
    in_child(print_plain, &err, &seen);
    assert_string_equal(seen.err, "dsdata: a.dss: byte 0: bad\n");
    (fail)(&err, ERR_STOPPED, "stopped");
    in_child(print_plain, &err, &seen);
    assert_int_equal(seen.code, 75);
    assert_string_equal(seen.err, "dsdata: stopped\n");
}

TEST(json_is_one_object_on_stdout)
{
    struct error err;
    struct outcome seen;
    fail_at(&err, ERR_VERIFY, "a\"b\xff", 1ull << 40, "damaged");
    in_child(print_json, &err, &seen);
    assert_int_equal(seen.code, 4);
    assert_string_equal(seen.err, "");
    json_auto_t *object = json_loads(seen.out, 0, NULL);
    assert_non_null(object);
    assert_int_equal(json_object_size(object), 5);
    assert_string_equal(json_string_value(json_object_get(object, "error")), "damaged");
    assert_string_equal(json_string_value(json_object_get(object, "file")), "a\"b?");
    assert_true(json_integer_value(json_object_get(object, "offset")) == 1ll << 40);
    assert_true(json_is_null(json_object_get(object, "hint")));
    assert_int_equal(json_integer_value(json_object_get(object, "exit")), 4);
    (fail)(&err, ERR_USAGE, "what");
    in_child(print_json, &err, &seen);
    assert_string_equal(seen.out, "{\"error\":\"what\",\"file\":null,\"offset\":null,\"hint\":null,\"exit\":2}\n");
}

static void dies(void *argument)
{
    (void)argument;
    die(ERR_NUMERIC, "loss is %s", "NaN");
}

TEST(die_says_why_and_leaves)
{
    struct outcome seen;
    in_child(dies, NULL, &seen);
    assert_int_equal(seen.code, 8);
    assert_non_null(strstr(seen.err, ": loss is NaN\n"));
}

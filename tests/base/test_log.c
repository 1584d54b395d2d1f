/* Log lines on stderr, and untrusted text made harmless for terminals. */
#include "tests/base/help.h"

#include "base/log.h"

#include <jansson.h>

struct mode {
    enum log_level level;
    bool json;
};

static void talk(void *argument)
{
    const struct mode *mode = argument;
    log_open("prog", mode->level, mode->json);
    log_say("said %d", 1);
    log_detail("detail");
    log_warn("warn \"%s\"", "\xff\n");
}

TEST(levels_choose_lines)
{
    static const struct {
        struct mode mode;
        const char *err;
    } cases[] = {
        {{LOG_QUIET, false}, "warning: warn \"??\"\n"},
        {{LOG_NORMAL, false}, "said 1\nwarning: warn \"??\"\n"},
        {{LOG_VERBOSE, false}, "said 1\ndetail\nwarning: warn \"??\"\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct outcome seen;
        struct mode mode = cases[i].mode;
        in_child(talk, &mode, &seen);
        assert_string_equal(seen.out, "");
        assert_string_equal(seen.err, cases[i].err);
    }
}

TEST(json_lines_are_objects)
{
    struct outcome seen;
    struct mode mode = {LOG_VERBOSE, true};
    static const char *const levels[] = {"info", "detail", "warning"}, *const texts[] = {"said 1", "detail",
                                                                                         "warn \"??\""};
    size_t count = 0;
    in_child(talk, &mode, &seen);
    for (char *line = strtok(seen.err, "\n"); line; line = strtok(NULL, "\n"), count++) {
        json_auto_t *object = json_loads(line, 0, NULL);
        assert_non_null(object);
        assert_string_equal(json_string_value(json_object_get(object, "level")), levels[count]);
        assert_string_equal(json_string_value(json_object_get(object, "text")), texts[count]);
    }
    assert_int_equal(count, 3);
}

TEST(names_from_outside_are_made_safe)
{
    static const struct {
        const char *text, *safe;
    } cases[] = {
        {"", ""},
        {"caf\xC3\xA9 \xF0\x9F\x98\x80", "caf\xC3\xA9 \xF0\x9F\x98\x80"},
        {"a\033[2Jb\r\n\t\x7F", "a?[2Jb????"},
        {"\xC2\x9B"
         "31m",
         "?31m"}, /* C1: a CSI of one character */
        {"a\xE2\x80\xAE"
         "b\xE2\x81\xA6"
         "c",
         "a?b?c"},                                   /* RLO, LRI */
        {"\xD8\x9C\xE2\x80\x8F\xE2\x80\xA8", "???"}, /* ALM, RLM, line separator */
        {"\xFF\xC3", "??"},
        {"\xE2\x82", "?"},
    };
    char out[64];
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(log_safe(cases[i].text, out, sizeof(out)), cases[i].safe);
    assert_string_equal(log_safe("ab\xC3\xA9", out, 4), "ab"); /* never half a character */
    assert_string_equal(log_safe("ab\xC3\xA9", out, 5), "ab\xC3\xA9");
    assert_string_equal(log_safe("abc", out, 1), "");
    out[0] = 'x';
    log_safe("abc", out, 0);
    assert_int_equal(out[0], 'x');
}

static void a_file_has_no_colours(void *argument)
{
    (void)argument;
    _exit(log_colours() || log_terminal() ? 1 : 0);
}

TEST(only_terminals_have_colours)
{
    struct outcome seen;
    in_child(a_file_has_no_colours, NULL, &seen);
    assert_int_equal(seen.code, 0);
}

/* Output on stdout is harmless for terminals, and printed commands are quoted for the shell. */
#include "tests/base/help.h"

#include "base/output.h"

#include <string.h>

static void talk(void *argument)
{
    (void)argument;
    output_line("a\033[2J %s", "b\xE2\x80\xAE\n\xFF");
    output_json(json_pack("{s:o, s:s}", "name", json_name("x\xFF\xC2\x9B"), "text", "caf\xC3\xA9\x7F"), JSON_COMPACT);
}

static void what_could_harm_is_replaced_or_escaped(void **state)
{
    (void)state;
    struct outcome seen;
    in_child(talk, NULL, &seen);
    assert_string_equal(seen.out, "a?[2J b???\n"
                                  "{\"name\":\"x??\",\"text\":\"caf\xC3\xA9\\u007f\"}\n");
}

static void a_shell_reads_the_words_back(void **state)
{
    (void)state;
    static const char *const words[] = {
        "plain-1.5_/+,:@%=", "",         "two words",   "it's", "$(x) `y` \"z\" \\ *", "caf\xC3\xA9",
        "a\nb\t'\\c\033",    "\xFF\xC3", "\xE2\x80\xAE"};
    for (size_t i = 0; i < COUNT(words); i++) {
        char *command = command_of("printf", "%s", words[i], NULL), back[64] = "";
        assert_false(strpbrk(command, "\n\033\xFF") != NULL);
        setenv("COMMAND", command, 1);
        FILE *shell = popen("exec bash -c 'eval \"$COMMAND\"'", "r");
        assert_non_null(shell);
        back[fread(back, 1, sizeof back - 1, shell)] = '\0';
        assert_int_equal(pclose(shell), 0);
        assert_string_equal(back, words[i]);
        mem_free(command);
    }
    char *command = command_of("dsdata", "show", "enwiki", "my wiki", NULL);
    assert_string_equal(command, "dsdata show enwiki 'my wiki'");
    mem_free(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_could_harm_is_replaced_or_escaped),
        cmocka_unit_test(a_shell_reads_the_words_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

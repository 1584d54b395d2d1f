/* Output on stdout is harmless for terminals, and printed commands are quoted for the shell. */
#include "tests/base/help.h"

#include "base/output.h"

static void talk(void *argument)
{
    (void)argument;
    output_line("a\033[2J %s", "b\xE2\x80\xAE\n\xFF");
    output_json(json_pack("{s:o, s:s}", "name", json_name("x\xFF\xC2\x9B"), "text", "caf\xC3\xA9\x7F"), JSON_COMPACT);
}

TEST(what_could_harm_is_replaced_or_escaped)
{
    struct outcome seen;
    in_child(talk, NULL, &seen);
    assert_string_equal(seen.out, "a?[2J b???\n"
                                  "{\"name\":\"x??\",\"text\":\"caf\xC3\xA9\\u007f\"}\n");
}

TEST(a_shell_reads_the_words_back)
{
    static const char *const words[] = {
        "plain-1.5_/+,:@%=", "",         "two words",   "it's", "$(x) `y` \"z\" \\ *", "caf\xC3\xA9",
        "a\nb\t'\\c\033",    "\xFF\xC3", "\xE2\x80\xAE"};
    for (size_t i = 0; i < COUNT(words); i++) {
        SCOPED(buf_release) struct buf command = {0};
        char back[64] = "";
        buf_add_text(&command, "printf %s");
        command_add(&command, words[i]);
        assert_false(strpbrk(buf_text(&command), "\n\033\xFF") != NULL);
        setenv("COMMAND", buf_text(&command), 1);
        FILE *shell = popen("exec bash -c 'eval \"$COMMAND\"'", "r");
        assert_non_null(shell);
        back[fread(back, 1, sizeof back - 1, shell)] = '\0';
        assert_int_equal(pclose(shell), 0);
        assert_string_equal(back, words[i]);
    }
    SCOPED(mem_free_at) char *command = command_text("dsdata show %s %s", "enwiki", "my wiki");
    assert_string_equal(command, "dsdata show enwiki 'my wiki'");
}

TEST(names_in_hints_are_words_of_the_shell)
{
    struct error err = {0};
    char long_name[600];
    assert_int_equal(hint_command(&err, "type: dsdata show %s --sample 0", "e $(touch x) 'q"), -1);
    assert_string_equal(err.hint, "type: dsdata show 'e $(touch x) '\\''q' --sample 0");
    hint_command(&err, "scripts/x.py %s %s.out", "-m", "a b");
    assert_string_equal(err.hint, "scripts/x.py ./-m 'a b'.out");
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    hint_command(&err, "dsdata verify %s names it", long_name); /* cut off it would name another file */
    assert_string_equal(err.hint, "dsdata verify FILE names it");
}

TEST(values_cannot_become_options)
{
    SCOPED(buf_release) struct buf command = {0};
    command_option(&command, "text-key", "-k");
    command_option(&command, "id-key", "my id");
    command_option(&command, "cased", NULL);
    command_path(&command, "-");
    command_path(&command, "--out");
    assert_string_equal(buf_text(&command), "--text-key=-k --id-key 'my id' --cased - ./--out");
}

#include "trainer/run/rerun.h"

#include "base/output.h"

/* The number of words of a command at `at` that are this option; 0: it is another word. */
static size_t words_of(const json_t *command, size_t at, const char *name, bool has_value)
{
    const char *word = json_string_value(json_array_get(command, at));
    const size_t length = strlen(name);
    if (!word || strncmp(word, "--", 2) != 0 || strncmp(word + 2, name, length) != 0)
        return 0;
    if (word[2 + length] == '\0')
        return has_value ? 2 : 1;
    return has_value && word[2 + length] == '=' ? 1 : 0;
}

/* The number of words at `at` that the changed command does not have: those of `options`, which replace them, and of
 * options that belong to one start only. */
static size_t words_dropped(const json_t *command, size_t at, const struct rerun_option options[RERUN_OPTIONS_MAX])
{
    static const struct rerun_option starts[] = {{"fresh", NULL}, {"skip-damaged", NULL}, {"stop-after", ""}};
    size_t dropped = 0;
    for (size_t i = 0; i < sizeof starts / sizeof *starts && dropped == 0; i++)
        dropped = words_of(command, at, starts[i].name, starts[i].value != NULL);
    for (size_t i = 0; i < RERUN_OPTIONS_MAX && options[i].name && dropped == 0; i++) {
        dropped = words_of(command, at, options[i].name, options[i].value != NULL);
        if (dropped == 0 && strcmp(options[i].name, "steps") == 0)
            dropped = words_of(command, at, "epochs", true);
    }
    return dropped;
}

/* The recorded words without those that are dropped; false: none are recorded. */
static bool add_words(const json_t *record, const struct rerun_option options[RERUN_OPTIONS_MAX], struct buf *command)
{
    const json_t *starts = json_object_get(record, "starts");
    const size_t count = json_array_size(starts);
    const json_t *before = json_object_get(json_array_get(starts, count > 0 ? count - 1 : 0), "command");
    if (json_array_size(before) < 2)
        return false;
    command_add(command, "dstrain");
    for (size_t at = 1; at < json_array_size(before);) {
        const size_t dropped = words_dropped(before, at, options);
        const char *word = json_string_value(json_array_get(before, at));
        if (dropped == 0 && word)
            command_add(command, word);
        at += dropped > 0 ? dropped : 1;
    }
    return true;
}

char *rerun_command(const json_t *record, const struct rerun_option options[RERUN_OPTIONS_MAX])
{
    struct buf command = {0};
    if (!add_words(record, options, &command))
        return NULL;
    for (size_t i = 0; i < RERUN_OPTIONS_MAX && options[i].name; i++)
        command_option(&command, options[i].name, options[i].value);
    command_option(&command, "fresh", NULL);
    buf_text(&command);
    return command.data;
}

char *rerun_continue(const json_t *record)
{
    static const struct rerun_option none[RERUN_OPTIONS_MAX];
    struct buf command = {0};
    if (!add_words(record, none, &command))
        return NULL;
    buf_text(&command);
    return command.data;
}

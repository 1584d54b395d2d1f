/* Makes a command line of the options given, for another verb or with other values. */
#include "base/opts_rows.h"

#include "base/output.h"

#define PATHS_MAX 24 /* inputs of a printed command; more become FILE... */

/* `name` goes before the first, or before each of them. */
static void add_paths(const char *name, bool each, const struct opt_paths *paths, struct buf *out)
{
    const bool all = paths->count <= PATHS_MAX;
    for (size_t i = 0; i < (all ? paths->count : 1); i++) {
        if (name && (i == 0 || each))
            command_option(out, name, NULL);
        command_path(out, all ? paths->items[i] : "FILE...");
    }
}

static void add_option(const struct opt_row *row, const void *field, struct buf *out)
{
    struct buf text = {0};
    if (row->type == OPT_TEXT)
        buf_add_text(&text, *(const char *const *)field);
    else if (row->type != OPT_FLAG)
        opt_value_text(row, field, &text);
    command_option(out, row->name, row->type == OPT_FLAG ? NULL : buf_text(&text));
    buf_release(&text);
}

void opts_command(const struct opt_program *program, const struct opt_result *result, const void *settings,
                  const char *verb, const char *leave, struct buf *out)
{
    static const char never[] = " quiet verbose json force ";
    command_add(out, program->name);
    if (!program->default_verb || strcmp(verb, program->default_verb) != 0)
        command_add(out, verb);
    add_paths(NULL, false, &result->bare, out);
    for (const struct opt_row *row = program->rows; row->name; row++) {
        const size_t i = (size_t)(row - program->rows);
        const bool given = result->given[i / 64] >> i % 64 & 1;
        if (!given || !opt_verb_takes(program, verb, row->name) || opt_listed(never, str_of(row->name)) ||
            opt_listed(leave, str_of(row->name)))
            continue;
        if (row->type == OPT_PATHS)
            add_paths(row->name, row->each, opt_field(row, settings), out);
        else
            add_option(row, opt_field(row, settings), out);
    }
}

/* The text of --help, aligned and wrapped at 100 columns. */
#include "base/opts_rows.h"
#include "base/mem.h"

#include <assert.h>

#define COLUMNS     100
#define LEFT_MAX    26 /* longer left sides get a line of their own */
#define VERB_INDENT 2

/* The width of the text in columns: one per character. */
static size_t width_of(struct str text)
{
    size_t width = 0;
    for (size_t i = 0; i < text.size; i++)
        width += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    return width;
}

/* Adds the words of text, starting at `column`; further lines are indented by `indent`. Ends the line. */
static void add_wrapped(struct buf *out, size_t column, size_t indent, const char *text)
{
    bool first = true;
    while (*text) {
        const size_t size = strcspn(text, " ");
        const size_t width = width_of((struct str){text, size});
        if (!first && column + 1 + width > COLUMNS) {
            buf_addf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            buf_add_byte(out, ' ');
            column++;
        }
        buf_add(out, text, size);
        column += width;
        first = false;
        text += size;
        text += strspn(text, " ");
    }
    buf_add_byte(out, '\n');
}

/* "  left  right", with right from column `indent` on. */
static void add_entry(struct buf *out, struct str left, size_t indent, const char *right)
{
    size_t column = width_of(left);
    buf_add_str(out, left);
    if (column + 2 > indent) {
        buf_add_byte(out, '\n');
        column = 0;
    }
    buf_addf(out, "%*s", (int)(indent - column), "");
    add_wrapped(out, indent, indent, right);
}

void opt_value_name(const struct opt_row *row, struct buf *out)
{
    if (row->type == OPT_FLAG)
        return;
    assert(row->value || row->choices || row->choice);
    buf_add_byte(out, ' ');
    if (row->value)
        buf_add_text(out, row->value);
    else
        opt_add_choices(row, "|", out);
    if (row->type == OPT_PATHS && !row->each && !strstr(row->value, "..."))
        buf_add_text(out, "...");
}

static void add_left(const struct opt_row *row, struct buf *out)
{
    if (row->letter)
        buf_addf(out, "  -%c, --%s", row->letter, row->name);
    else
        buf_addf(out, "      --%s", row->name);
    opt_value_name(row, out);
}

/* " adam: as AdamW; lamb: as in DeepSpeed.", if the table explains its choices. */
static void add_choices_help(const struct opt_row *row, struct buf *out)
{
    const char *between = " ";
    for (size_t i = 0; row->choice && row->choice(i).name; i++)
        if (row->choice(i).help) {
            buf_addf(out, "%s%s: %s", between, row->choice(i).name, row->choice(i).help);
            between = "; ";
        }
    if (between[0] == ';')
        buf_add_byte(out, '.');
}

void opt_help_text(const struct opt_row *row, struct buf *out)
{
    const char *value = row->default_help ? row->default_help : row->default_text;
    buf_add_text(out, row->help);
    if (row->value && (row->choice || (row->choices && strcmp(row->value, row->choices) != 0))) {
        const bool sentence = out->size > 0 && out->data[out->size - 1] == '.';
        out->size -= sentence; /* the list goes before the full stop */
        buf_add_text(out, ": ");
        opt_add_choices(row, ", ", out);
        buf_add_text(out, sentence ? "." : "");
    }
    add_choices_help(row, out);
    if (value)
        buf_addf(out, " [default: %s]", value[0] ? value : "none");
}

static size_t left_column(const struct opt_program *program, const struct opt_verb *verb)
{
    size_t column = 0;
    SCOPED(buf_release) struct buf left = {0};
    for (const struct opt_row *row = program->rows; row->name; row++) {
        if (!opt_row_is_for(row, verb))
            continue;
        buf_reset(&left);
        add_left(row, &left);
        const size_t width = width_of(buf_str(&left));
        if (width > column && width <= LEFT_MAX)
            column = width;
    }
    return column + 2;
}

static void add_options(const struct opt_program *program, const struct opt_verb *verb, struct buf *out)
{
    const size_t column = left_column(program, verb);
    SCOPED(buf_release) struct buf left = {0}, right = {0};
    for (const struct opt_row *row = program->rows; row->name; row++) {
        if (!opt_row_is_for(row, verb))
            continue;
        buf_reset(&left);
        buf_reset(&right);
        add_left(row, &left);
        opt_help_text(row, &right);
        add_entry(out, buf_str(&left), column, buf_text(&right));
    }
    add_entry(out, STR("  -h, --help"), column, "Show this help.");
}

static void add_verbs(const struct opt_program *program, struct buf *out)
{
    size_t column = 0;
    SCOPED(buf_release) struct buf left = {0};
    for (const struct opt_verb *verb = program->verbs; verb->name; verb++)
        if (strlen(verb->name) > column)
            column = strlen(verb->name);
    for (const struct opt_verb *verb = program->verbs; verb->name; verb++) {
        buf_reset(&left);
        buf_addf(&left, "%*s%s", VERB_INDENT, "", verb->name);
        add_entry(out, buf_str(&left), column + VERB_INDENT + 2, verb->help);
    }
}

static const struct opt_verb *default_verb(const struct opt_program *program)
{
    for (const struct opt_verb *verb = program->verbs; verb->name; verb++)
        if (program->default_verb && strcmp(verb->name, program->default_verb) == 0)
            return verb;
    return NULL;
}

void opt_help_verb(const struct opt_program *program, const struct opt_verb *verb, struct buf *out)
{
    const bool has_arguments = verb->arguments && verb->arguments[0];
    buf_addf(out, "usage: %s %s [options]%s%s\n\n", program->name, verb->name, has_arguments ? " " : "",
             has_arguments ? verb->arguments : "");
    add_wrapped(out, 0, 0, verb->help);
    buf_add_text(out, "\noptions:\n");
    add_options(program, verb, out);
    if (verb->example)
        buf_addf(out, "\nexample:\n  %s\n", verb->example);
}

void opt_help_program(const struct opt_program *program, bool in_short, struct buf *out)
{
    const struct opt_verb *verb = default_verb(program);
    const char *name = program->name;
    buf_addf(out, "usage: %s %s [options] [arguments]\n\n", name, verb ? "[VERB]" : "VERB");
    add_wrapped(out, 0, 0, program->summary);
    buf_add_text(out, "\nverbs:\n");
    add_verbs(program, out);
    if (verb && !in_short) {
        buf_addf(out, "\noptions of %s, the verb that may be left out:\n", verb->name);
        add_options(program, verb, out);
    }
    buf_addf(out, "\n%s VERB --help shows the options of a verb; %s --version shows what was built.\n", name, name);
}

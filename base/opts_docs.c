/* The man page, in roff. */
#include "base/mem.h"
#include "base/opts_rows.h"

/* Text in roff: a '-' that users copy is "\-", and no line of text starts with a control character. */
static void add_roff(struct buf *out, struct str text)
{
    if (text.size && (text.data[0] == '.' || text.data[0] == '\''))
        buf_add_text(out, "\\&");
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '\\')
            buf_add_text(out, "\\e");
        else if (text.data[i] == '-')
            buf_add_text(out, "\\-");
        else
            buf_add_byte(out, text.data[i]);
    }
}

static void add_roff_text(struct buf *out, const char *text)
{
    add_roff(out, str_of(text));
}

static void add_upper(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_add_byte(out, *text >= 'a' && *text <= 'z' ? (char)(*text - 'a' + 'A') : *text);
}

static void man_row(const struct opt_row *row, struct buf *out)
{
    SCOPED(buf_release) struct buf text = {0};
    opt_value_name(row, &text);
    buf_add_text(out, ".TP\n.B \\-\\-");
    add_roff_text(out, row->name);
    add_roff(out, buf_str(&text));
    buf_add_byte(out, '\n');
    if (row->letter)
        buf_addf(out, "(\\-%c) ", row->letter);
    buf_reset(&text);
    opt_help_text(row, &text);
    add_roff(out, buf_str(&text));
    buf_add_byte(out, '\n');
}

static void man_verb(const struct opt_program *program, const struct opt_verb *verb, struct buf *out)
{
    buf_add_text(out, ".SS ");
    add_roff_text(out, verb->name);
    buf_add_byte(out, '\n');
    add_roff_text(out, verb->help);
    buf_add_byte(out, '\n');
    for (const struct opt_row *row = program->rows; row->name; row++)
        if (opt_row_is_for(row, verb))
            man_row(row, out);
}

static void man_exit_codes(struct buf *out)
{
    static const struct {
        enum error_kind kind;
        const char *text;
    } codes[] = {
        {ERR_NONE, "done"},
        {ERR_BUG, "a bug in this program"},
        {ERR_USAGE, "usage or configuration; a named path is missing, unreadable or unwritable"},
        {ERR_INPUT, "the input is damaged, empty or not recognised"},
        {ERR_VERIFY, "verification failed: a damaged or truncated shard or checkpoint"},
        {ERR_MISMATCH, "a mismatch: other options, vocabulary, shards, model or version"},
        {ERR_UNSAFE, "an unsafe or unsupported file"},
        {ERR_RESOURCE, "out of disk or memory, or input or output failed"},
        {ERR_NUMERIC, "numerical failure in training"},
        {ERR_PEER, "another process was lost"},
        {ERR_LOCKED, "another process holds the directory"},
        {ERR_STOPPED, "stopped on request; the same command continues from there"},
    };
    buf_add_text(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        buf_addf(out, ".TP\n.B %d\n%s\n", codes[i].kind, codes[i].text);
}

static void man_examples(const struct opt_program *program, struct buf *out)
{
    buf_add_text(out, ".SH EXAMPLES\n");
    for (const struct opt_verb *verb = program->verbs; verb->name; verb++) {
        if (!verb->example)
            continue;
        buf_add_text(out, ".PP\n");
        add_roff_text(out, verb->help);
        buf_add_text(out, "\n.PP\n.EX\n");
        add_roff_text(out, verb->example);
        buf_add_text(out, "\n.EE\n");
    }
}

static void man_notes(const struct opt_note *notes, struct buf *out)
{
    for (; notes && notes->name; notes++) {
        buf_add_text(out, ".TP\n.B ");
        add_roff_text(out, notes->name);
        buf_add_byte(out, '\n');
        add_roff_text(out, notes->text);
        buf_add_byte(out, '\n');
    }
}

void opts_man_page(const struct opt_program *program, struct buf *out)
{
    buf_add_text(out, ".TH ");
    add_upper(out, program->name);
    buf_add_text(out, " 1\n.SH NAME\n");
    add_roff_text(out, program->name);
    buf_add_text(out, " \\- ");
    add_roff_text(out, program->summary);
    buf_add_text(out, "\n.SH SYNOPSIS\n");
    for (const struct opt_verb *verb = program->verbs; verb->name; verb++) {
        buf_add_text(out, ".B ");
        add_roff_text(out, program->name);
        buf_add_byte(out, ' ');
        add_roff_text(out, verb->name);
        buf_add_text(out, "\n[options] ");
        add_roff_text(out, verb->arguments ? verb->arguments : "");
        buf_add_text(out, "\n.br\n");
    }
    buf_add_text(out, ".SH VERBS\n");
    for (const struct opt_verb *verb = program->verbs; verb->name; verb++)
        man_verb(program, verb, out);
    static const struct opt_note everywhere[] = {
        {"NO_COLOR", "Set and not empty: no colours on a terminal."},
        {.name = NULL},
    };
    man_examples(program, out);
    buf_add_text(out, program->files ? ".SH FILES\n" : "");
    man_notes(program->files, out);
    buf_add_text(out, ".SH ENVIRONMENT\n");
    man_notes(everywhere, out);
    man_notes(program->environment, out);
    man_exit_codes(out);
    if (program->see_also)
        buf_addf(out, ".SH SEE ALSO\n%s\n", program->see_also);
}

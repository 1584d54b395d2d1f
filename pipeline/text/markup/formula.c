/* Converts simple TeX formulas, as in <math>, to letters and signs, in one pass. What a brace belongs to (a fraction,
 * an accent) waits on a short stack. */
#include "pipeline/text/markup/formula.h"

#include "pipeline/text/words/word_lists.h"

#define DEPTH_MAX 8u

/* An open brace, and its effect when it closes. */
enum group_kind { GROUP_PLAIN, GROUP_ABOVE, GROUP_BELOW, GROUP_ROOT, GROUP_ACCENT };

struct group {
    enum group_kind kind;
    const char *accent;
    size_t from; /* start in the output */
};

struct reader {
    struct str tex;
    size_t at;
    struct buf *out;
    size_t start;
    struct group groups[DEPTH_MAX];
    size_t depth;
    struct group next; /* what the next brace opens */
    bool name_before;  /* a word like "sin" was shown last */
};

static const struct formula_command *find_command(struct str name)
{
    const size_t row = row_find(&formula_commands->name, formula_command_count, sizeof *formula_commands, name);
    return row < formula_command_count ? &formula_commands[row] : NULL;
}

static void add_blank(struct reader *r)
{
    if (r->out->size > r->start && !strchr(" (", r->out->data[r->out->size - 1]))
        buf_add_byte(r->out, ' ');
}

static void add(struct reader *r, struct str shown)
{
    if (r->name_before && ascii_is_letter(shown.data[0]))
        add_blank(r);
    if (shown.data[0] == ')' && r->out->size > r->start && r->out->data[r->out->size - 1] == ' ')
        r->out->size--;
    r->name_before = false;
    buf_add_str(r->out, shown);
}

/* True for one letter, number or word, which needs no brackets beside a slash. */
static bool is_single(struct str shown)
{
    for (size_t i = 0; i < shown.size; i++)
        if ((unsigned char)shown.data[i] < 0x80 && !ascii_is_letter(shown.data[i]) && !ascii_is_digit(shown.data[i]) &&
            shown.data[i] != '.')
            return false;
    return true;
}

/* Puts brackets around the output since `from` if it needs them. */
static void bracket(struct reader *r, size_t from)
{
    const size_t size = r->out->size - from;
    const char *shown = r->out->data + from;
    if (is_single((struct str){shown, size}) || (shown[0] == '(' && shown[size - 1] == ')'))
        return;
    buf_add(r->out, "  ", 2);
    memmove(r->out->data + from + 1, r->out->data + from, size);
    r->out->data[from] = '(';
    r->out->data[from + size + 1] = ')';
}

static bool open_group(struct reader *r)
{
    if (r->depth == DEPTH_MAX)
        return false;
    r->groups[r->depth] = r->next;
    r->groups[r->depth++].from = r->out->size;
    r->next = (struct group){.kind = GROUP_PLAIN};
    return true;
}

static bool close_group(struct reader *r)
{
    if (r->depth == 0 || r->next.kind != GROUP_PLAIN)
        return false;
    const struct group *group = &r->groups[--r->depth];
    const size_t size = r->out->size - group->from;
    if (group->kind == GROUP_PLAIN)
        return true;
    if (size == 0)
        return false;
    if (group->kind == GROUP_ACCENT) {
        uint32_t letter;
        unsigned skip;
        const bool is_letter_alone = utf8_decode(r->out->data + group->from, size, &letter, &skip) == size;
        buf_add_str(r->out, str_of(group->accent));
        return is_letter_alone;
    }
    bracket(r, group->from);
    if (group->kind == GROUP_ABOVE) {
        buf_add_byte(r->out, '/');
        r->next.kind = GROUP_BELOW;
    }
    return true;
}

static bool read_command(struct reader *r)
{
    const size_t from = r->at;
    while (r->at < r->tex.size && ascii_is_letter(r->tex.data[r->at]))
        r->at++;
    r->at += r->at == from && r->at < r->tex.size; /* a command is letters, or one other byte */
    const struct formula_command *command = find_command((struct str){r->tex.data + from, r->at - from});
    if (!command)
        return false;
    switch (command->kind) {
    case SHOWS_NAME: /* a blank keeps the name apart from a letter before it: "a sin b" */
        if (r->out->size > r->start && ascii_is_letter(r->out->data[r->out->size - 1]))
            add_blank(r);
        add(r, str_of(command->text));
        r->name_before = true;
        break;
    case SHOWS_SIGN:
        if (r->name_before)
            add_blank(r);
        add(r, str_of(command->text));
        break;
    case SHOWS_BLANK:
        add_blank(r);
        break;
    case SHOWS_STYLE:
        break;
    case SHOWS_SIDE:
        r->at += r->at < r->tex.size && r->tex.data[r->at] == '.';
        break;
    case SHOWS_ACCENT:
        r->next = (struct group){.kind = GROUP_ACCENT, .accent = command->text};
        break;
    case SHOWS_ROOT:
        add(r, str_of(command->text));
        r->next.kind = GROUP_ROOT;
        break;
    case SHOWS_FRACTION:
        r->next.kind = GROUP_ABOVE;
        break;
    }
    return true;
}

/* False if the formula is not simple. */
static bool read_next(struct reader *r)
{
    const char byte = r->tex.data[r->at++];
    const bool wants_brace = r->next.kind != GROUP_PLAIN;
    switch (byte) {
    case ' ':
    case '\n':
    case '\t':
    case '~':
        if (!wants_brace)
            add_blank(r);
        return true;
    case '{':
        return open_group(r);
    case '}':
        return close_group(r);
    case '\\':
        return !wants_brace && read_command(r);
    case '_':
    case '^':
        r->name_before = false;
        return !wants_brace;
    case '&':
    case '%':
        return false; /* columns of a matrix, a comment */
    case '-':
        if (r->at < r->tex.size && r->tex.data[r->at] == '>') { /* from chemical formulas */
            add(r, STR("→"));
            r->at++;
        } else {
            add(r, STR("−"));
        }
        return !wants_brace;
    case '\'':
        add(r, STR("′"));
        return !wants_brace;
    default:
        add(r, (struct str){&byte, 1});
        return !wants_brace && ((unsigned char)byte >= ' ');
    }
}

bool formula_add(struct str tex, struct buf *out)
{
    tex = str_trim(tex);
    if (tex.size == 0 || tex.size > FORMULA_BYTES_MAX)
        return false;
    struct reader reader = {.tex = tex, .out = out, .start = out->size};
    bool is_simple = true;
    while (is_simple && reader.at < tex.size)
        is_simple = read_next(&reader);
    if (!is_simple || reader.depth > 0 || reader.next.kind != GROUP_PLAIN || out->size == reader.start) {
        out->size = reader.start;
        return false;
    }
    if (out->data[out->size - 1] == ' ')
        out->size--;
    return true;
}

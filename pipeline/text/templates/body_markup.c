/* The markup in a template's body that is no span. */
#include "pipeline/text/markup/entities.h"
#include "pipeline/text/markup/quotes.h"
#include "pipeline/text/markup/tags.h"
#include "pipeline/text/templates/body_compiler.h"
#include "pipeline/text/templates/pattern.h"
#include "pipeline/text/words/links.h"

/* `meant`: what of the signs of markup is escaped, because it is no markup (leaks.h). */
static void add_escaped(struct compiler *c, struct str text, const char *meant)
{
    for (size_t at = 0; at < text.size; at++) {
        const char byte = text.data[at];
        if ((unsigned char)byte < ' ' && byte != '\t')
            continue;
        const bool first = c->out->size == c->start;
        c->shows |= byte != ' ' && byte != '\t';
        if (strchr("${}\\", byte) || str_starts((struct str){text.data + at, text.size - at}, PATTERN_BREAK) ||
            strchr(meant, byte) || (c->in_function && (byte == '|' || byte == '=')) ||
            (first && (byte == '@' || byte == ' ' || byte == '>')))
            buf_add_byte(c->out, '\\');
        buf_add_byte(c->out, byte);
    }
}

void body_add_literal(struct compiler *c, struct str text)
{
    add_escaped(c, text, "<[");
}

/* Text as it was typed. */
static void add_typed(struct compiler *c, struct str text)
{
    buf_add_str(c->typed, text);
    add_escaped(c, text, "");
}

static void add_shown(struct compiler *c, struct str text)
{
    buf_add_byte(c->typed, MARKUP_GAP);
    body_add_literal(c, text);
}

enum body_kind markup_kind_of_line(const struct compiler *c, uint32_t at, uint32_t to)
{
    const struct str line = str_range(c->text.data + at, c->text.data + to);
    const char first = at < to ? line.data[0] : ' ';
    if (first == '\n' || strchr("*#:;=", first) || str_starts(line, STR("----")))
        return BODY_BOX;
    return first == '|' || first == '!' || str_starts(line, STR("{{!")) ? BODY_TABLE : BODY_PATTERN;
}

/* Single bytes. */

static void compile_line_end(struct compiler *c, struct cursor *cursor)
{
    body_stop(c, markup_kind_of_line(c, cursor->at + 1, cursor->to));
    if (c->out->size > c->start)
        body_add_literal(c, STR(" "));
    buf_add_byte(c->typed, '\n');
    cursor_step(c, cursor);
}

static void compile_apostrophes(struct compiler *c, struct cursor *cursor)
{
    uint32_t count = 0;
    for (; cursor->at < cursor->to && c->text.data[cursor->at] == '\''; cursor_step(c, cursor))
        count++;
    for (uint32_t literal = quotes_literal(count); literal > 0; literal--)
        add_shown(c, STR("'"));
}

void markup_compile(struct compiler *c, struct cursor *cursor, unsigned depth)
{
    const struct str rest = str_range(c->text.data + cursor->at, c->text.data + cursor->to);
    const char byte = rest.data[0];
    uint32_t code_point;
    const size_t entity = byte == '&' ? entity_decode(rest, &code_point) : 0;
    if (byte == '\n') {
        compile_line_end(c, cursor);
    } else if (byte == '\'') {
        compile_apostrophes(c, cursor);
    } else if (entity > 0) {
        char encoded[4];
        add_shown(c, (struct str){encoded, utf8_write(code_point < ' ' ? ' ' : code_point, encoded)});
        for (const uint32_t end = cursor->at + (uint32_t)entity; cursor->at < end;)
            cursor_step(c, cursor);
    } else if (byte == '<') {
        if (!markup_compile_tag(c, cursor)) {
            add_typed(c, STR("<"));
            cursor_step(c, cursor);
        }
    } else if (byte != '[' || !links_compile_bracket(c, cursor, depth)) {
        const size_t size = str_starts(rest, PATTERN_BREAK) ? PATTERN_BREAK.size : 1; /* the sign itself */
        add_typed(c, (struct str){rest.data, size});
        for (const uint32_t end = cursor->at + (uint32_t)size; cursor->at < end;)
            cursor_step(c, cursor);
    }
}

/* What is left. */

/* True if the text begins with a tag: one that we know, or one with an end. */
static bool begins_tag(struct str text)
{
    size_t at = 1;
    at += at < text.size && text.data[at] == '/';
    const size_t name = at;
    while (at < text.size && body_is_name_byte(text.data[at]))
        at++;
    if (at == name) /* the name is computed */
        return at < text.size && text.data[at] == MARKUP_GAP;
    if (!body_is_letter(text.data[name]))
        return false;
    if (tag_find(str_range(text.data + name, text.data + at)))
        return true;
    if (at == text.size || !(strchr("/>", text.data[at]) || body_is_blank(text.data[at])))
        return false;
    while (at < text.size && text.data[at] != '>' && text.data[at] != '<')
        at++;
    return at < text.size && text.data[at] == '>';
}

bool markup_remains(struct str typed)
{
    static const char *const pairs[] = {"{{", "}}", "[[", "]]"};
    size_t open = 0; /* brackets */
    for (size_t at = 0; at < typed.size; at++) {
        const struct str rest = {typed.data + at, typed.size - at};
        const char byte = typed.data[at];
        if (!strchr("<{}[]", byte) || byte == 0)
            continue;
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
            if (str_starts(rest, str_of(pairs[i])))
                return true;
        if (byte == '<' && begins_tag(rest))
            return true;
        if (byte == '[' && rest.size > 1 && link_scheme((struct str){rest.data + 1, rest.size - 1}) > 0)
            return true;
        if (byte == ']' && open == 0)
            return true;
        open += byte == '[';
        open -= byte == ']';
    }
    return false;
}

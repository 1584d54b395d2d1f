/* The markup in a template's body that is no span. */
#include "pipeline/text/markup/entities.h"
#include "pipeline/text/markup/quotes.h"
#include "pipeline/text/markup/tags.h"
#include "pipeline/text/templates/body_compiler.h"
#include "pipeline/text/templates/pattern.h"
#include "pipeline/text/words/links.h"

#define BLOCK_MARK "¶"

/* `meant`: what of the signs of markup is escaped, because it is no markup (leaks.h). */
static void add_escaped(struct compiler *c, struct str text, const char *meant)
{
    for (size_t at = 0; at < text.size; at++) {
        const char byte = text.data[at];
        if ((unsigned char)byte < ' ' && byte != '\t')
            continue;
        const bool first = c->out->size == c->start;
        if (strchr("${}\\", byte) || strchr(meant, byte) || (c->in_function && (byte == '|' || byte == '=')) ||
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

/* Is nothing shown so far, except for the beginning of a block? */
static bool is_at_start(const struct compiler *c)
{
    const struct str shown = {c->out->data + c->start, c->out->size - c->start};
    return shown.size == 0 || str_equal(shown, STR(BLOCK_MARK));
}

void markup_begin_block(struct compiler *c)
{
    if (c->in_function || !is_at_start(c))
        body_stop(c, BODY_BOX);
    else if (c->out->size == c->start)
        buf_add_text(c->out, BLOCK_MARK);
}

enum body_kind markup_kind_of_line(const struct compiler *c, uint32_t at, uint32_t to)
{
    const struct str line = str_range(c->text.data + at, c->text.data + to);
    const char first = at < to ? line.data[0] : ' ';
    if (first == '\n' || strchr("*#:;=", first) || str_starts(line, STR("----")))
        return BODY_BOX;
    return first == '|' || first == '!' || str_starts(line, STR("{{!")) ? BODY_TABLE : BODY_PATTERN;
}

/* Tags. */

struct body_tag {
    const struct tag *tag; /* NULL: unknown, or computed */
    struct str name;
    bool closing, is_empty, is_computed; /* is_empty: <br/>, <hr>; is_computed: <{{#if:…|div|span}}> */
    struct cursor attributes;
    uint32_t end;
};

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static bool is_name_byte(char byte)
{
    return is_letter(byte) || (byte >= '0' && byte <= '9') || byte == '-';
}

/* The '>' of the tag whose attributes begin at the cursor; `to` if there is none. Spans are opaque. As in tag_read, a
 * quoted value may hold a '>', but only if its quote closes. */
static uint32_t find_tag_end(const struct compiler *c, struct cursor cursor)
{
    const char *text = c->text.data;
    uint32_t in_quotes = cursor.to;
    char quote = 0;
    for (; cursor.at < cursor.to; cursor_step(c, &cursor)) {
        const char byte = cursor_span(c, &cursor) ? 'x' : text[cursor.at];
        if (byte == '<')
            break;
        if (byte == '>' && !quote)
            return cursor.at;
        if (byte == '>' && in_quotes == cursor.to)
            in_quotes = cursor.at;
        if (byte == quote) {
            quote = 0;
            in_quotes = cursor.to;
        } else if (!quote && (byte == '"' || byte == '\'') && text[cursor.at - 1] == '=') {
            quote = byte;
        }
    }
    return in_quotes;
}

/* Reads the tag at the cursor. */
static bool read_tag(const struct compiler *c, struct cursor cursor, struct body_tag *tag)
{
    const char *text = c->text.data;
    cursor_step(c, &cursor);
    tag->closing = cursor.at < cursor.to && text[cursor.at] == '/';
    if (tag->closing)
        cursor_step(c, &cursor);
    const uint32_t name = cursor.at;
    while (cursor.at < cursor.to && !cursor_span(c, &cursor) && is_name_byte(text[cursor.at]))
        cursor_step(c, &cursor);
    tag->name = str_range(text + name, text + cursor.at);
    const bool has_span = cursor_span(c, &cursor) != NULL;
    if (cursor.at == cursor.to || (tag->name.size == 0 ? !has_span : !is_letter(text[name])))
        return false;
    if (!has_span && !strchr(">/", text[cursor.at]) && !body_is_blank(text[cursor.at]))
        return false;
    tag->tag = tag->name.size > 0 ? tag_find(tag->name) : NULL;
    tag->is_computed = has_span && !tag->tag;
    tag->attributes = cursor;
    const uint32_t end = find_tag_end(c, cursor);
    if (end == cursor.to)
        return false;
    tag->attributes.to = end;
    tag->end = end + 1;
    tag->is_empty = text[end - 1] == '/' || (tag->tag && tag->tag->kind == TAG_BREAK) ||
                    str_equal_ascii_nocase(tag->name, STR("hr")) || str_equal_ascii_nocase(tag->name, STR("wbr"));
    return true;
}

/* Moves the cursor past the element that the tag opens; false if it does not end in this piece. */
static bool skip_element(const struct compiler *c, struct cursor *cursor, const struct body_tag *tag)
{
    struct cursor at = *cursor;
    size_t depth = 1;
    while (at.at < tag->end)
        cursor_step(c, &at);
    while (!tag->is_empty && at.at < at.to) {
        struct body_tag other;
        if (cursor_span(c, &at) || c->text.data[at.at] != '<' || !read_tag(c, at, &other)) {
            cursor_step(c, &at);
            continue;
        }
        if (str_equal_ascii_nocase(other.name, tag->name) && !other.is_empty)
            depth = other.closing ? depth - 1 : depth + 1;
        while (at.at < other.end)
            cursor_step(c, &at);
        if (depth == 0)
            break;
    }
    *cursor = at;
    return tag->is_empty || depth == 0;
}

/* The text of a tag's attributes, in small letters: of a parameter its default; of functions nothing, or all. */
static struct str attributes_of(const struct compiler *c, const struct body_tag *tag, bool with_functions)
{
    struct buf *out = c->scratch;
    const char *text = c->text.data;
    buf_reset(out);
    for (struct cursor at = tag->attributes; at.at < at.to; cursor_step(c, &at)) {
        const struct span *span = cursor_span(c, &at);
        struct str part = {text + at.at, 1};
        if (span) {
            part = str_range(text + span->inner_start, text + span->inner_end);
            const char *bar = memchr(part.data, '|', part.size);
            if (span->kind == SPAN_ARGUMENT && !with_functions)
                part = bar ? str_range(bar + 1, part.data + part.size) : STR("");
            else if (!with_functions)
                part = STR("");
        }
        for (size_t i = 0; i < part.size; i++)
            buf_add_byte(out, part.data[i] >= 'A' && part.data[i] <= 'Z' ? part.data[i] | 0x20 : part.data[i]);
    }
    return buf_str(out);
}

/* Does a word that begins with one of `starts` stand in the attributes? */
static bool has_word(struct str attributes, const char *const *starts, size_t count)
{
    for (size_t at = 0; at < attributes.size; at++) {
        if (at > 0 && (is_name_byte(attributes.data[at - 1]) || attributes.data[at - 1] == '_'))
            continue;
        for (size_t i = 0; i < count; i++)
            if (str_starts((struct str){attributes.data + at, attributes.size - at}, str_of(starts[i])))
                return true;
    }
    return false;
}

/* Recognises boxes, hatnotes, remarks and what nobody sees, by the classes and styles of a tag. */
static enum body_kind kind_of_tag(const struct compiler *c, const struct body_tag *tag)
{
    static const char *const boxes[] = {
        "infobox",  "navbox",     "ambox",      "mbox",     "hatnote",         "dablink",        "sidebar",
        "metadata", "wikitable",  "toccolours", "thumb",    "sistersite",      "bandeau",        "homonymie",
        "rellink",  "messagebox", "taxobox",    "navframe", "vertical-navbox", "succession-box", "portable-infobox"};
    static const char *const notes[] = {"noprint", "inline-template", "need_ref_tag", "navigation-not-searchable"};
    static const char *const styles[] = {"display:none", "visibility:hidden"};
    if (tag->attributes.at == tag->attributes.to)
        return BODY_PATTERN;
    struct str attributes = attributes_of(c, tag, true);
    if (has_word(attributes, boxes, sizeof boxes / sizeof *boxes))
        return BODY_BOX;
    attributes = attributes_of(c, tag, false);
    if (has_word(attributes, notes, sizeof notes / sizeof *notes))
        return BODY_NOTE;
    c->scratch->size = 0; /* in place: without blanks */
    for (size_t i = 0; i < attributes.size; i++)
        if (!body_is_blank(attributes.data[i]))
            buf_add_byte(c->scratch, attributes.data[i]);
    return has_word(buf_str(c->scratch), styles, sizeof styles / sizeof *styles) ? BODY_NOTE : BODY_PATTERN;
}

static bool is_table_part(struct str name)
{
    static const char *const names[] = {"td", "th", "tr", "tbody", "thead", "tfoot", "caption", "col", "colgroup"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_equal_ascii_nocase(name, str_of(names[i])))
            return true;
    return false;
}

/* A block that shows nothing, between other things, is a blank: <div style="clear:both"></div>. */
static bool skip_empty_block(const struct compiler *c, struct cursor *cursor, const struct body_tag *tag)
{
    struct cursor at = *cursor;
    struct body_tag end;
    while (at.at < tag->end)
        cursor_step(c, &at);
    while (at.at < at.to && !cursor_span(c, &at) && body_is_blank(c->text.data[at.at]))
        cursor_step(c, &at);
    if (at.at == at.to || cursor_span(c, &at) || c->text.data[at.at] != '<' || !read_tag(c, at, &end) || !end.closing ||
        !str_equal_ascii_nocase(end.name, tag->name))
        return false;
    while (at.at < end.end)
        cursor_step(c, &at);
    *cursor = at;
    return true;
}

/* Elements that are left out whole: boxes, remarks, and extension tags that are no span because spans are in them. */
static bool leave_out(struct compiler *c, struct cursor *cursor, const struct body_tag *tag)
{
    const bool is_infobox = str_equal_ascii_nocase(tag->name, STR("infobox"));
    const bool is_dropped = tag->tag && tag->tag->kind >= TAG_DROP;
    enum body_kind kind = tag->closing ? BODY_PATTERN : kind_of_tag(c, tag);
    if (is_dropped && (tag->closing || tag->tag->kind == TAG_LITERAL || tag->tag->kind == TAG_PRE))
        body_stop(c, BODY_OTHER);
    else if (is_dropped && kind == BODY_PATTERN)
        kind = BODY_NOTE;
    if (is_infobox && !tag->closing)
        kind = BODY_BOX;
    if (!tag->tag && !tag->is_computed && kind == BODY_PATTERN)
        body_stop(c, BODY_OTHER); /* of an extension that we do not know */
    if (kind == BODY_PATTERN)
        return false;
    if (!skip_element(c, cursor, tag))
        body_stop(c, is_dropped ? BODY_OTHER : kind);
    else if (kind == BODY_BOX)
        c->hidden = BODY_BOX;
    return true;
}

static void compile_tag(struct compiler *c, struct cursor *cursor)
{
    struct body_tag tag;
    if (!read_tag(c, *cursor, &tag)) {
        add_typed(c, STR("<"));
        cursor_step(c, cursor);
        return;
    }
    buf_add_byte(c->typed, MARKUP_GAP);
    if (leave_out(c, cursor, &tag) || c->kind != BODY_PATTERN)
        return;
    const enum tag_kind kind = tag.tag ? tag.tag->kind : TAG_INLINE;
    if (kind == TAG_BREAK)
        body_add_literal(c, STR(" "));
    else if (kind == TAG_QUOTE)
        body_add_literal(c, STR("\""));
    else if (kind == TAG_TABLE || is_table_part(tag.name))
        body_stop(c, BODY_TABLE);
    else if (kind == TAG_BLOCK && !tag.closing && (c->in_function || !is_at_start(c)) &&
             skip_empty_block(c, cursor, &tag)) {
        body_add_literal(c, STR(" "));
        return;
    } else if (kind == TAG_BLOCK && !tag.closing)
        markup_begin_block(c);
    while (cursor->at < tag.end)
        cursor_step(c, cursor);
}

/* External links. */

/* The first ']' of the line outside spans; `to` if there is none. The last result is kept, so that lines of many open
 * brackets are not searched again. */
static uint32_t find_bracket_end(struct compiler *c, struct cursor cursor)
{
    const uint32_t from = cursor.at;
    if (cursor.to == c->bracket_to && from >= c->bracket_from && from <= c->bracket_stop)
        cursor.at = c->bracket_stop;
    while (cursor.at < cursor.to && (cursor_span(c, &cursor) || !strchr("]\n", c->text.data[cursor.at])))
        cursor_step(c, &cursor);
    c->bracket_from = from;
    c->bracket_stop = cursor.at;
    c->bracket_to = cursor.to;
    return cursor.at < cursor.to && c->text.data[cursor.at] == ']' ? cursor.at : cursor.to;
}

/* Moves past an address, and past the blanks after it: *end is the address's end. */
static void skip_address(const struct compiler *c, struct cursor *cursor, uint32_t *end)
{
    const char *text = c->text.data;
    while (cursor->at < cursor->to) {
        const struct span *span = cursor_span(c, cursor);
        if (span ? span->kind != SPAN_TEMPLATE && span->kind != SPAN_ARGUMENT
                 : (unsigned char)text[cursor->at] <= ' ' || strchr("[]<>\"", text[cursor->at]) ||
                       str_starts(str_range(text + cursor->at, text + cursor->to), STR("''")))
            break;
        cursor_step(c, cursor);
    }
    *end = cursor->at;
    while (cursor->at < cursor->to && body_is_blank(text[cursor->at]))
        cursor_step(c, cursor);
}

/* Does the span give an address, whatever it is called with? */
static bool gives_address(const struct compiler *c, const struct span *span)
{
    static const char *const names[] = {"fullurl:", "canonicalurl:", "filepath:", "SERVER"};
    const struct str inner = str_range(c->text.data + span->inner_start, c->text.data + span->inner_end);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (span->kind == SPAN_TEMPLATE && str_starts(inner, str_of(names[i])))
            return true;
    return false;
}

/* [{{{url}}} label]: a link if the parameter is an address, else text in brackets. */
static void compile_computed_link(struct compiler *c, struct cursor address, struct cursor label, unsigned depth)
{
    const bool outer = c->in_function;
    const size_t before = c->out->size;
    c->in_function = true;
    buf_add_text(c->out, "{#iflink ");
    const size_t from = c->out->size;
    body_compile(c, address.at, address.to, address.child, depth + 1);
    if (c->kind != BODY_PATTERN) { /* nothing can tell; most are addresses */
        c->kind = BODY_PATTERN;
        c->out->size = before;
        c->in_function = outer;
        body_compile(c, label.at, label.to, label.child, depth + 1);
        return;
    }
    const size_t to = c->out->size;
    buf_add_byte(c->out, '|');
    body_compile(c, label.at, label.to, label.child, depth + 1);
    const size_t end = c->out->size;
    c->in_function = outer;
    if (end - c->start > 4 * PATTERN_BYTES_MAX)
        body_stop(c, BODY_OTHER);
    if (c->kind != BODY_PATTERN)
        return;
    buf_reserve(c->out, end); /* so that its own bytes can be added */
    buf_add_text(c->out, "|[");
    buf_add(c->out, c->out->data + from, to - from);
    if (label.at < label.to) {
        buf_add_byte(c->out, ' ');
        buf_add(c->out, c->out->data + to + 1, end - to - 1);
    }
    buf_add_text(c->out, "]}");
}

/* [https://example.org label]; false if it is none. */
static bool compile_bracket(struct compiler *c, struct cursor *cursor, unsigned depth)
{
    struct cursor address = *cursor;
    cursor_step(c, &address);
    const struct span *span = cursor_span(c, &address);
    const bool is_computed = span && (span->kind == SPAN_ARGUMENT || span->kind == SPAN_TEMPLATE);
    const bool is_link = is_computed ? gives_address(c, span)
                                     : link_scheme(str_range(c->text.data + address.at, c->text.data + address.to)) > 0;
    const uint32_t close = is_link || is_computed ? find_bracket_end(c, address) : address.to;
    if (close == address.to)
        return false;
    address.to = close;
    struct cursor label = address;
    skip_address(c, &label, &address.to);
    buf_add_byte(c->typed, MARKUP_GAP);
    if (is_link)
        body_compile(c, label.at, label.to, label.child, depth + 1);
    else
        compile_computed_link(c, address, label, depth);
    buf_add_byte(c->typed, MARKUP_GAP);
    while (cursor->at <= close)
        cursor_step(c, cursor);
    return true;
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
        compile_tag(c, cursor);
    } else if (byte != '[' || !compile_bracket(c, cursor, depth)) {
        add_typed(c, (struct str){rest.data, 1});
        cursor_step(c, cursor);
    }
}

/* What is left. */

/* Does the text begin with a tag: one that we know, or one with an end? */
static bool begins_tag(struct str text)
{
    size_t at = 1;
    at += at < text.size && text.data[at] == '/';
    const size_t name = at;
    while (at < text.size && is_name_byte(text.data[at]))
        at++;
    if (at == name) /* the name is computed */
        return at < text.size && text.data[at] == MARKUP_GAP;
    if (!is_letter(text.data[name]))
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

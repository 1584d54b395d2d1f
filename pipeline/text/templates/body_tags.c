/* Tags in a template's body. Their attributes may hold spans. */
#include "pipeline/text/markup/tags.h"
#include "pipeline/text/templates/body_compiler.h"
#include "pipeline/text/templates/pattern.h"

static void add_break(struct compiler *c)
{
    const struct str shown = {c->out->data + c->start, c->out->size - c->start};
    if (shown.size == 0 || !str_ends(shown, PATTERN_BREAK))
        buf_add_str(c->out, PATTERN_BREAK);
}

void markup_begin_block(struct compiler *c, bool is_quotation)
{
    if (c->shows && !is_quotation)
        body_stop(c, BODY_BOX);
    else
        add_break(c);
}

struct body_tag {
    const struct tag *tag; /* NULL: unknown, or computed */
    struct str name;
    bool closing, is_empty, is_computed; /* is_empty: <br/>, <hr>; is_computed: <{{#if:…|div|span}}> */
    struct cursor attributes;
    uint32_t end;
};

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
    while (cursor.at < cursor.to && !cursor_span(c, &cursor) && body_is_name_byte(text[cursor.at]))
        cursor_step(c, &cursor);
    tag->name = str_range(text + name, text + cursor.at);
    const bool has_span = cursor_span(c, &cursor) != NULL;
    if (cursor.at == cursor.to || (tag->name.size == 0 ? !has_span : !body_is_letter(text[name])))
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

/* True if a word that begins with one of `starts` stands in the attributes. */
static bool has_word(struct str attributes, const char *const *starts, size_t count)
{
    for (size_t at = 0; at < attributes.size; at++) {
        if (at > 0 && (body_is_name_byte(attributes.data[at - 1]) || attributes.data[at - 1] == '_'))
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
    static const char *const notes[] = {"noprint", "inline-template", "need_ref_tag", "navigation-not-searchable",
                                        "reference"}; /* the last of <sup> */
    static const char *const roles[] = {"role=\"note", "role=\"navigation", "role=\"complementary"};
    static const char *const styles[] = {"display:none", "visibility:hidden"};
    if (tag->attributes.at == tag->attributes.to)
        return BODY_PATTERN;
    struct str attributes = attributes_of(c, tag, true);
    if (has_word(attributes, boxes, sizeof boxes / sizeof *boxes) ||
        has_word(attributes, roles, sizeof roles / sizeof *roles))
        return BODY_BOX;
    attributes = attributes_of(c, tag, false);
    if (has_word(attributes, notes, str_equal_ascii_nocase(tag->name, STR("sup")) ? 5 : 4))
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

static void compile_block(struct compiler *c, const struct body_tag *tag)
{
    const bool is_quotation = str_equal_ascii_nocase(tag->name, STR("blockquote"));
    if (!tag->closing)
        markup_begin_block(c, is_quotation || c->quotations > 0 || str_equal_ascii_nocase(tag->name, STR("p")));
    else if (c->shows)
        add_break(c);
    c->quotations += is_quotation && !tag->closing;
    c->quotations -= is_quotation && tag->closing && c->quotations > 0;
}

bool markup_compile_tag(struct compiler *c, struct cursor *cursor)
{
    struct body_tag tag;
    if (!read_tag(c, *cursor, &tag))
        return false;
    buf_add_byte(c->typed, MARKUP_GAP);
    if (leave_out(c, cursor, &tag) || c->kind != BODY_PATTERN)
        return true;
    const enum tag_kind kind = tag.tag ? tag.tag->kind : TAG_INLINE;
    if (kind == TAG_BREAK)
        body_add_literal(c, STR(" "));
    else if (kind == TAG_QUOTE)
        body_add_literal(c, STR("\""));
    else if (kind == TAG_TABLE || is_table_part(tag.name))
        body_stop(c, BODY_TABLE);
    else if (kind == TAG_BLOCK && c->shows && !tag.closing && skip_empty_block(c, cursor, &tag)) {
        add_break(c);
        return true;
    } else if (kind == TAG_BLOCK)
        compile_block(c, &tag);
    while (cursor->at < tag.end)
        cursor_step(c, cursor);
    return true;
}

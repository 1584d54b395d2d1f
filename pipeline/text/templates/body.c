#include "pipeline/text/templates/body.h"

#include "pipeline/text/markup/formula.h"
#include "pipeline/text/markup/tags.h"
#include "pipeline/text/templates/body_compiler.h"
#include "pipeline/text/templates/pattern.h"
#include "pipeline/text/templates/transclusion.h"
#include "pipeline/text/words/codes.h"
#include "pipeline/text/words/links.h"

#define DEPTH_MAX 12u

size_t body_pieces(const struct compiler *c, uint32_t index, struct body_piece *pieces)
{
    struct span_walk walk = span_walk(c->text, c->spans, index);
    size_t count = 0;
    walk.takes_bars = c->spans->items[index].kind == SPAN_LINK;
    for (bool more = true; more && count < BODY_PIECES_MAX;) {
        struct body_piece piece = {.from = walk.at, .child = walk.child};
        uint32_t equals;
        more = span_walk_to_bar(&walk, &equals);
        piece.to = walk.at;
        piece.equals = equals < walk.at ? equals : walk.at;
        pieces[count++] = piece;
        if (more)
            walk.at = walk.bar_end;
    }
    return count;
}

void body_compile_piece(struct compiler *c, uint32_t from, uint32_t to, uint32_t child, unsigned depth)
{
    body_trim(c, &from, &to);
    body_compile(c, from, to, child, depth + 1);
}

void body_compile_branch(struct compiler *c, uint32_t from, uint32_t to, uint32_t child, unsigned depth)
{
    body_trim(c, &from, &to);
    const char first = from < to ? c->text.data[from] : ' ';
    if (first == '*' || first == '#')
        body_stop(c, BODY_BOX);
    if (first == ':' || first == ';') { /* the text of a definition, without its mark */
        body_add_literal(c, STR(" "));
        from++;
    }
    body_compile(c, from, to, child, depth + 1);
}

/* {{{name|default}}} */
static void compile_argument(struct compiler *c, uint32_t index, unsigned depth)
{
    struct body_piece pieces[BODY_PIECES_MAX];
    const size_t count = body_pieces(c, index, pieces);
    const struct str name = str_trim(str_range(c->text.data + pieces[0].from, c->text.data + pieces[0].to));
    bool plain = name.size > 0 && name.size < 64;
    for (size_t i = 0; i < name.size; i++)
        plain &= !strchr("{}|=$<[\\", name.data[i]) && (unsigned char)name.data[i] >= ' ';
    if (!plain) {
        body_stop(c, BODY_OTHER);
        return;
    }
    uint32_t from = count > 1 ? pieces[1].from : 0, to = count > 1 ? pieces[1].to : 0;
    body_trim(c, &from, &to);
    if (from == to) {
        buf_addf(c->out, "${%.*s}", (int)name.size, name.data);
        c->shows = true;
        return;
    }
    const bool outer = c->in_function;
    c->in_function = true;
    buf_addf(c->out, "{#given %.*s|", (int)name.size, name.data);
    body_compile(c, from, to, pieces[1].child, depth + 1);
    c->in_function = outer;
    c->shows = true;
    buf_add_byte(c->out, '}');
}

/* An element whose content is not read. */
static void compile_element(struct compiler *c, const struct span *span)
{
    const struct tag *tag = &tags[span->tag];
    const struct str content = str_range(c->text.data + span->inner_start, c->text.data + span->inner_end);
    const struct str opening = str_range(c->text.data + span->start, c->text.data + span->inner_start);
    struct buf formula = {0};
    if (tag->kind == TAG_LITERAL)
        body_add_literal(c, content);
    else if (tag->kind == TAG_CODE && str_find(opening, STR("inline")) != SIZE_MAX)
        body_add_literal(c, content);
    else if (tag->kind == TAG_PRE || (tag->fate == FATE_MATH && !formula_add(content, &formula)))
        body_stop(c, BODY_OTHER);
    body_add_literal(c, buf_str(&formula));
    buf_release(&formula);
}

static void compile_span(struct compiler *c, uint32_t index, unsigned depth)
{
    buf_add_byte(c->typed, MARKUP_GAP);
    switch ((enum span_kind)c->spans->items[index].kind) {
    case SPAN_TEMPLATE:
        body_compile_template(c, index, depth);
        break;
    case SPAN_ARGUMENT:
        compile_argument(c, index, depth);
        break;
    case SPAN_LINK:
        links_compile(c, index, depth);
        break;
    case SPAN_TABLE:
        body_stop(c, BODY_TABLE);
        break;
    case SPAN_TAG:
        compile_element(c, &c->spans->items[index]);
        break;
    case SPAN_VARIANT:
        body_stop(c, BODY_OTHER);
        break;
    case SPAN_COMMENT:
    case SPAN_MAGIC:
    case SPAN_NONE:
        break;
    }
    buf_add_byte(c->typed, MARKUP_GAP);
}

void body_compile(struct compiler *c, uint32_t from, uint32_t to, uint32_t child, unsigned depth)
{
    struct cursor cursor = {from, to, child};
    if (depth > DEPTH_MAX || c->out->size - c->start > 4 * PATTERN_BYTES_MAX)
        body_stop(c, BODY_OTHER);
    cursor_settle(c, &cursor);
    while (cursor.at < to && c->kind == BODY_PATTERN) {
        if (cursor_span(c, &cursor)) {
            compile_span(c, cursor.child, depth);
            cursor_step(c, &cursor);
        } else {
            markup_compile(c, &cursor, depth);
        }
    }
}

/* The title of the first link, without its namespace. */
static bool add_target(struct str text, struct buf *out)
{
    const size_t open = str_find(text, STR("[["));
    if (open == SIZE_MAX)
        return false;
    struct str target = {text.data + open + 2, text.size - open - 2};
    size_t size = 0;
    while (size < target.size && !strchr("]|#\n", target.data[size]))
        size++;
    target.size = size;
    const char *colon = memchr(target.data, ':', target.size);
    char canonical[NAME_BYTES_MAX];
    const struct str name =
        name_canonical(colon ? str_range(colon + 1, target.data + target.size) : STR(""), canonical);
    buf_add_str(out, name);
    return name.size > 0;
}

/* What the beginning of a body says about all of it: a row or a cell of a table, a remark, one item of a list. */
static enum body_kind kind_of_start(struct compiler *c, uint32_t *from, uint32_t to)
{
    const char first = *from < to ? c->text.data[*from] : ' ';
    if (first == '=') { /* a heading */
        const char *end = memchr(c->text.data + *from, '\n', to - *from);
        const struct str line = str_trim(str_range(c->text.data + *from, end ? end : c->text.data + to));
        return line.size > 2 && str_ends(line, STR("=")) ? BODY_BOX : BODY_PATTERN;
    }
    if (first != '*' && first != '#')
        return markup_kind_of_line(c, *from, to);
    markup_begin_block(c, false);
    while (*from < to && strchr("*#: ", c->text.data[*from]))
        ++*from;
    return BODY_PATTERN;
}

/* style="…" | text: the attributes of a cell come first. */
static bool begins_cell(struct str text)
{
    static const char *const names[] = {"style",   "class",  "align", "bgcolor", "colspan",
                                        "rowspan", "valign", "width", "scope",   "data-sort-value"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t size = strlen(names[i]);
        if (text.size > size && str_equal_ascii_nocase((struct str){text.data, size}, str_of(names[i])) &&
            str_starts(str_trim((struct str){text.data + size, text.size - size}), STR("=")))
            return true;
    }
    return false;
}

/* A block that ends with the body. */
static void drop_last_breaks(struct compiler *c)
{
    const size_t mark = PATTERN_BREAK.size;
    while (c->out->size > c->start + mark) {
        const struct str shown = {c->out->data + c->start, c->out->size - c->start};
        if (!str_ends(shown, PATTERN_BREAK) || shown.data[shown.size - mark - 1] == '\\')
            break;
        c->out->size -= mark;
    }
}

enum body_kind body_read(struct body_reader *reader, const struct language *language, struct str wikitext,
                         bool is_redirect, struct buf *out)
{
    const struct magic magic = magic_find(language, str_of(language->code));
    if (is_redirect || link_is_redirect(wikitext, &magic))
        return add_target(wikitext, out) ? BODY_ALIAS : BODY_OTHER;
    if (wikitext.size > BODY_BYTES_MAX)
        return BODY_OTHER;
    transclusion_take(wikitext, &reader->text);
    struct str text = buf_str(&reader->text);
    const bool blank_after = text.size > 1 && text.data[text.size - 1] == ' ';
    for (size_t at = 0; at + 2 < text.size; at++)
        if (text.data[at] == '-' && text.data[at + 1] == '{' && text.data[at + 2] != '{')
            return BODY_OTHER;      /* a choice of spellings */
    reader->spans.is_strict = true; /* a template that MediaWiki cannot read is not used */
    spans_find(&reader->spans, &magic, false, text);
    buf_reset(&reader->typed);
    buf_reserve(out, 1); /* so that an empty rendering has an address, as an empty text has */
    buf_reserve(&reader->typed, 1);
    buf_reserve(&reader->scratch, 1);
    struct compiler c = {.text = text,
                         .spans = &reader->spans,
                         .out = out,
                         .typed = &reader->typed,
                         .scratch = &reader->scratch,
                         .start = out->size,
                         .hidden = BODY_NOTE};
    uint32_t from = 0, to = (uint32_t)text.size;
    while (from < to && text.data[from] == '\n')
        from++;
    while (from < to && (text.data[to - 1] == '\n' || text.data[to - 1] == ' '))
        to--;
    body_stop(&c, begins_cell(str_range(text.data + from, text.data + to)) ? BODY_TABLE : kind_of_start(&c, &from, to));
    body_compile(&c, from, to, 0, 0);
    drop_last_breaks(&c);
    const size_t size = out->size - c.start;
    if (c.kind == BODY_PATTERN && (size > 2 * PATTERN_BYTES_MAX || markup_remains(buf_str(c.typed))))
        c.kind = BODY_OTHER;
    if (c.kind != BODY_PATTERN || c.bound.size > 0)
        out->size = c.start;
    if (c.kind != BODY_PATTERN)
        return c.kind;
    if (c.bound.size > 0) {
        buf_add_str(out, c.bound);
        return size == 0 ? BODY_BOUND : BODY_OTHER;
    }
    if (size == 0)
        return c.hidden;
    if (blank_after)
        buf_add_text(out, " {#if |}");
    return BODY_PATTERN;
}

void body_reader_release(struct body_reader *reader)
{
    spans_release(&reader->spans);
    buf_release(&reader->text);
    buf_release(&reader->typed);
    buf_release(&reader->scratch);
}

/* The second pass, part one: the beginning of a line decides the kind of its paragraph, as in MediaWiki. */
#include "pipeline/text/markup/tags.h"
#include "pipeline/text/walk.h"

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* A link does not join lines: most links that cross a line's end turn out to be text. */
static bool is_open_link(const struct span *span, uint32_t line_end)
{
    return span->kind == SPAN_LINK && span->start < line_end;
}

/* The end of the line that begins at `from`: the first '\n' outside spans. *content_end: before the blanks and comments
 * at its end. */
static uint32_t find_line_end(struct wikitext *w, uint32_t from, uint32_t *content_end)
{
    const struct spans *spans = &w->spans;
    uint32_t span = w->span, at = from, end;
    for (;;) {
        const char *stop = memchr(w->text.data + at, '\n', w->size - at);
        end = stop ? (uint32_t)(stop - w->text.data) : w->size;
        while (span < spans->count && (spans->items[span].end <= end || is_open_link(&spans->items[span], end)))
            span = spans->items[span].kind == SPAN_LINK ? span + 1 : spans->items[span].next;
        if (span == spans->count || spans->items[span].start >= end)
            break;
        at = spans->items[span].end;
        span = spans->items[span].next;
    }
    uint32_t last = end;
    while (last > from && is_blank(w->text.data[last - 1]))
        last--;
    while (span-- > w->span) {
        if (spans->items[span].kind != SPAN_COMMENT || spans->items[span].end != last)
            continue;
        last = spans->items[span].start;
        while (last > from && is_blank(w->text.data[last - 1]))
            last--;
    }
    *content_end = last;
    w->facts->steps += end - from;
    return end;
}

/* True for the title of a section without prose. */
static bool is_section_without_text(const struct wikitext *w, struct str title)
{
    char folded[NAME_BYTES_MAX];
    struct str name = name_fold(title, folded);
    if (str_ends(name, STR(":")))
        name.size--;
    return words_have(w->options.language->sections, name) || words_have(language_english()->sections, name);
}

/* == Title ==; false if the line at `at` is not a heading. */
static bool read_heading(struct wikitext *w)
{
    uint32_t last;
    const uint32_t line_end = find_line_end(w, w->at, &last);
    const char *text = w->text.data;
    uint32_t level = 0, closing = 0;
    while (w->at + level < last && text[w->at + level] == '=')
        level++;
    while (last - closing > w->at && text[last - closing - 1] == '=')
        closing++;
    if (closing == 0 || last - w->at < 3)
        return false;
    if (w->at + level == last) /* nothing but = */
        level = (level - 1) / 2;
    level = level < closing ? level : closing;
    level = level < 6 ? level : 6;

    walk_end_paragraph(w);
    w->section_has_prose = false;
    const struct str title = str_range(text + w->at + level, text + last - level);
    if (!(w->options.keep & KEEP_HEADINGS)) {
        if (w->dropped_section == 0 || level <= w->dropped_section)
            w->dropped_section = is_section_without_text(w, title) ? level : 0;
        walk_skip(w, line_end, w->dropped_section > 0 ? FATE_SECTION : FATE_HEADING);
        return true;
    }
    walk_begin_paragraph(w, PARAGRAPH_HEADING);
    walk_skip(w, w->at + level, FATE_MARKUP);
    walk_push(w, FRAME_HEADING, last - level, line_end, FATE_MARKUP);
    return true;
}

static void skip_blanks(struct wikitext *w)
{
    uint32_t at = w->at;
    while (at < walk_inner_end(w) && is_blank(w->text.data[at]))
        at++;
    walk_skip(w, at, FATE_MARKUP);
}

static bool is_blank_line(const struct wikitext *w)
{
    uint32_t at = w->at;
    while (at < walk_inner_end(w) && is_blank(w->text.data[at]))
        at++;
    return at < walk_inner_end(w) && w->text.data[at] == '\n';
}

static bool is_list_mark(char byte)
{
    return byte == '*' || byte == '#' || byte == ':' || byte == ';';
}

/* How the tag that begins `text`, if one does, changes the number of open ones: 1, -1 or 0. */
static int tag_depth(struct wikitext *w, struct str text)
{
    struct tag_found found;
    size_t looked;
    const bool is_tag = tag_read(text, &found, &looked);
    w->facts->steps += looked;
    if (!is_tag || found.self_closing || tags[found.index].kind == TAG_BREAK ||
        strcmp(tags[found.index].name, "wbr") == 0)
        return 0;
    return found.closing ? -1 : 1;
}

/* The colon of "; term : meaning", outside spans, elements and external links; `limit` if there is none. */
static uint32_t find_term_end(struct wikitext *w, uint32_t limit)
{
    const char *text = w->text.data;
    uint32_t at = w->at, i = w->span, skipped = 0;
    char closing = 0; /* that ends the current tag or bracket */
    int depth = 0;    /* of elements: <b>x:y</b> */
    while (at < limit && text[at] != '\n' &&
           (closing || depth > 0 || text[at] != ':' || str_starts(str_range(text + at, text + limit), STR("://")))) {
        const struct span *span = spans_at(&w->spans, &i, at);
        if (span && span->kind != SPAN_LINK) {
            skipped += span->end - at;
            at = span->end;
            continue;
        }
        if (text[at] == closing)
            closing = 0;
        else if (!closing && text[at] == '[')
            closing = ']';
        else if (!closing && text[at] == '<') {
            depth += tag_depth(w, str_range(text + at, text + limit));
            depth = depth < 0 ? 0 : depth;
            closing = '>';
        }
        at++;
    }
    w->facts->steps += at - w->at - skipped;
    return at < limit && text[at] == ':' ? at : limit;
}

static void read_item(struct wikitext *w)
{
    walk_begin_paragraph(w, PARAGRAPH_ITEM);
    const uint32_t limit = walk_inner_end(w);
    uint32_t at = w->at;
    while (at < limit && is_list_mark(w->text.data[at]))
        at++;
    const bool is_term = w->text.data[at - 1] == ';';
    walk_skip(w, at, FATE_MARKUP);
    skip_blanks(w);
    const uint32_t colon = is_term ? find_term_end(w, limit) : limit;
    if (colon < limit)
        walk_push(w, FRAME_TERM, colon, colon + 1, FATE_MARKUP);
}

/* A line that begins with a blank: preformatted, unless it is empty, a table or a block. */
static void read_indented(struct wikitext *w)
{
    skip_blanks(w);
    const struct str rest = str_part(w->text, w->at, w->size);
    struct tag_found found;
    size_t looked;
    bool is_block = str_starts(rest, STR("{|"));
    if (str_starts(rest, STR("<")) && tag_read(rest, &found, &looked)) {
        is_block = tags[found.index].ends_paragraph;
        w->facts->steps += looked;
    }
    if (is_block || rest.size == 0)
        walk_end_paragraph(w);
    else
        walk_begin_paragraph(w, PARAGRAPH_PRE);
}

/* A line of dashes is a horizontal rule. */
static bool read_rule(struct wikitext *w)
{
    uint32_t at = w->at;
    while (at < walk_inner_end(w) && w->text.data[at] == '-')
        at++;
    if (at - w->at < 4)
        return false;
    walk_end_paragraph(w);
    walk_skip(w, at, FATE_MARKUP);
    return true;
}

/* True if the template at `at` closes a table: {{S-end}}, {{Chart bottom}}. */
static bool is_table_end(const struct wikitext *w)
{
    LOCAL_WORDS(ends, "bottom", "end", "fin", "footer");
    char canonical[NAME_BYTES_MAX], folded[NAME_BYTES_MAX];
    uint32_t i = w->span;
    const struct span *span = spans_at(&w->spans, &i, w->at);
    return span && span->kind == SPAN_TEMPLATE &&
           words_ending(ends, name_fold(template_name(w->text, &w->spans, i, canonical), folded)) > 0;
}

/* True if a table's line begins at `at` without a {| before it, as after a hidden template. A "!" before a word may be
 * a letter (!Kung) or an exclamation: there the line has more cells, or the next one is a row too. */
static bool begins_row(struct wikitext *w)
{
    const struct str rest = str_part(w->text, w->at, w->size);
    if (!w->after_hidden || rest.size < 2)
        return false;
    if (rest.data[0] == '|' || rest.data[1] == ' ')
        return true;
    uint32_t last;
    const uint32_t end = find_line_end(w, w->at, &last);
    const struct str line = str_range(rest.data, w->text.data + end);
    const char next = end + 1 < w->size ? w->text.data[end + 1] : ' ';
    return next == '|' || next == '!' || str_find(line, STR("!!")) != SIZE_MAX || str_find(line, STR("||")) != SIZE_MAX;
}

/* Skips a table whose {| is in a template, {{S-start}} or {{awards table}}: its rows and cells, up to "|}", a template
 * that ends it, a heading, or a line of text after a blank one. */
static bool read_stray_table(struct wikitext *w)
{
    const char byte = w->text.data[w->at];
    const bool is_row = byte == '|' || byte == '!';
    if (!w->in_stray_table && !((byte == '|' || byte == '!') && begins_row(w)))
        return false;
    if (w->in_stray_table && !is_row && (w->stray_table_breaks || byte == '{')) {
        w->in_stray_table = byte == '{' && !is_table_end(w);
        return false;
    }
    const bool ends = str_starts(str_part(w->text, w->at, w->size), STR("|}"));
    uint32_t last;
    walk_end_paragraph(w);
    walk_skip(w, find_line_end(w, w->at, &last), FATE_TABLE);
    w->in_stray_table = !ends;
    w->stray_table_breaks = false;
    return true;
}

static void read_prose(struct wikitext *w)
{
    if (w->paragraphs.is_open && w->paragraphs.kind == PARAGRAPH_PROSE)
        paragraph_blank(&w->paragraphs);
    else
        walk_begin_paragraph(w, PARAGRAPH_PROSE);
}

void line_begin(struct wikitext *w)
{
    const char byte = w->text.data[w->at];
    const bool is_top = w->depth == 0;
    if (construct_skip_comment(w))
        return; /* the line still begins here */
    const size_t include = byte == '<' ? tag_include(str_part(w->text, w->at, walk_inner_end(w))) : 0;
    if (include > 0 && !spans_at(&w->spans, &w->span, w->at)) { /* <includeonly> is a span, dropped with its content */
        walk_skip(w, w->at + (uint32_t)include, FATE_MARKUP);
        return;
    }
    if (byte == '|' && tabs_read_separator(w))
        return;
    w->line_start = false;
    w->line_hides_block = false;
    w->line_out = w->paragraphs.out->size;
    if (byte == '=' && is_top && read_heading(w)) {
        w->in_stray_table = false;
        return;
    }
    if (w->dropped_section > 0) {
        uint32_t last;
        walk_skip(w, find_line_end(w, w->at, &last), FATE_SECTION);
        return;
    }
    if (is_top && (byte == '|' || byte == '!' || w->in_stray_table) && !is_blank_line(w) && read_stray_table(w))
        return;
    if (is_blank_line(w)) {
        w->stray_table_breaks = true;
        skip_blanks(w);
        walk_end_paragraph(w);
        walk_skip(w, w->at + 1, FATE_MARKUP);
        w->line_start = true;
    } else if (is_list_mark(byte)) {
        read_item(w);
    } else if (byte == ' ' && is_top && !walk_keeps_lines(w)) {
        read_indented(w);
    } else if (byte == '-' && read_rule(w)) {
        /* done */
    } else {
        read_prose(w);
    }
    w->line_out = w->paragraphs.out->size;
}

void line_end(struct wikitext *w)
{
    walk_skip(w, w->at + 1, FATE_MARKUP);
    if (w->inline_depth > 0) {
        paragraph_blank(&w->paragraphs);
        construct_skip_comment(w);
        return;
    }
    const bool only_hidden = w->line_hides_block && paragraph_is_empty(&w->paragraphs, w->line_out);
    w->after_hidden = only_hidden;
    if (w->paragraphs.kind != PARAGRAPH_PROSE || walk_keeps_lines(w) || only_hidden)
        walk_end_paragraph(w);
    w->line_start = true;
}

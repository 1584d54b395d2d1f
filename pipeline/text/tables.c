/* Tables are left out, but for text outside their cells, which browsers and MediaWiki's tidying show before the table:
 * between <table> and <td>, or on the lines between {| or |- and the first cell. Up to a template only that begins a
 * line, because it may hold cells. */
#include "pipeline/text/markup/tags.h"
#include "pipeline/text/walk.h"

struct table {
    const struct span *span;
    uint32_t at, child; /* the first span at or after `at` */
    bool is_html;
};

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n';
}

/* Moves to the end of the line. */
static void skip_line(struct wikitext *w, struct table *table)
{
    const char *end = memchr(w->text.data + table->at, '\n', table->span->end - table->at);
    table->at = end ? (uint32_t)(end - w->text.data) : table->span->end;
}

/* Reads the mark of a row or cell at the beginning of a line; `at` is that of the line's end before it. False if there
 * is none. */
static bool read_mark(struct wikitext *w, struct table *table, bool *in_cell)
{
    uint32_t at = table->at + 1;
    while (at < table->span->end && (w->text.data[at] == ' ' || w->text.data[at] == '\t'))
        at++;
    if (table->is_html || at >= table->span->end || (w->text.data[at] != '|' && w->text.data[at] != '!'))
        return false;
    *in_cell = !str_starts(str_part(w->text, at, table->span->end), STR("|-"));
    table->at = at;
    if (!*in_cell)
        skip_line(w, table);
    return true;
}

/* Reads the tag of a row or cell at `at`; false if there is none. */
static bool read_tag(struct wikitext *w, struct table *table, bool *in_cell)
{
    struct tag_found found;
    size_t looked;
    const struct str rest = str_part(w->text, table->at, table->span->end);
    const bool is_tag = rest.data[0] == '<' && tag_read(rest, &found, &looked);
    w->facts->steps += rest.data[0] == '<' ? looked : 1;
    if (!is_tag || tags[found.index].kind < TAG_TABLE || tags[found.index].kind > TAG_ROW)
        return false;
    *in_cell = tags[found.index].kind == TAG_CELL && !found.closing;
    table->at += (uint32_t)found.size;
    return true;
}

/* Moves to the next mark or tag of a row or cell, or to the end, and past it; its beginning. In a cell, only such a
 * place matters; else a template that begins a line ends the text as well. */
static uint32_t find_border(struct wikitext *w, struct table *table, bool *in_cell)
{
    const bool was_in_cell = *in_cell;
    while ((table->at = signs_next(&w->signs, table->at, table->span->end)) < table->span->end) {
        const uint32_t at = table->at;
        const struct span *inner = spans_at(&w->spans, &table->child, at);
        const bool is_span = inner && inner->kind != SPAN_LINK;
        if (is_span && !was_in_cell && inner->kind == SPAN_TEMPLATE && w->text.data[at - 1] == '\n')
            *in_cell = true;
        if (is_span) { /* a comment that is alone on its line goes with the line's end, where the next line begins */
            table->at = inner->end < table->span->end ? inner->end : table->span->end;
            table->at -= inner->kind == SPAN_COMMENT && w->text.data[inner->end - 1] == '\n';
            table->child = inner->next;
        } else if (!(w->text.data[at] == '\n' ? read_mark : read_tag)(w, table, in_cell)) {
            table->at = at + 1;
        } else {
            return at;
        }
        if (*in_cell != was_in_cell)
            return at;
    }
    return table->span->end;
}

void table_read(struct wikitext *w, uint32_t index, uint32_t from)
{
    const struct span *span = &w->spans.items[index];
    struct table table = {.span = span,
                          .at = from,
                          .child = w->span > index ? w->span : index + 1,
                          .is_html = w->text.data[span->start] == '<'};
    bool in_cell = false;
    struct tag_found found;
    size_t looked;
    if (from == span->start && !table.is_html)
        skip_line(w, &table);
    else if (from == span->start && tag_read(str_part(w->text, from, span->end), &found, &looked))
        table.at += (uint32_t)found.size;
    while (table.at < span->end) {
        uint32_t text = table.at;
        const uint32_t child = table.child;
        const bool was_in_cell = in_cell;
        const uint32_t end = find_border(w, &table, &in_cell);
        while (text < end && is_space(w->text.data[text]))
            text++;
        if (was_in_cell || text == end)
            continue;
        walk_skip(w, text, FATE_TABLE);
        walk_push(w, FRAME_TABLE, end, end, FATE_TABLE);
        w->frames[w->depth - 1].template_span = index;
        w->span = child;
        w->line_start = w->inline_depth == 0 && w->text.data[text - 1] == '\n';
        return;
    }
    w->facts->steps += (span->end - from) / 64;
    walk_skip(w, span->end, FATE_TABLE);
}

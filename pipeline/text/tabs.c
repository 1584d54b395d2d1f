/* The second pass: tabs of a page, which become sections: <tabber>Label=content|-|Label=content</tabber> and
 * <tabs><tab name="Label">content</tab></tabs>. A label is a heading. */
#include "pipeline/text/markup/tags.h"
#include "pipeline/text/walk.h"

#define LABEL_BYTES_MAX 256u
#define SEPARATOR       "|-|"
#define CLOSING         "</tabber"

void tab_begin(struct wikitext *w)
{
    w->line_start |= w->inline_depth == 0 && w->at < w->size && strchr("*#:", w->text.data[w->at]);
}

/* Makes the separators in [from, to) bytes at which the walk stops. */
static void mark_separators(struct wikitext *w, uint32_t from, uint32_t to)
{
    const char *text = w->text.data, *at = text + from;
    w->facts->steps += to - from;
    for (; (at = memmem(at, (size_t)(text + to - at), SEPARATOR, strlen(SEPARATOR))); at++)
        signs_add(&w->signs, (uint32_t)(at - text));
}

bool tabs_close(struct wikitext *w, uint32_t from)
{
    if (w->tabs_end == UINT32_MAX || from <= w->tabs_end)
        return w->tabs_end != UINT32_MAX;
    const char *close = memmem(w->text.data + from, w->size - from, CLOSING, strlen(CLOSING));
    w->tabs_end = close ? (uint32_t)(close - w->text.data) : UINT32_MAX;
    w->facts->steps += (close ? w->tabs_end : w->size) - from;
    if (close)
        mark_separators(w, from, w->tabs_end);
    return close;
}

/* The '=' after the label that begins at `from`, on the same line and outside spans and tags; 0: there is none. */
static uint32_t find_label_end(struct wikitext *w, uint32_t from, uint32_t limit)
{
    const char *text = w->text.data;
    uint32_t at = from, i = w->span;
    bool in_tag = false;
    limit = limit - from < LABEL_BYTES_MAX ? limit : from + LABEL_BYTES_MAX;
    while (at < limit && text[at] != '\n' && (in_tag || text[at] != '=') &&
           !str_starts(str_range(text + at, text + limit), STR(SEPARATOR))) {
        const struct span *span = spans_at(&w->spans, &i, at);
        in_tag = text[at] == '<' || (in_tag && text[at] != '>');
        at = span ? span->end : at + 1;
    }
    w->facts->steps += at < limit ? at - from : LABEL_BYTES_MAX;
    return at > from && at < limit && text[at] == '=' ? at : 0;
}

/* A tab's label and its '='; what follows begins a line. */
static void read_label(struct wikitext *w)
{
    const uint32_t inner_end = walk_inner_end(w), limit = w->tabs_end < inner_end ? w->tabs_end : inner_end;
    const char *text = w->text.data;
    uint32_t from = w->at;
    walk_break_paragraph(w);
    while (from < limit && (text[from] == ' ' || text[from] == '\n' || text[from] == '\t'))
        from++;
    const uint32_t equals = w->inline_depth == 0 ? find_label_end(w, from, limit) : 0;
    uint32_t end = equals + 1;
    while (end < limit && text[end] == ' ')
        end++;
    w->section_has_prose = false;
    if (equals == 0)
        return;
    walk_skip(w, from, FATE_MARKUP);
    if (!(w->options.keep & KEEP_HEADINGS)) {
        walk_skip(w, end, FATE_HEADING);
        tab_begin(w);
        return;
    }
    walk_begin_paragraph(w, PARAGRAPH_HEADING);
    walk_push(w, FRAME_HEADING, equals, end, FATE_MARKUP);
}

void tabs_open(struct wikitext *w)
{
    w->tabs++;
    read_label(w);
}

void tabs_end(struct wikitext *w)
{
    w->tabs--;
    walk_break_paragraph(w);
    if (w->tabs > 0) /* of the outer one */
        tabs_close(w, w->at);
}

bool tabs_read_separator(struct wikitext *w)
{
    const struct str rest = str_part(w->text, w->at, walk_inner_end(w));
    if (w->tabs == 0 || !str_starts(rest, STR(SEPARATOR)))
        return false;
    w->in_stray_table = false;
    walk_skip(w, w->at + (uint32_t)strlen(SEPARATOR), FATE_MARKUP);
    read_label(w);
    return true;
}

void tab_open(struct wikitext *w, struct str attributes, uint32_t end)
{
    const struct str label = str_trim(tag_attribute(attributes, "name"));
    walk_break_paragraph(w);
    w->section_has_prose = false;
    if (label.size == 0 || w->inline_depth > 0 || !(w->options.keep & KEEP_HEADINGS) || label.size > LABEL_BYTES_MAX) {
        walk_skip(w, end, FATE_MARKUP);
    } else {
        walk_begin_paragraph(w, PARAGRAPH_HEADING);
        walk_show(w, end, label);
        walk_end_paragraph(w);
    }
    tab_begin(w);
}

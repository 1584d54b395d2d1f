/* The second pass, part three: what a single byte in running text may begin: apostrophes, entities, tags whose content
 * is shown, external links, signatures. */
#include "pipeline/text/markup/entities.h"
#include "pipeline/text/markup/quotes.h"
#include "pipeline/text/markup/tags.h"
#include "pipeline/text/walk.h"

#define OPEN_BOXES_MAX 16u
#define TAG_CUTS_MAX   8u

static void read_apostrophes(struct wikitext *w)
{
    const uint32_t limit = walk_inner_end(w);
    uint32_t end = w->at;
    while (end < limit && w->text.data[end] == '\'')
        end++;
    const uint32_t count = end - w->at;
    const enum walk_frame_kind frame = w->depth > 0 ? w->frames[w->depth - 1].kind : FRAME_LINES;
    uint32_t literal = quotes_literal(count);
    if (frame == FRAME_TITLE) {
        literal = count;
    } else if (count > 1 && w->at >= w->quotes_line_end) {
        const char *line_end = frame == FRAME_LABEL || frame == FRAME_CAPTION
                                   ? w->text.data + limit
                                   : memchr(w->text.data + w->at, '\n', w->size - w->at);
        w->quotes_line_end = line_end ? (uint32_t)(line_end - w->text.data) : w->size;
        w->quotes_apostrophe = quotes_apostrophe(w->text, &w->spans, w->span, w->at, w->quotes_line_end);
        w->facts->steps += 2 * (uint64_t)(w->quotes_line_end - w->at);
    }
    if (count > 1 && w->at == w->quotes_apostrophe)
        literal++;
    walk_keep(w, w->at + literal);
    walk_skip(w, end, FATE_MARKUP);
}

static void read_entity(struct wikitext *w)
{
    struct entity_shown shown;
    const size_t size = entity_decode(str_part(w->text, w->at, walk_inner_end(w)), &shown);
    w->facts->steps += size + 12;
    if (size == 0) {
        walk_keep(w, w->at + 1);
        return;
    }
    walk_show(w, w->at + (uint32_t)size, (struct str){shown.bytes, shown.size});
}

static void read_break(struct wikitext *w, uint32_t end)
{
    struct buf *out = w->paragraphs.out;
    while (end < walk_inner_end(w) && w->text.data[end] == ' ')
        end++;
    walk_skip(w, end, FATE_MARKUP);
    const bool again = out->size == w->break_out; /* two in a row make a paragraph */
    if (walk_keeps_lines(w) || again)
        walk_break_paragraph(w);
    else
        paragraph_blank(&w->paragraphs);
    w->break_out = out->size;
}

/* An extension's tag without its counterpart is text. */
static bool is_text(struct wikitext *w, const struct tag *tag, bool closing, uint32_t end)
{
    if (tag->kind == TAG_POEM && closing)
        return !w->is_poem;
    if (tag->kind == TAG_POEM && end > w->poem_end) {
        const char *close = memmem(w->text.data + end, w->size - end, "</poem", 6);
        w->poem_end = close ? (uint32_t)(close - w->text.data) : UINT32_MAX;
        w->facts->steps += (close ? w->poem_end : w->size) - end;
    }
    if (tag->kind == TAG_POEM)
        return w->poem_end == UINT32_MAX;
    if (tag->kind == TAG_TABS)
        return closing ? w->tabs == 0 : !tabs_close(w, end);
    return tag->kind >= TAG_DROP && tag->kind != TAG_PRE && tag->fate != FATE_DELETED;
}

/* The end of the tag. A template may be inside a tag, and contain a '>'. 0: the tag does not end. */
static uint32_t find_tag_end(struct wikitext *w, uint32_t end, uint32_t limit)
{
    const struct spans *spans = &w->spans;
    for (uint32_t i = w->span; i < spans->count && spans->items[i].start < end;) {
        const struct span *span = &spans->items[i];
        const bool is_link = span->kind == SPAN_LINK; /* a link is not allowed inside a tag */
        i = is_link ? i + 1 : span->next;
        if (is_link || span->end <= end)
            continue;
        for (end = span->end; end < limit && w->text.data[end] != '>' && w->text.data[end] != '<';)
            end++;
        w->facts->steps += end - span->end;
        if (end >= limit || w->text.data[end] != '>')
            return 0;
        end++;
    }
    return end;
}

/* The end of what has the form of a tag at `at`, not inside a span; `at` if nothing has. */
static uint32_t find_leak_end(struct wikitext *w, struct str rest)
{
    const uint32_t limit = walk_inner_end(w);
    const char *text = w->text.data;
    uint32_t end = w->at + (uint32_t)leak_tag(rest, &w->facts->steps), i = w->span;
    for (; i < w->spans.count && w->spans.items[i].start < end; i = w->spans.items[i].next)
        if (w->spans.items[i].end > end)
            end = w->spans.items[i].end <= limit ? w->spans.items[i].end : w->spans.items[i].start;
    uint32_t at = end; /* among the attributes there may be templates: <foo a="b" {{c}}>; few, so the work is linear */
    for (unsigned steps = 0; at > w->at && at < limit && steps < 8; steps++, w->facts->steps++) {
        const struct span *span = spans_at(&w->spans, &i, at);
        if (!span && text[at] != ' ')
            break;
        at = span ? span->end : at + 1;
        i = span ? span->next : i;
    }
    return at > end && at < limit && text[at] == '>' && text[end - 1] != '>' ? at + 1 : end;
}

/* True if a person broke the tag so that it shows: <<nowiki/>ref>, <'''b'''>. */
static bool is_broken_tag(const struct wikitext *w)
{
    const struct spans *spans = &w->spans;
    const struct str rest = str_part(w->text, w->at, w->size);
    if (str_starts(rest, STR("<''")) || str_starts(rest, STR("</''")))
        return true;
    return w->span < spans->count && spans->items[w->span].start == w->at + 1 &&
           spans->items[w->span].kind == SPAN_TAG && tags[spans->items[w->span].tag].kind == TAG_LITERAL;
}

/* A tag that MediaWiki shows as it stands, because it does not know it or its counterpart is missing. */
static void skip_leak(struct wikitext *w, uint32_t end)
{
    if (end == w->at) {
        if (!is_broken_tag(w))
            leaks_watch_page(w);
        walk_keep(w, w->at + 1);
        return;
    }
    leaks_note(w, LEAK_OF_PAGE);
    if (leaks_is_alone(w, str_part(w->text, w->at, end))) {
        walk_keep(w, w->at + 1); /* what follows is read as text is */
        return;
    }
    walk_skip(w, end, FATE_LEAK);
    walk_gap(w, GAP);
}

/* The end of the line that `from` is on, outside spans, or of its paragraph: the line before a blank one, a heading, a
 * list or a table. */
static uint32_t find_break(struct wikitext *w, uint32_t from, bool is_line)
{
    const uint32_t limit = walk_inner_end(w);
    const char *text = w->text.data;
    uint32_t at = from, i = w->span;
    for (; at < limit; at++) {
        const struct span *span = spans_at(&w->spans, &i, at);
        if (span && span->kind != SPAN_LINK && span->end <= limit)
            at = span->end - 1;
        else if (text[at] == '\n' && (is_line || at + 1 == limit || strchr("\n=*#:;{|", text[at + 1])))
            break;
    }
    at = at < limit ? at : limit;
    w->facts->steps += at - from;
    return at;
}

/* The end of the element whose opening tag ends at `from`, before `limit`; 0: it is not closed there. */
static uint32_t find_element_end(struct wikitext *w, unsigned tag, uint32_t from, uint32_t limit)
{
    const char *text = w->text.data;
    static const char *const items[] = {"li", "dd", "dt"};
    bool is_item = false;
    for (size_t k = 0; k < sizeof items / sizeof *items; k++)
        is_item |= strcmp(tags[tag].name, items[k]) == 0;
    uint32_t at = from, i = w->span;
    for (unsigned depth = 1; at < limit;) {
        const char *next = memchr(text + at, '<', limit - at);
        const uint32_t stop = next ? (uint32_t)(next - text) : limit;
        while (i < w->spans.count && w->spans.items[i].end <= stop)
            i++;
        struct tag_found found;
        size_t looked = 1;
        at = stop + 1;
        if (i < w->spans.count && w->spans.items[i].start <= stop && w->spans.items[i].kind != SPAN_LINK &&
            w->spans.items[i].end <= limit)
            at = w->spans.items[i].end;
        else if (next && tag_read(str_range(next, text + limit), &found, &looked)) {
            const bool is_next = is_item && found.index == tag && !found.closing; /* an item ends before the next */
            at = stop + (is_next ? 0 : (uint32_t)found.size);
            depth -= is_next;
            if (!is_next && found.index == tag && !found.self_closing)
                depth += found.closing ? -1u : 1u;
            if (depth == 0)
                break;
        }
        if (at >= limit)
            at = 0;
        if (at == 0)
            break;
    }
    w->facts->steps += (at > 0 ? at : limit) - from;
    return at;
}

/* A box, a remark beside the text, or what is hidden: left out with its content. It ends with its list item or, if it
 * is inline, with its paragraph. A block that nothing closes ends there as well; in MediaWiki it goes on to the end of
 * the page. Few such are searched for an end, so that the work stays linear. */
static bool skip_box(struct wikitext *w, const struct tag_found *found, uint32_t end)
{
    if (found->closing || found->self_closing || !tag_is_box(found->index, found->attributes))
        return false;
    const bool is_block = tags[found->index].ends_paragraph;
    const bool in_item = w->paragraphs.is_open && w->paragraphs.kind == PARAGRAPH_ITEM;
    const bool is_short = in_item || !is_block || strcmp(tags[found->index].name, "p") == 0;
    uint32_t limit = is_short ? find_break(w, end, in_item) : walk_inner_end(w), close = 0;
    if (is_short || w->open_boxes < OPEN_BOXES_MAX)
        close = find_element_end(w, found->index, end, limit);
    if (close == 0 && !is_short) {
        w->open_boxes++;
        limit = find_break(w, end, false);
    }
    if (is_block)
        walk_break_paragraph(w);
    walk_skip(w, close > 0 ? close : limit, is_block ? FATE_TABLE : FATE_MARKUP);
    if (!is_block)
        walk_gap(w, GAP_SILENT);
    w->line_hides_block |= is_block;
    return true;
}

/* Reads a tag whose attributes hold <nowiki>, <ref> or a comment, as MediaWiki does, which takes those out first. The
 * first of them begins at rest[stop]. */
static bool read_tag_around(struct wikitext *w, struct str rest, size_t stop, struct tag_found *found, uint32_t *end)
{
    char *text = w->tag;
    bool has_name = false;
    uint32_t taken = 0, cut_from[TAG_CUTS_MAX], cut[TAG_CUTS_MAX], cuts = 0; /* bytes cut before text[cut_from] */
    uint32_t at = w->at, i = w->span;
    const uint32_t limit = w->at + (uint32_t)(rest.size < sizeof w->tag ? rest.size : sizeof w->tag);
    if (!spans_at(&w->spans, &i, w->at + (uint32_t)stop))
        return false;
    i = w->span;
    while (at < limit && w->text.data[at] != '>') {
        const struct span *span = spans_at(&w->spans, &i, at);
        if (span && (span->kind == SPAN_TAG || span->kind == SPAN_COMMENT) && has_name && cuts < TAG_CUTS_MAX &&
            span->end < limit) {
            cut_from[cuts] = taken;
            cut[cuts++] = span->end - at;
            at = span->end;
        } else {
            has_name |= w->text.data[at] == ' '; /* "<<nowiki/>ref>" is no tag */
            text[taken++] = w->text.data[at++];
        }
    }
    size_t looked;
    w->facts->steps += at - w->at;
    if (at == limit || cuts == 0)
        return false;
    text[taken++] = '>';
    if (!tag_read((struct str){text, taken}, found, &looked))
        return false;
    *end = w->at + (uint32_t)found->size;
    for (uint32_t k = 0; k < cuts; k++)
        *end += cut_from[k] < found->size ? cut[k] : 0;
    return true;
}

static void read_tag(struct wikitext *w)
{
    struct tag_found found;
    size_t looked;
    const struct str rest = str_part(w->text, w->at, walk_inner_end(w));
    if (w->in_tvar && str_starts(rest, STR("</>"))) {
        w->in_tvar = false;
        walk_skip(w, w->at + 3, FATE_MARKUP);
        return;
    }
    bool is_tag = tag_read(rest, &found, &looked);
    w->facts->steps += looked;
    uint32_t end = is_tag ? find_tag_end(w, w->at + (uint32_t)found.size, walk_inner_end(w)) : 0;
    if (!is_tag && rest.size > looked && rest.data[looked] == '<')
        is_tag = read_tag_around(w, rest, looked, &found, &end);
    const struct tag *tag = is_tag ? &tags[found.index] : NULL;
    if (end == 0 || is_text(w, tag, found.closing, end)) {
        skip_leak(w, end > 0 ? end : find_leak_end(w, rest));
        return;
    }
    if (tag->kind <= TAG_BLOCK && skip_box(w, &found, end))
        return;
    if (tag->kind == TAG_BREAK) {
        read_break(w, end);
    } else if (tag->kind == TAG_TAB && !found.closing) {
        tab_open(w, found.attributes, end);
    } else if (tag->kind == TAG_QUOTE) {
        walk_show(w, end, STR("\""));
    } else {
        walk_skip(w, end, FATE_MARKUP);
        if (tag->kind == TAG_POEM)
            w->is_poem = !found.closing;
        if (tag->ends_paragraph)
            walk_break_paragraph(w);
        if (tag->kind == TAG_TABS && !found.self_closing)
            (found.closing ? tabs_end : tabs_open)(w);
        w->in_tvar |= str_starts(found.attributes, STR("|"));
    }
}

/* The first `byte` in [from, limit) outside spans, or the line's end if that comes first. */
static uint32_t find_on_line(struct wikitext *w, uint32_t from, uint32_t limit, char byte)
{
    uint32_t at = from, i = w->span;
    for (; at < limit; at++) {
        const struct span *span = spans_at(&w->spans, &i, at);
        if (span)
            at = span->end - 1;
        else if (w->text.data[at] == byte || w->text.data[at] == '\n')
            break;
    }
    at = at < limit ? at : limit;
    w->facts->steps += at - from;
    return at;
}

/* The end of the address that begins at `from`. MediaWiki accepts any byte except these; at that point templates and
 * comments are gone, and quotes have become tags. */
static uint32_t find_address_end(const struct wikitext *w, uint32_t from, uint32_t limit)
{
    const char *text = w->text.data;
    uint32_t at = from, i = w->span;
    while (at < limit && (unsigned char)text[at] > ' ') {
        const struct span *span = spans_at(&w->spans, &i, at);
        if (span && (span->kind == SPAN_TEMPLATE || span->kind == SPAN_ARGUMENT || span->kind == SPAN_COMMENT)) {
            at = span->end;
            i = span->next;
        } else if (strchr("[]<>\"", text[at]) || str_starts(str_range(text + at, text + limit), STR("''"))) {
            break;
        } else {
            at++;
        }
    }
    return at < limit ? at : limit;
}

/* The size of a template that gives the beginning of an address, {{fullurl:Page}}; 0: there is none at `at`. */
static size_t address_template(const struct wikitext *w, uint32_t at)
{
    LOCAL_WORDS(names, "{{SERVER}}", "{{canonicalurl:", "{{filepath:", "{{fullurl:");
    if (words_starting(names, str_part(w->text, at, walk_inner_end(w))) == 0)
        return 0;
    uint32_t i = w->span;
    const struct span *span = spans_at(&w->spans, &i, at);
    return span && span->kind == SPAN_TEMPLATE ? span->end - at : 0;
}

/* The size of a host in brackets, [2001:db8::1], at the start of an address without its scheme; 0: it has none. */
static uint32_t bracketed_host(struct str address)
{
    uint32_t size = 1;
    while (size < address.size && strchr("0123456789abcdefABCDEF:.", address.data[size]) && address.data[size])
        size++;
    return size > 1 && size < address.size && address.data[0] == '[' && address.data[size] == ']' ? size + 1 : 0;
}

/* [https://example.org label] */
static void read_bracket(struct wikitext *w)
{
    const uint32_t limit = walk_inner_end(w);
    const uint32_t address = w->at + 1;
    const bool nested = w->depth > 0 && w->frames[w->depth - 1].kind == FRAME_EXTERNAL;
    const size_t from_template = address_template(w, address);
    const size_t scheme = from_template > 0 ? from_template : link_scheme(str_part(w->text, address, limit));
    if (nested || scheme == 0) {
        walk_keep(w, address);
        return;
    }
    const uint32_t host = address + (uint32_t)scheme, path = host + bracketed_host(str_part(w->text, host, limit));
    if (path > host || w->at < w->bracket_from || w->at >= w->bracket) {
        w->bracket_from = w->at;
        w->bracket = find_on_line(w, path > host ? path : w->at, limit, ']');
    }
    const bool closes = w->bracket < limit && w->text.data[w->bracket] == ']';
    uint32_t label = closes ? find_address_end(w, path, w->bracket) : address;
    w->facts->steps += label - address;
    if (!closes || (label == host && from_template == 0)) {
        walk_keep(w, address);
        return;
    }
    while (label < w->bracket && w->text.data[label] == ' ')
        label++;
    const uint32_t end = w->bracket + 1;
    if (label == w->bracket) {
        walk_skip(w, end, FATE_URL);
        walk_gap(w, GAP);
        return;
    }
    walk_open_paragraph(w);
    walk_skip(w, label, FATE_URL);
    walk_push(w, FRAME_EXTERNAL, end - 1, end, FATE_MARKUP);
}

static void read_tildes(struct wikitext *w)
{
    const uint32_t limit = walk_inner_end(w);
    uint32_t end = w->at;
    while (end < limit && w->text.data[end] == '~')
        end++;
    if (end - w->at < 3 || end - w->at > 5) {
        walk_keep(w, end);
        return;
    }
    walk_skip(w, end, FATE_MAGIC); /* a signature */
    walk_gap(w, GAP);
}

void inline_read(struct wikitext *w)
{
    switch (w->text.data[w->at]) {
    case '\'':
        read_apostrophes(w);
        break;
    case '&':
        read_entity(w);
        break;
    case '<':
        read_tag(w);
        break;
    case '[':
        read_bracket(w);
        break;
    case '~':
        read_tildes(w);
        break;
    case '|':
        if (!tabs_read_separator(w))
            walk_keep(w, w->at + 1);
        break;
    case '>':
    case '{':
    case '_':
    case '-':
        walk_keep(w, w->at + 1);
        break;
    default:
        walk_skip(w, w->at + 1, FATE_CONTROL);
    }
}

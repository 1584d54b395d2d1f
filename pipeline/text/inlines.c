/* The second pass, part three: what a single byte in running text may begin: apostrophes, entities, tags whose content
 * shows, external links, signatures, variants. */
#include "pipeline/text/entities.h"
#include "pipeline/text/quotes.h"
#include "pipeline/text/tags.h"
#include "pipeline/text/walk.h"

static void read_apostrophes(struct wikitext *w)
{
    const uint32_t limit = walk_inner_end(w);
    uint32_t end = w->at;
    while (end < limit && w->text.data[end] == '\'')
        end++;
    const uint32_t count = end - w->at;
    uint32_t literal = quotes_literal(count);
    if (count > 1 && w->at >= w->quotes_line_end) {
        const char *line_end = memchr(w->text.data + w->at, '\n', w->size - w->at);
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
    uint32_t code_point;
    const size_t size = entity_decode(str_range(w->text.data + w->at, w->text.data + walk_inner_end(w)), &code_point);
    w->facts->steps += ENTITY_BYTES_MAX;
    if (size == 0) {
        walk_keep(w, w->at + 1);
        return;
    }
    char encoded[4];
    if (code_point == '\n' || code_point == '\r')
        code_point = ' ';
    walk_show(w, w->at + (uint32_t)size, (struct str){encoded, utf8_encode(code_point, encoded)});
}

static void read_break(struct wikitext *w, uint32_t end)
{
    struct buf *out = w->paragraphs.out;
    walk_skip(w, end, FATE_MARKUP);
    const bool again = out->size == w->break_out; /* two of them make a paragraph */
    if (w->is_poem || again)
        walk_break_paragraph(w);
    else
        paragraph_blank(&w->paragraphs);
    w->break_out = out->size;
}

static void read_tag(struct wikitext *w)
{
    struct tag_found found;
    size_t looked;
    const struct str rest = str_range(w->text.data + w->at, w->text.data + walk_inner_end(w));
    const bool is_tag = tag_read(rest, &found, &looked);
    w->facts->steps += looked;
    if (!is_tag) {
        walk_keep(w, w->at + 1);
        return;
    }
    const struct tag *tag = &tags[found.index];
    const uint32_t end = w->at + (uint32_t)found.size;
    if (tag->kind == TAG_BREAK) {
        read_break(w, end);
    } else if (tag->kind == TAG_QUOTE) {
        walk_show(w, end, STR("\""));
    } else {
        walk_skip(w, end, FATE_MARKUP);
        if (tag->kind == TAG_POEM)
            w->is_poem = !found.closing;
        if (tag->ends_paragraph)
            walk_break_paragraph(w);
    }
}

/* The first `byte` in [from, limit) that is in no span, or the line's end if that comes first. */
static uint32_t find_on_line(struct wikitext *w, uint32_t from, uint32_t limit, char byte)
{
    uint32_t at = from, span = w->span;
    for (; at < limit; at++) {
        while (span < w->spans.count && w->spans.items[span].start < at)
            span++;
        if (span < w->spans.count && w->spans.items[span].start == at) {
            at = w->spans.items[span].end - 1;
            span = w->spans.items[span].next;
            continue;
        }
        const char here = w->text.data[at];
        if (here == byte || here == '\n')
            break;
    }
    at = at < limit ? at : limit;
    w->facts->steps += at - from;
    return at;
}

/* [https://example.org label] */
static void read_bracket(struct wikitext *w)
{
    const uint32_t limit = walk_inner_end(w);
    const uint32_t address = w->at + 1;
    const bool nested = w->depth > 0 && w->frames[w->depth - 1].kind == FRAME_EXTERNAL;
    if (nested || link_scheme(str_range(w->text.data + address, w->text.data + limit)) == 0) {
        walk_keep(w, address);
        return;
    }
    if (w->at < w->bracket_from || w->at >= w->bracket) {
        w->bracket_from = w->at;
        w->bracket = find_on_line(w, w->at, limit, ']');
    }
    if (w->bracket >= limit || w->text.data[w->bracket] != ']') {
        walk_keep(w, address);
        return;
    }
    uint32_t label = address;
    while (label < w->bracket && w->text.data[label] != ' ' && w->text.data[label] != '\t')
        label++;
    const uint32_t end = w->bracket + 1;
    if (label == w->bracket) {
        walk_skip(w, end, FATE_URL);
        walk_gap(w);
        return;
    }
    walk_open_paragraph(w);
    walk_skip(w, label + 1, FATE_URL);
    walk_push(w, FRAME_EXTERNAL, end - 1, end, FATE_MARKUP);
}

/* -{…}-: the words of the first of these that it names, else all of it. */
static void read_variant(struct wikitext *w)
{
    static const char *const wanted[] = {"zh-hans:", "zh-cn:", "zh-hant:", "zh-tw:", "zh:"};
    const uint32_t limit = walk_inner_end(w);
    const char *text = w->text.data;
    if (w->at + 1 >= limit || text[w->at + 1] != '{') {
        walk_keep(w, w->at + 1);
        return;
    }
    if (w->at < w->variant_from || w->at >= w->variant) {
        const char *close = memmem(text + w->at, limit - w->at, "}-", 2);
        w->variant_from = w->at;
        w->variant = close ? (uint32_t)(close - text) : limit;
        w->facts->steps += w->variant - w->at;
    }
    if (w->variant >= limit) {
        walk_keep(w, w->at + 2);
        return;
    }
    const char *inner = text + w->at + 2, *inner_stop = text + w->variant;
    const uint32_t end = w->variant + 2;
    const char *bar = memchr(inner, '|', (size_t)(inner_stop - inner));
    w->facts->steps += 6 * (uint64_t)(end - w->at);
    if (bar) {
        bool hidden = false;
        for (const char *flag = inner; flag < bar; flag++)
            hidden |= *flag == 'H' || *flag == 'T' || *flag == '-';
        if (hidden) {
            walk_skip(w, end, FATE_VARIANT);
            walk_gap(w);
            return;
        }
        inner = bar + 1;
    }
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const size_t at = str_find(str_range(inner, inner_stop), str_of(wanted[i]));
        if (at == SIZE_MAX)
            continue;
        inner += at + strlen(wanted[i]);
        const char *stop = memchr(inner, ';', (size_t)(inner_stop - inner));
        inner_stop = stop ? stop : inner_stop;
        break;
    }
    walk_open_paragraph(w);
    walk_skip(w, (uint32_t)(inner - text), FATE_VARIANT);
    walk_push(w, FRAME_INLINE, (uint32_t)(inner_stop - text), end, FATE_VARIANT);
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
    walk_gap(w);
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
    case '-':
        read_variant(w);
        break;
    case '{':
    case '_':
        walk_keep(w, w->at + 1);
        break;
    default:
        walk_skip(w, w->at + 1, FATE_CONTROL);
    }
}

/* The second pass: [[…]]. What is not a title, or contains another link, is text with its brackets, as MediaWiki shows
 * it. */
#include "pipeline/text/markup/entities.h"
#include "pipeline/text/markup/tags.h"
#include "pipeline/text/walk.h"

#define TITLE_BYTES_MAX 255u /* MediaWiki's */

/* An option of a picture: thumb, left, 220px, link=…; also one of an extension, thumbtime=9. */
static bool is_file_option(const struct wikitext *w, struct str argument)
{
    argument = str_trim(argument);
    size_t at = 0;
    while (at < argument.size && argument.data[at] >= 'a' && argument.data[at] <= 'z')
        at++;
    return argument.size == 0 || (at > 0 && at < argument.size && argument.data[at] == '=') ||
           magic_is_option(&w->magic, argument);
}

static void read_file(struct wikitext *w, const struct span *span)
{
    w->line_hides_block = true;
    if (w->options.keep & KEEP_CAPTIONS) {
        struct span_walk walk = span_walk(w->text, &w->spans, w->span);
        uint32_t equals, from = 0, to = 0;
        walk.takes_bars = true;
        for (bool more = span_walk_to_bar(&walk, &equals); more;) {
            const uint32_t start = walk.at = walk.bar_end;
            more = span_walk_to_bar(&walk, &equals);
            if (is_file_option(w, str_part(w->text, start, walk.at)))
                continue;
            from = start; /* the last one is the caption */
            to = walk.at;
        }
        w->facts->steps += walk.steps;
        if (from > 0) {
            walk_skip(w, from, FATE_FILE);
            walk_open_paragraph(w);
            walk_push(w, FRAME_CAPTION, to, span->end, FATE_FILE);
            return;
        }
    }
    walk_skip(w, span->end, FATE_FILE);
    walk_gap(w, GAP_SILENT);
}

/* What a title with %20 and the like shows; false if there is none, or if it is no title then. */
static bool decode_title(struct str title, struct buf *out)
{
    bool any = false;
    buf_reset(out);
    for (size_t at = 0; at < title.size; at++) {
        unsigned char byte = (unsigned char)title.data[at];
        const bool is_code = byte == '%' && at + 2 < title.size && hex_read(str_part(title, at + 1, at + 3), &byte);
        buf_add_byte(out, (char)byte);
        at += is_code ? 2 : 0;
        any |= is_code;
        if (byte < ' ' || memchr("<>[]{}|", byte, 7))
            return false;
    }
    return any && utf8_valid(buf_str(out));
}

/* Where the value begins in [[property::value]], as in Semantic MediaWiki; 0: it is none. [[std::vector]] is not. */
static size_t value_start(struct str target)
{
    size_t start = 0;
    for (size_t at = 1; at + 2 < target.size; at++)
        if (target.data[at] == ':' && target.data[at + 1] == ':' && target.data[at + 2] != ':')
            start = at + 2;
    return target.data[0] == ':' || str_starts(target, STR("std::")) ? 0 : start;
}

/* The label of [[target|label]], or the target itself. bar_end: after the bar, or 0. */
static void read_label(struct wikitext *w, const struct span *span, struct str target, uint32_t bar_end)
{
    const bool has_label = bar_end > 0;
    if (has_label && bar_end == span->inner_end) {
        walk_show(w, span->end, link_pipe_trick(&w->namespaces, target));
        return;
    }
    if (!has_label && memchr(target.data, '%', target.size) && decode_title(target, &w->renders.scratch)) {
        const struct str shown = str_trim(buf_str(&w->renders.scratch));
        walk_show(w, span->end, str_starts(shown, STR(":")) ? str_from(shown, 1) : shown);
        return;
    }
    uint32_t from = has_label ? bar_end : span->inner_start, to = span->inner_end;
    while (!has_label && to > from && w->text.data[to - 1] == ' ')
        to--;
    while (!has_label && from < to && w->text.data[from] == ' ')
        from++;
    if (!has_label && from < to)
        from += (uint32_t)value_start(str_part(w->text, from, to));
    from += !has_label && from < to && w->text.data[from] == ':';
    walk_open_paragraph(w);
    walk_skip(w, from, FATE_MARKUP);
    walk_push(w, has_label ? FRAME_LABEL : FRAME_TITLE, to, span->end, FATE_MARKUP);
}

static const bool never_in_titles[256] = {
    ['<'] = true, ['>'] = true, ['['] = true, [']'] = true, ['{'] = true, ['}'] = true};

/* True if a page could have this title, ignoring inner spans. */
static bool is_title(const struct wikitext *w, struct str target)
{
    const uint32_t from = (uint32_t)(target.data - w->text.data), end = from + (uint32_t)target.size;
    uint32_t child = w->span + 1, size = 0;
    const bool has_child = child < w->spans.count && w->spans.items[child].start < end;
    if (!has_child && target.size <= TITLE_BYTES_MAX && signs_next(&w->signs, from, end) == end &&
        signs_next(&w->spans.signs, from, end) == end)
        return link_is_title(&w->namespaces, target); /* none of the bytes looked for below is in it */
    for (uint32_t at = from; at < end && size <= TITLE_BYTES_MAX;) {
        const struct span *inner = spans_at(&w->spans, &child, at);
        if (inner) {
            if (inner->kind == SPAN_LINK || (inner->kind == SPAN_TAG && tags[inner->tag].fate != FATE_INCLUDE))
                return false;
            at = inner->end;
            child = inner->next;
            continue;
        }
        const unsigned char byte = (unsigned char)w->text.data[at];
        if (byte < ' ' || never_in_titles[byte])
            return false;
        struct entity_shown shown;
        if (byte == '&' && entity_decode((struct str){w->text.data + at, end - at}, &shown) > 0 &&
            (shown.bytes[0] == '|' || never_in_titles[(unsigned char)shown.bytes[0]]))
            return false;
        at++;
        size++;
    }
    return size <= TITLE_BYTES_MAX && (child > w->span + 1 || link_is_title(&w->namespaces, target));
}

/* A link inside the text of another makes the outer one text; only pictures may contain links. */
static bool holds_link(struct wikitext *w, const struct span *span)
{
    for (uint32_t i = w->span + 1; i < span->next; i = w->spans.items[i].next, w->facts->steps++)
        if (w->spans.items[i].kind == SPAN_LINK)
            return true;
    return false;
}

void construct_read_link(struct wikitext *w, const struct span *span)
{
    struct span_walk walk = span_walk(w->text, &w->spans, w->span);
    uint32_t equals;
    walk.takes_bars = true;
    const bool has_label = span_walk_to_bar(&walk, &equals);
    w->facts->steps += walk.steps;
    const struct str target = str_part(w->text, span->inner_start, walk.at);
    w->facts->steps += target.size < TITLE_BYTES_MAX ? target.size : TITLE_BYTES_MAX;
    const enum link_kind kind = span->tag == 0 && is_title(w, target) ? link_kind_of(&w->namespaces, target) : LINK_URL;
    switch (kind != LINK_FILE && holds_link(w, span) ? LINK_URL : kind) {
    case LINK_FILE:
        read_file(w, span);
        break;
    case LINK_CATEGORY:
        walk_skip(w, span->end, FATE_CATEGORY);
        walk_gap(w, GAP_SILENT);
        break;
    case LINK_INTERLANGUAGE:
        walk_skip(w, span->end, FATE_INTERWIKI);
        walk_gap(w, GAP_SILENT);
        break;
    case LINK_URL:
        walk_keep(w, w->at + 1); /* the brackets are text, and may contain an external link */
        break;
    case LINK_TEXT:
        read_label(w, span, target, has_label ? walk.bar_end : 0);
        break;
    }
}

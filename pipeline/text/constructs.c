/* The second pass, part two: templates, tags with their content, tables. Links and choices of spellings have their own
 * files. The first pass knows where they all end. */
#include "base/mem.h"
#include "pipeline/text/markup/entities.h"
#include "pipeline/text/markup/formula.h"
#include "pipeline/text/markup/tags.h"
#include "pipeline/text/templates/templates.h"
#include "pipeline/text/walk.h"

#include <assert.h>

/* The size of a tag <nowiki> or </nowiki>, which <pre> ignores; 0: there is none. */
static uint32_t nowiki_tag(struct str text)
{
    struct tag_found found;
    size_t looked;
    if (!str_starts(text, STR("<")) ||
        !tag_read((struct str){text.data, text.size < 16 ? text.size : 16}, &found, &looked))
        return 0;
    return tags[found.index].kind == TAG_LITERAL ? (uint32_t)found.size : 0;
}

/* Text that is not wikitext: nowiki, pre, where only entities have a meaning, and code, where nothing has. */
enum literal_kind { LITERAL_NOWIKI, LITERAL_PRE, LITERAL_CODE };

static void keep_literal(struct wikitext *w, uint32_t end, enum literal_kind kind)
{
    const bool line_by_line = kind == LITERAL_PRE;
    while (w->at < end) {
        const char byte = w->text.data[w->at];
        struct entity_shown shown;
        size_t size = 0;
        const uint32_t tag = line_by_line ? nowiki_tag(str_part(w->text, w->at, end)) : 0;
        if (tag > 0) {
            walk_skip(w, w->at + tag, FATE_MARKUP);
            continue;
        }
        if (byte == '&' && kind != LITERAL_CODE)
            size = entity_decode(str_part(w->text, w->at, end), &shown);
        if (size > 0) {
            walk_show(w, w->at + (uint32_t)size, (struct str){shown.bytes, shown.size});
        } else if (byte == '\n' && line_by_line) {
            walk_skip(w, w->at + 1, FATE_MARKUP);
            walk_begin_paragraph(w, PARAGRAPH_PRE);
        } else if (byte == '\n') {
            walk_show(w, w->at + 1, STR(" "));
        } else if ((unsigned char)byte < ' ' && byte != '\t') {
            walk_skip(w, w->at + 1, FATE_CONTROL);
        } else {
            uint32_t next = w->at + 1;
            while (next < end && w->text.data[next] != '&' && (w->text.data[next] != '<' || !line_by_line) &&
                   (unsigned char)w->text.data[next] >= ' ')
                next++;
            walk_keep(w, next);
        }
    }
}

static bool is_word_byte(char byte)
{
    return (unsigned char)byte >= 0x80 || ascii_is_digit(byte) || ascii_is_letter(byte);
}

/* MediaWiki keeps the blanks around an argument without a name: 5{{nowrap| km}}. We trim arguments, and show one blank
 * between two words. `next`: the byte that is shown after `part`, which is the next one, or after the last. */
static void separate_words(struct wikitext *w, const struct rendering *rendering, size_t part, char next)
{
    const struct renders *renders = &w->renders;
    const struct buf *out = w->paragraphs.out;
    const char *const text = w->text.data;
    if (rendering->is_function || !w->paragraphs.is_open || out->size == w->paragraphs.start ||
        !is_word_byte(out->data[out->size - 1]) || !(is_word_byte(next) || strchr("['{<", next)))
        return;
    const struct part *before = part > rendering->part ? &renders->parts[part - 1] : NULL;
    const struct part *after = part < renders->count ? &renders->parts[part] : NULL;
    bool is_apart = before && before->kind == PART_ARGUMENT && text[before->to] == ' ';
    if (after && after->kind == PART_ARGUMENT && text[after->from - 1] == ' ') {
        uint32_t at = after->from;
        while (text[at - 1] == ' ')
            at--;
        is_apart |= text[at - 1] == '|';
        w->facts->steps += after->from - at;
    }
    if (is_apart)
        paragraph_blank(&w->paragraphs);
}

/* Shows a text of a rendering (in w->renders.text) in place of the page's bytes up to `end`. */
static void show_rendered(struct wikitext *w, uint32_t end, struct str shown, uint32_t span,
                          const struct rendering *rendering)
{
    walk_open_paragraph(w);
    if (rendering->is_added || memchr(shown.data, '<', shown.size))
        leaks_watch(w, shown, span, rendering);
    if (rendering->is_added)
        renders_say(w->renders.text.data + (shown.data - w->renders.text.data), shown.size);
    walk_show(w, end, shown);
}

/* Shows the parts of a rendering from `part` on, up to and including the next argument, which the walk then reads;
 * after the last part the template is finished. */
void construct_show_parts(struct wikitext *w, const struct rendering *rendering, size_t part, uint32_t span,
                          uint32_t end)
{
    struct renders *renders = &w->renders;
    const bool is_block = rendering->is_block;
    bool at_start = true; /* nothing on the line precedes the argument */
    for (; part < renders->count; part++) {
        const struct part *next = &renders->parts[part];
        if (next->kind == PART_GAP) {
            walk_gap(w, GAP);
        } else if (next->kind == PART_BREAK) {
            walk_break_paragraph(w);
            at_start = true;
        } else if (next->kind == PART_TEXT) {
            separate_words(w, rendering, part, next->to > next->from ? renders->text.data[next->from] : ' ');
            show_rendered(w, w->at, (struct str){renders->text.data + next->from, next->to - next->from}, span,
                          rendering);
            at_start = false;
        } else {
            /* A list that a function gives begins a line of its own: {{#if:x|* item}}. */
            const bool is_list =
                rendering->is_function && str_starts(str_part(w->text, next->from, next->to), STR("* "));
            walk_skip(w, next->from, FATE_TEMPLATE);
            w->line_start |= w->inline_depth == 0 && at_start &&
                             (is_list || is_block || (w->at > 0 && w->text.data[w->at - 1] == '\n'));
            if (!w->line_start)
                walk_open_paragraph(w);
            if (!w->line_start)
                separate_words(w, rendering, part, w->text.data[next->from]);
            walk_push(w, is_block ? FRAME_BLOCK : FRAME_LINES, next->to, next->to, FATE_TEMPLATE);
            struct walk_frame *frame = &w->frames[w->depth - 1];
            frame->rendering = *rendering;
            frame->next_part = part + 1;
            frame->template_span = span;
            frame->template_end = end;
            return;
        }
    }
    separate_words(w, rendering, part, end < w->size ? w->text.data[end] : ' ');
    renders_pop(renders, rendering);
    walk_skip(w, end, FATE_TEMPLATE);
    w->poems -= rendering->is_poem;
    if (is_block)
        walk_break_paragraph(w);
}

/* True if a computed text is all that the template shows. */
static bool is_text_alone(const struct renders *renders, const struct rendering *rendering)
{
    return renders->count == rendering->part + 1 && renders->parts[rendering->part].kind == PART_TEXT;
}

static void note_unknown(struct wikitext *w, enum unknown_kind kind, bool is_silent)
{
    if (w->facts->unknown == w->unknown_capacity) {
        w->unknown_capacity = w->unknown_capacity ? w->unknown_capacity * 2 : 64;
        w->unknown = mem_grow(w->unknown, w->unknown_capacity, sizeof w->unknown[0]);
        w->open = mem_grow(w->open, w->unknown_capacity, sizeof w->open[0]);
    }
    if (!is_silent)
        w->open[w->open_count++] = (uint32_t)w->facts->unknown;
    w->unknown[w->facts->unknown++] = (struct unknown){.span = w->span, .kind = kind, .out = w->paragraphs.out->size};
}

static bool is_wide(const char *text)
{
    return (unsigned char)text[0] >= 0xE0 && (unsigned char)text[0] <= 0xE9;
}

/* True if words can be at this place: after a blank, a bracket or a quotation mark of the same sentence or, in scripts
 * without blanks, between two letters. Directly after a word or a full stop, it is the sign of a note. */
static bool stands_in_sentence(const struct wikitext *w, const struct span *span, struct str argument)
{
    LOCAL_WORDS(before, " ", "\xC2\xA0", "(", "[", "\"", "“", "«", "„", "‘", "「", "『", "（");
    const struct str out = str_from(buf_str(w->paragraphs.out), w->line_out);
    if (words_ending(before, out) > 0)
        return true;
    return out.size >= 3 && is_wide(out.data + out.size - 3) && span->end < w->size &&
           is_wide(w->text.data + span->end) && !paragraph_text_stops(argument) && !paragraph_text_stops(out);
}

/* A template that begins a line. After a paragraph of its section it may be a quotation or continue the paragraph; at
 * the beginning of a section it is a remark or a box. A list may begin a section. */
static bool stands_as_line(const struct wikitext *w, const struct span *span, struct str argument, bool is_list)
{
    uint32_t at = span->end;
    while (at < w->size && w->text.data[at] == ' ')
        at++;
    const bool ends_line = at == w->size || w->text.data[at] == '\n';
    const bool has_prose =
        w->section_has_prose || (w->paragraphs.is_open && !paragraph_is_empty(&w->paragraphs, w->paragraphs.start));
    return is_list ? ends_line : has_prose && (ends_line ? paragraph_text_stops(argument) : at > span->end);
}

/* A template without a rendering, at a place where a single argument that is a sentence can only be text. */
static bool read_sentence(struct wikitext *w, const struct template_page *page, struct rendering *rendering)
{
    const struct span *span = &w->spans.items[w->span];
    struct rendering sentence;
    if (!template_sentence(page, w->span, &w->renders, &sentence, &w->facts->steps))
        return false;
    const struct part *part = &w->renders.parts[sentence.part];
    const struct str argument = str_part(w->text, part->from, part->to);
    const bool is_prose = !w->paragraphs.is_open || w->paragraphs.kind == PARAGRAPH_PROSE;
    const bool begins_line = !w->paragraphs.is_open || paragraph_is_empty(&w->paragraphs, w->line_out);
    if (begins_line
            ? is_prose && w->depth == 0 && stands_as_line(w, span, argument, sentence.is_block)
            : !sentence.is_block && w->paragraphs.kind != PARAGRAPH_HEADING && stands_in_sentence(w, span, argument)) {
        note_unknown(w, UNKNOWN_SENTENCE, true);
        w->facts->sentences++;
        *rendering = sentence;
        return true;
    }
    renders_pop(&w->renders, &sentence);
    return false;
}

/* True if there is a <nowiki> in the name of the template. */
static bool has_literal_name(const struct wikitext *w, const struct span *span)
{
    const struct spans *spans = &w->spans;
    const uint32_t child = w->span + 1;
    if (child >= spans->count || spans->items[child].start >= span->inner_end || spans->items[child].kind != SPAN_TAG ||
        tags[spans->items[child].tag].kind != TAG_LITERAL)
        return false;
    const uint32_t size = spans->items[child].start - span->inner_start;
    return size < NAME_BYTES_MAX && !memchr(w->text.data + span->inner_start, '|', size) &&
           !memchr(w->text.data + span->inner_start, ':', size); /* of a function: {{lc:<nowiki>A</nowiki>}} */
}

/* What cannot be the name of a template is text with its braces: {{}}, {{ |x}}, {{1, 2}, {3, 4}}. A name with an
 * argument after it is a typing mistake, and is dropped. */
static bool is_text_in_braces(const struct wikitext *w, const struct span *span)
{
    static const bool ends_name[256] = {
        ['|'] = true, [':'] = true, ['{'] = true, ['}'] = true, ['['] = true, [']'] = true};
    const unsigned char *text = (const unsigned char *)w->text.data;
    uint32_t from = span->inner_start;
    const uint32_t limit = span->inner_end - from < NAME_BYTES_MAX ? span->inner_end : from + NAME_BYTES_MAX;
    if (span->kind == SPAN_TEMPLATE && has_literal_name(w, span))
        return true;
    if (span->kind != SPAN_TEMPLATE || span->next != w->span + 1) /* with spans inside: their bytes mean something */
        return false;
    while (from < limit && (text[from] == ' ' || text[from] == '\n' || text[from] == '\t'))
        from++;
    uint32_t at = from;
    while (at < limit && !ends_name[text[at]])
        at++;
    w->facts->steps += at - span->inner_start;
    if (at == span->inner_end || text[at] == '|')
        return at == from;
    return at < limit && text[at] != ':' && !memchr(text + at, '|', span->inner_end - at);
}

/* Shows a rendering that is text alone, in place of the span. As in a browser, a blank beside another is left out. */
static void show_text(struct wikitext *w, const struct span *span, struct rendering *rendering)
{
    const struct part *part = &w->renders.parts[rendering->part];
    struct str shown = {w->renders.text.data + part->from, part->to - part->from};
    const struct buf *out = w->paragraphs.out;
    if (w->paragraphs.is_open && str_starts(shown, STR(" ")) && out->size > w->paragraphs.start &&
        out->data[out->size - 1] == ' ')
        shown = str_from(shown, 1);
    if (str_ends(shown, STR(" ")) && span->end < w->size && w->text.data[span->end] == ' ')
        shown.size--;
    if (shown.size > 0) {
        show_rendered(w, span->end, shown, w->span, rendering);
    } else {
        walk_open_paragraph(w);
        walk_skip(w, span->end, FATE_TEMPLATE);
    }
    renders_pop(&w->renders, rendering);
}

struct template_page walk_template_page(const struct wikitext *w)
{
    return (struct template_page){.text = w->text,
                                  .title = w->title,
                                  .timestamp = w->timestamp,
                                  .spans = &w->spans,
                                  .language = w->options.language,
                                  .code = w->code,
                                  .magic = &w->magic,
                                  .style = w->style,
                                  .siteinfo = w->options.siteinfo,
                                  .namespaces = &w->namespaces,
                                  .templates = w->options.templates,
                                  .in_item = w->paragraphs.is_open && w->paragraphs.kind == PARAGRAPH_ITEM};
}

static void read_template(struct wikitext *w, const struct span *span)
{
    if (is_text_in_braces(w, span)) {
        walk_open_paragraph(w);
        walk_keep(w, w->at + 2);
        return;
    }
    const struct template_page page = walk_template_page(w);
    const bool is_argument = span->kind == SPAN_ARGUMENT;
    struct rendering rendering = is_argument ? argument_render(&page, w->span, &w->renders, &w->facts->steps)
                                             : template_render(&page, w->span, &w->renders, &w->facts->steps);
    if (rendering.is_unknown && !rendering.is_silent)
        rendering.dropped = !read_sentence(w, &page, &rendering);
    w->line_hides_block |= rendering.dropped && !is_argument;
    if (rendering.dropped) {
        if (rendering.is_unknown)
            note_unknown(w, UNKNOWN_APART, rendering.is_silent);
        walk_skip(w, span->end, FATE_TEMPLATE);
        walk_gap(w, GAP);
        return;
    }
    if (rendering.is_block)
        walk_break_paragraph(w);
    w->poems += rendering.is_poem;
    if (is_text_alone(&w->renders, &rendering) && !rendering.is_block)
        show_text(w, span, &rendering);
    else
        construct_show_parts(w, &rendering, rendering.part, w->span, span->end);
}

static void read_pre(struct wikitext *w, const struct span *span)
{
    if (!(w->options.keep & KEEP_PRE) || w->inline_depth > 0) {
        walk_skip(w, span->end, FATE_PRE);
        walk_gap(w, GAP);
        return;
    }
    walk_skip(w, span->inner_start, FATE_MARKUP);
    walk_begin_paragraph(w, PARAGRAPH_PRE);
    keep_literal(w, span->inner_end, LITERAL_PRE);
    walk_end_paragraph(w);
    walk_skip(w, span->end, FATE_MARKUP);
}

/* True for a formula that is alone on its line, except for a full stop or comma: it belongs to no sentence. */
static bool is_displayed(const struct wikitext *w, const struct span *span)
{
    uint32_t at = span->end;
    while (at < w->size && strchr(" .,;", w->text.data[at]))
        at++;
    return (at == w->size || w->text.data[at] == '\n') && paragraph_is_empty(&w->paragraphs, w->line_out);
}

static bool read_formula(struct wikitext *w, const struct span *span)
{
    struct buf *shown = &w->renders.scratch;
    const struct str tex = span_inner(w->text, span);
    buf_reset(shown);
    w->facts->steps += tex.size < FORMULA_BYTES_MAX ? tex.size : FORMULA_BYTES_MAX;
    if (is_displayed(w, span)) {
        w->line_hides_block = true;
        return false;
    }
    if (!formula_add(tex, shown))
        return false;
    walk_show(w, span->end, buf_str(shown));
    return true;
}

static void read_opaque(struct wikitext *w, const struct span *span)
{
    const struct tag *tag = &tags[span->tag];
    const struct str opening = str_part(w->text, span->start, span->inner_start);
    const bool is_inline_code = tag->kind == TAG_CODE && str_find(opening, STR("inline")) != SIZE_MAX;
    if (tag->kind == TAG_LITERAL || is_inline_code) {
        walk_skip(w, span->inner_start, FATE_MARKUP);
        keep_literal(w, span->inner_end, is_inline_code ? LITERAL_CODE : LITERAL_NOWIKI);
        walk_skip(w, span->end, FATE_MARKUP);
        return;
    }
    if (tag->fate == FATE_MATH && read_formula(w, span))
        return;
    if (tag->ends_paragraph)
        walk_break_paragraph(w);
    if (tag->kind == TAG_PRE) {
        read_pre(w, span);
        return;
    }
    if (tag->fate == FATE_REFERENCE && span->inner_end == span->end && span->inner_start < span->end)
        leaks_note(w, LEAK_OF_PAGE); /* nothing closes it: the text up to here goes with it */
    walk_skip(w, span->end, tag->fate);
    if (!tag->ends_paragraph)
        walk_gap(w, tag->fate == FATE_REFERENCE || tag->fate == FATE_INCLUDE ? GAP_SILENT : GAP);
}

/* A comment may extend beyond the end of its line, and so out of a frame. */
bool construct_skip_comment(struct wikitext *w)
{
    const struct span *span = spans_at(&w->spans, &w->span, w->at);
    if (!span || span->kind != SPAN_COMMENT)
        return false;
    walk_skip(w, span->end < walk_inner_end(w) ? span->end : walk_inner_end(w), FATE_COMMENT);
    return true;
}

void construct_read(struct wikitext *w)
{
    const struct span *span = &w->spans.items[w->span];
    switch ((enum span_kind)span->kind) {
    case SPAN_COMMENT:
        construct_skip_comment(w);
        walk_gap(w, GAP_SILENT);
        break;
    case SPAN_TAG:
        read_opaque(w, span);
        break;
    case SPAN_TEMPLATE:
    case SPAN_ARGUMENT:
        read_template(w, span);
        break;
    case SPAN_LINK:
        construct_read_link(w, span);
        break;
    case SPAN_TABLE:
        walk_break_paragraph(w);
        table_read(w, w->span, w->at);
        break;
    case SPAN_VARIANT:
        construct_read_variant(w, span);
        break;
    case SPAN_MAGIC:
        w->line_hides_block = true;
        walk_skip(w, span->end, FATE_MAGIC);
        walk_gap(w, GAP_SILENT);
        break;
    case SPAN_NONE:
        assert(false); /* spans_find never produces it */
    }
}

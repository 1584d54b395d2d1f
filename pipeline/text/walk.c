#include "pipeline/text/walk.h"

#include "base/mem.h"

#include <assert.h>

/* How many of the bytes up to `end` are the page's own. */
static uint32_t page_bytes(struct wikitext *w, uint32_t end)
{
    uint32_t bytes = 0;
    if (!w->copies)
        return end - w->at;
    while (w->copy < w->copy_count && w->copies[w->copy].at + w->copies[w->copy].size <= w->at)
        w->copy++;
    for (size_t i = w->copy; i < w->copy_count && w->copies[i].at < end; i++) {
        const uint32_t from = w->copies[i].at > w->at ? w->copies[i].at : w->at;
        const uint32_t to = w->copies[i].at + w->copies[i].size;
        bytes += (to < end ? to : end) - from;
    }
    return bytes;
}

/* What was inserted in place of the page's bytes up to `page`, and they themselves. */
static void trace_inserted(struct wikitext *w, struct str text, bool is_shown, uint32_t page)
{
    if (is_shown && text.size > 0)
        trace_shown(w->options.trace, w->traced, w->traced, text);
    trace_bytes(w->options.trace, w->traced, page, FATE_TEMPLATE);
    w->traced = page;
}

static void trace_to(struct wikitext *w, uint32_t end, enum fate fate, const struct str *shown)
{
    struct trace *trace = w->options.trace;
    uint32_t at = w->at;
    if (!trace)
        return;
    if (!w->copies) {
        if (shown)
            trace_shown(trace, at, end, *shown);
        else
            trace_bytes(trace, at, end, fate);
        w->traced = end;
        return;
    }
    if (shown)
        trace_shown(trace, w->traced, w->traced, *shown);
    const bool keeps = fate == FATE_KEPT && !shown;
    for (size_t i = w->copy; i < w->copy_count && w->copies[i].at < end; i++) {
        const struct expand_copy *copy = &w->copies[i];
        const uint32_t from = copy->at > at ? copy->at : at;
        const uint32_t to = copy->at + copy->size < end ? copy->at + copy->size : end;
        const uint32_t page = copy->from + (from - copy->at);
        if (to <= from)
            continue;
        trace_inserted(w, str_part(w->text, at, from), keeps, page);
        trace_bytes(trace, page, page + (to - from), shown ? FATE_MARKUP : fate);
        w->traced = page + (to - from);
        at = to;
    }
    if (keeps && at < end)
        trace_inserted(w, str_part(w->text, at, end), true, w->traced);
}

static void go_to(struct wikitext *w, uint32_t end, enum fate fate)
{
    assert(end >= w->at && end <= w->size);
    w->facts->bytes[fate] += page_bytes(w, end);
    w->at = end;
}

void walk_skip(struct wikitext *w, uint32_t end, enum fate fate)
{
    trace_to(w, end, fate, NULL);
    go_to(w, end, fate);
}

void walk_open_paragraph(struct wikitext *w)
{
    if (!w->paragraphs.is_open) {
        paragraph_begin(&w->paragraphs, PARAGRAPH_PROSE);
        w->paragraph_bytes = 0;
    }
}

void walk_show(struct wikitext *w, uint32_t end, struct str shown)
{
    walk_open_paragraph(w);
    buf_add_str(w->paragraphs.out, shown);
    w->paragraph_bytes += page_bytes(w, end);
    trace_to(w, end, FATE_KEPT, &shown);
    go_to(w, end, FATE_KEPT);
}

void walk_keep(struct wikitext *w, uint32_t end)
{
    walk_open_paragraph(w);
    buf_add(w->paragraphs.out, w->text.data + w->at, end - w->at);
    w->paragraph_bytes += page_bytes(w, end);
    walk_skip(w, end, FATE_KEPT);
}

/* Paragraphs and frames. */

static void move_bytes(struct wikitext *w, uint64_t bytes, enum fate fate)
{
    assert(bytes <= w->facts->bytes[FATE_KEPT]);
    w->facts->bytes[FATE_KEPT] -= bytes;
    w->facts->bytes[fate] += bytes;
}

/* Of `kept` bytes of the page, counts those that tidying removed again, and those of leaks; they may include text that
 * a rendering added. */
static void count_mended(struct wikitext *w, uint64_t kept)
{
    const bool is_all = w->paragraphs.mended == SIZE_MAX;
    const uint64_t mended = is_all ? kept : w->paragraphs.mended + w->leaks.removed;
    move_bytes(w, mended < kept ? mended : kept, FATE_MENDED);
}

/* The fate of what was kept of the paragraph or caption that has ended, as far as a trace can tell. */
static enum fate fate_when_tidied(const struct wikitext *w)
{
    return w->paragraphs.mended == SIZE_MAX ? FATE_MENDED : FATE_KEPT;
}

/* Decides which open templates without a rendering, in the text from `from` on, are holes: those with words before and
 * after them. One that follows a sentence's end without a blank is a note. Afterwards they are no longer open. */
static void find_holes(struct wikitext *w, size_t from)
{
    size_t word = from, last = from;
    const bool any = w->open_count > 0 && w->unknown[w->open[w->open_count - 1]].out >= from &&
                     paragraph_words(&w->paragraphs, from, &word, &last);
    for (; w->open_count > 0 && w->unknown[w->open[w->open_count - 1]].out >= from; w->open_count--) {
        struct unknown *unknown = &w->unknown[w->open[w->open_count - 1]];
        if (!any || unknown->out <= word || unknown->out > last || paragraph_stops(&w->paragraphs, from, unknown->out))
            continue;
        unknown->kind = UNKNOWN_HOLE;
        w->facts->holes++;
    }
}

/* Drops `open` of them, because their paragraph is not wanted. */
static void forget_holes(struct wikitext *w, size_t open)
{
    for (size_t i = 0; i < open; i++) {
        w->facts->holes -= w->unknown[w->open[i]].kind == UNKNOWN_HOLE;
        w->unknown[w->open[i]].kind = UNKNOWN_APART;
    }
}

void walk_end_paragraph(struct wikitext *w)
{
    static const enum fate fate_of[] = {
        [PARAGRAPH_HEADING] = FATE_HEADING, [PARAGRAPH_ITEM] = FATE_LIST, [PARAGRAPH_PRE] = FATE_PRE};
    const enum paragraph_kind kind = w->paragraphs.kind;
    const size_t open = w->open_count;
    /* Holes first, because they are places in the text, which the next steps change. */
    find_holes(w, w->paragraphs.start);
    leaks_remove(w, w->paragraphs.start);
    const size_t start = w->paragraphs.start;
    const bool is_wanted = paragraph_end(&w->paragraphs);
    w->section_has_prose |= is_wanted && kind == PARAGRAPH_PROSE && w->paragraphs.out->size > start;
    /* Its bytes were counted as kept when they were read; only now it is known whether they are. */
    if (is_wanted) {
        count_mended(w, w->paragraph_bytes);
    } else {
        move_bytes(w, w->paragraph_bytes, fate_of[kind]);
        forget_holes(w, open);
        leaks_forget(w, w->paragraph_leaks);
    }
    w->paragraph_leaks = w->facts->leaks;
    if (w->options.trace)
        trace_paragraph_end(w->options.trace, is_wanted ? fate_when_tidied(w) : fate_of[kind]);
    w->paragraph_bytes = 0;
    w->line_out = w->paragraphs.out->size;
}

void walk_begin_paragraph(struct wikitext *w, enum paragraph_kind kind)
{
    walk_end_paragraph(w);
    paragraph_begin(&w->paragraphs, kind);
}

void walk_break_paragraph(struct wikitext *w)
{
    if (w->inline_depth > 0)
        paragraph_blank(&w->paragraphs);
    else
        walk_end_paragraph(w);
}

void walk_gap(struct wikitext *w, char gap)
{
    walk_open_paragraph(w);
    paragraph_gap(&w->paragraphs, gap);
}

static bool is_inline(enum walk_frame_kind kind)
{
    return kind >= FRAME_INLINE;
}

static bool has_own_quotes(enum walk_frame_kind kind)
{
    return kind == FRAME_LABEL || kind == FRAME_CAPTION;
}

void walk_push(struct wikitext *w, enum walk_frame_kind kind, uint32_t inner_end, uint32_t end, enum fate fate)
{
    assert(w->at <= inner_end && inner_end <= end && end <= w->size);
    w->frames = mem_room(w->frames, w->depth + 1, &w->depth_capacity, sizeof w->frames[0]);
    w->frames[w->depth++] = (struct walk_frame){.kind = kind,
                                                .inner_end = inner_end,
                                                .end = end,
                                                .start = w->at,
                                                .traced = w->traced,
                                                .fate = fate,
                                                .out_start = w->paragraphs.out->size,
                                                .kept_start = w->paragraph_bytes,
                                                .leaks_start = w->facts->leaks,
                                                .quotes_line_end = w->quotes_line_end,
                                                .quotes_apostrophe = w->quotes_apostrophe};
    w->inline_depth += is_inline(kind);
    if (has_own_quotes(kind))
        w->quotes_line_end = 0;
}

void walk_pop(struct wikitext *w)
{
    assert(w->depth > 0);
    const struct walk_frame *frame = &w->frames[--w->depth];
    assert(w->at == frame->inner_end); /* nothing inside was read past the frame's inner end */
    assert(w->inline_depth >= is_inline(frame->kind));
    const struct rendering rendering = frame->rendering;
    w->inline_depth -= is_inline(frame->kind);
    walk_skip(w, frame->end, frame->fate);
    if (has_own_quotes(frame->kind)) {
        w->quotes_line_end = frame->quotes_line_end;
        w->quotes_apostrophe = frame->quotes_apostrophe;
    }
    /* A caption ends like a paragraph, but is put aside: the paragraph around it goes on with the bytes it had. */
    if (frame->kind == FRAME_CAPTION) {
        find_holes(w, frame->out_start);
        leaks_remove(w, frame->out_start);
        leaks_settle(w, frame->leaks_start);
        paragraph_cut_caption(&w->paragraphs, frame->out_start);
        assert(w->paragraph_bytes >= frame->kept_start);
        count_mended(w, w->paragraph_bytes - frame->kept_start);
        if (w->options.trace)
            trace_caption_end(w->options.trace, frame->traced, fate_when_tidied(w));
        w->paragraph_bytes = frame->kept_start;
        walk_gap(w, GAP_SILENT);
    } else if (frame->kind == FRAME_HEADING) {
        walk_break_paragraph(w);
        tab_begin(w);
    } else if (frame->kind == FRAME_TERM) {
        walk_begin_paragraph(w, PARAGRAPH_ITEM);
    } else if (frame->kind == FRAME_TABLE) {
        walk_break_paragraph(w);
        table_read(w, frame->template_span, w->at);
    } else if (frame->kind == FRAME_LINES || frame->kind == FRAME_BLOCK) {
        construct_show_parts(w, &rendering, frame->next_part, frame->template_span, frame->template_end);
    }
}

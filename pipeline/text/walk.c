#include "pipeline/text/walk.h"

#include "base/mem.h"

#include <assert.h>

void walk_skip(struct wikitext *w, uint32_t end, enum fate fate)
{
    assert(end >= w->at && end <= w->size);
    w->facts->bytes[fate] += end - w->at;
    w->at = end;
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
    w->paragraph_bytes += end - w->at;
    walk_skip(w, end, FATE_KEPT);
}

void walk_keep(struct wikitext *w, uint32_t end)
{
    walk_show(w, end, str_range(w->text.data + w->at, w->text.data + end));
}

/* Paragraphs and frames. */

void walk_end_paragraph(struct wikitext *w)
{
    static const enum fate fate_of[] = {
        [PARAGRAPH_HEADING] = FATE_HEADING, [PARAGRAPH_ITEM] = FATE_LIST, [PARAGRAPH_PRE] = FATE_PRE};
    const enum paragraph_kind kind = w->paragraphs.kind;
    if (!paragraph_end(&w->paragraphs)) {
        w->facts->bytes[FATE_KEPT] -= w->paragraph_bytes;
        w->facts->bytes[fate_of[kind]] += w->paragraph_bytes;
    }
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

void walk_gap(struct wikitext *w)
{
    walk_open_paragraph(w);
    paragraph_gap(&w->paragraphs);
}

static bool is_inline(enum frame_kind kind)
{
    return kind >= FRAME_INLINE;
}

void walk_push(struct wikitext *w, enum frame_kind kind, uint32_t inner_end, uint32_t end, enum fate fate)
{
    if (w->depth == w->depth_capacity) {
        w->depth_capacity = w->depth_capacity ? w->depth_capacity * 2 : 64;
        w->frames = mem_grow(w->frames, w->depth_capacity, sizeof w->frames[0]);
    }
    w->frames[w->depth++] = (struct frame){.kind = kind,
                                           .inner_end = inner_end,
                                           .end = end,
                                           .fate = fate,
                                           .out_start = w->paragraphs.out->size,
                                           .kept_start = w->paragraph_bytes};
    w->inline_depth += is_inline(kind);
}

void walk_pop(struct wikitext *w)
{
    const struct frame *frame = &w->frames[--w->depth];
    const struct rendering rendering = frame->rendering;
    w->inline_depth -= is_inline(frame->kind);
    walk_skip(w, frame->end, frame->fate);
    if (frame->kind == FRAME_CAPTION) {
        paragraph_cut_caption(&w->paragraphs, frame->out_start);
        w->paragraph_bytes = frame->kept_start;
        walk_gap(w);
    } else if (frame->kind == FRAME_HEADING) {
        walk_break_paragraph(w);
    } else if (frame->kind == FRAME_LINES || frame->kind == FRAME_BLOCK) {
        construct_show_parts(w, &rendering, frame->next_part, frame->template_end);
    }
}

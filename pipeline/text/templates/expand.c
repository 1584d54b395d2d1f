#include "pipeline/text/templates/expand.h"

#include "base/arena.h"
#include "base/mem.h"
#include "pipeline/text/templates/expand_call.h"
#include "pipeline/text/templates/renderings.h"

#include <assert.h>

#define DEPTH_MAX       40u         /* templates in templates, as in MediaWiki */
#define NESTING_MAX     200u        /* calls, arguments and defaults in each other */
#define SPANS_CACHE_MAX (64u << 20) /* bytes */

/* The spans of a body, found once per thread. */
struct body {
    struct span *items;
    size_t count;
};

static void copy_page(struct expander *e, uint32_t from, uint32_t to)
{
    struct expand_copy *last = e->copy_count > 0 ? &e->copies[e->copy_count - 1] : NULL;
    if (from == to)
        return;
    if (last && last->from + last->size == from && last->at + last->size == e->out.size) {
        last->size += to - from;
        return;
    }
    if (e->copy_count == e->copy_capacity) {
        e->copy_capacity = e->copy_capacity ? e->copy_capacity * 2 : 64;
        e->copies = mem_grow(e->copies, e->copy_capacity, sizeof e->copies[0]);
    }
    e->copies[e->copy_count++] = (struct expand_copy){(uint32_t)e->out.size, from, to - from};
}

/* Text of the source as it stands. Only what goes from the page to the page's own text counts as a copy of it. */
void copy_text(struct expander *e, const struct expand_source *source, uint32_t from, uint32_t to, struct buf *out)
{
    if (source->is_page && out == &e->out)
        copy_page(e, from, to);
    buf_add(out, source->text.data + from, to - from);
    e->work += to - from;
}

/* {{{name|default}}} */
static void expand_argument(struct expander *e, const struct expand_source *source, uint32_t index, struct buf *out)
{
    const struct span *span = &source->spans->items[index];
    struct call_piece pieces[PIECES_MAX];
    if (source->is_page) { /* the walk shows the default */
        copy_text(e, source, span->start, span->end, out);
        return;
    }
    const size_t count = call_pieces(source, index, pieces);
    struct str name;
    if (!expand_value(e, source, pieces[0].from, pieces[0].to, pieces[0].child, &name)) {
        e->is_incomplete = true;
        return;
    }
    struct str value;
    if (frame_argument(e, source->frame, str_trim(name), &value))
        buf_add_str(out, value);
    else if (count > 1)
        expand_range(e, source, pieces[1].from, pieces[1].to, pieces[1].child, out);
    else
        buf_addf(out, "{{{%.*s}}}", (int)name.size, name.data);
}

void expand_range(struct expander *e, const struct expand_source *source, uint32_t from, uint32_t to, uint32_t child,
                  struct buf *out)
{
    const struct spans *spans = source->spans;
    if (++e->nesting > NESTING_MAX)
        e->is_exhausted = true;
    while (child < spans->count && spans->items[child].start < from)
        child++;
    while (from < to) {
        const bool inside = child < spans->count && spans->items[child].start < to;
        const struct span *span = inside ? &spans->items[child] : NULL;
        copy_text(e, source, from, inside ? span->start : to, out);
        if (!inside)
            break;
        from = span->start;
        if (span->kind == SPAN_TEMPLATE && !e->is_exhausted) {
            expand_template(e, source, child, out);
            from = span->end;
        } else if (span->kind == SPAN_ARGUMENT) {
            expand_argument(e, source, child, out);
            from = span->end;
        } else if (span->kind == SPAN_TAG || span->kind == SPAN_COMMENT || span->kind == SPAN_TEMPLATE ||
                   (span->kind == SPAN_TABLE && source->is_page)) { /* a table shows nothing */
            const uint32_t end = span->end < to ? span->end : to;
            copy_text(e, source, from, end, out);
            from = end;
        } else { /* what is inside is read with the rest */
            child++;
            continue;
        }
        child = span->next;
    }
    e->nesting--;
}

/* Is the range without spans, so that its text needs no copy? */
static bool is_plain(const struct expand_source *source, uint32_t from, uint32_t to, uint32_t child, struct str *text)
{
    const struct spans *spans = source->spans;
    while (child < spans->count && spans->items[child].start < from)
        child++;
    *text = str_range(source->text.data + from, source->text.data + to);
    return child >= spans->count || spans->items[child].start >= to;
}

bool expand_value(struct expander *e, const struct expand_source *source, uint32_t from, uint32_t to, uint32_t child,
                  struct str *value)
{
    struct buf text = {0};
    if (is_plain(source, from, to, child, value))
        return true;
    const bool outer = e->is_incomplete;
    e->is_incomplete = false;
    expand_range(e, source, from, to, child, &text);
    const bool known = !e->is_incomplete && settle_calls(e, &text);
    e->is_incomplete = outer;
    *value = arena_copy(&e->arena, buf_str(&text));
    buf_release(&text);
    return known;
}

struct str expand_trimmed(struct expander *e, const struct expand_source *source, const struct call_piece *piece)
{
    struct buf text = {0};
    struct str plain;
    if (is_plain(source, piece->from, piece->to, piece->child, &plain))
        return str_trim(plain);
    expand_range(e, source, piece->from, piece->to, piece->child, &text);
    const struct str shown = arena_copy(&e->arena, str_trim(buf_str(&text)));
    buf_release(&text);
    return shown;
}

/* ------------------------------------------------------------------------------------------------------ templates */

bool frame_argument(struct expander *e, struct call_frame *frame, struct str name, struct str *value)
{
    for (size_t i = frame ? frame->count : 0; i-- > 0;) {
        struct frame_value *argument = &frame->values[i];
        if (!str_equal(argument->name, name))
            continue;
        if (!argument->is_expanded &&
            is_plain(argument->source, argument->from, argument->to, argument->child, &argument->text)) {
            argument->text = argument->is_named ? str_trim(argument->text) : argument->text;
            argument->is_expanded = true;
        }
        if (!argument->is_expanded) {
            struct buf text = {0};
            const bool outer = e->is_incomplete;
            e->is_incomplete = false;
            expand_range(e, argument->source, argument->from, argument->to, argument->child, &text);
            argument->is_incomplete = e->is_incomplete;
            e->is_incomplete = outer;
            argument->text = arena_copy(&e->arena, argument->is_named ? str_trim(buf_str(&text)) : buf_str(&text));
            argument->is_expanded = true;
            buf_release(&text);
        }
        e->is_incomplete |= argument->is_incomplete;
        *value = argument->text;
        return true;
    }
    return false;
}

static void read_arguments(struct expander *e, const struct expand_source *source, const struct call_piece *pieces,
                           size_t count, struct call_frame *frame)
{
    unsigned position = 0;
    frame->values = arena_array(&e->arena, count, sizeof *frame->values);
    for (size_t i = 1; i < count; i++) {
        struct frame_value *value = &frame->values[frame->count];
        *value = (struct frame_value){
            .source = source, .from = pieces[i].from, .to = pieces[i].to, .child = pieces[i].child};
        if (pieces[i].equals < pieces[i].to) {
            struct str name;
            if (!expand_value(e, source, pieces[i].from, pieces[i].equals, pieces[i].child, &name))
                continue;
            value->name = str_trim(name);
            value->from = pieces[i].equals + 1;
            value->is_named = true;
        } else {
            char number[16];
            const int size = snprintf(number, sizeof number, "%u", ++position);
            value->name = arena_copy(&e->arena, (struct str){number, (size_t)size});
        }
        frame->count++;
    }
}

static const struct body *body_of(struct expander *e, const struct rendering_row *row)
{
    const size_t index = templates_index(e->templates, row);
    if (!e->bodies)
        e->bodies = mem_clear(templates_count(e->templates), sizeof e->bodies[0]);
    if (!e->bodies[index]) {
        struct body *body = mem_clear(1, sizeof *body);
        e->scratch.is_strict = true; /* in an open link a }} is text */
        spans_find(&e->scratch, e->magic, false, row->pattern);
        e->work += row->pattern.size;
        body->count = e->scratch.count;
        body->items = mem_grow(NULL, body->count ? body->count : 1, sizeof body->items[0]);
        if (body->count > 0)
            memcpy(body->items, e->scratch.items, body->count * sizeof body->items[0]);
        e->cached += sizeof *body + body->count * sizeof body->items[0];
        e->bodies[index] = body;
    }
    return e->bodies[index];
}

static void drop_bodies(struct expander *e)
{
    const size_t count = e->bodies ? templates_count(e->templates) : 0;
    for (size_t i = 0; i < count; i++) {
        if (e->bodies[i])
            mem_free(e->bodies[i]->items);
        mem_free(e->bodies[i]);
        e->bodies[i] = NULL;
    }
    e->cached = 0;
}

static bool is_open(const struct call_frame *frame, const struct rendering_row *row)
{
    for (; frame; frame = frame->caller)
        if (frame->row == row)
            return true;
    return false;
}

/* As MediaWiki does: what begins a list or a table begins a line. */
void begin_line(struct expander *e, const struct expand_source *source, uint32_t start, size_t from, struct buf *out)
{
    const struct str text = {out->data + from, out->size - from};
    const bool at_line_start = start > 0 && source->text.data[start - 1] == '\n';
    if (text.size == 0 || at_line_start || !(strchr("*#:;", text.data[0]) || str_starts(text, STR("{|"))))
        return;
    buf_add_byte(out, '\n');
    memmove(out->data + from + 1, out->data + from, out->size - 1 - from);
    out->data[from] = '\n';
    for (size_t i = e->copy_count; out == &e->out && i-- > 0 && e->copies[i].at >= from;)
        e->copies[i].at++;
}

void expand_body(struct expander *e, const struct expand_source *source, uint32_t index,
                 const struct rendering_row *row, const struct call_piece *pieces, size_t count, struct buf *out)
{
    const uint32_t start = source->spans->items[index].start;
    const size_t from = out->size;
    if (is_open(source->frame, row) || source->depth >= DEPTH_MAX) { /* MediaWiki shows an error */
        e->is_incomplete = true;
        return;
    }
    const struct body *body = body_of(e, row);
    const struct spans spans = {.items = body->items, .count = body->count};
    struct call_frame frame = {.caller = source->frame, .row = row};
    const struct expand_source inner = {
        .text = row->pattern, .spans = &spans, .frame = &frame, .depth = source->depth + 1};
    const bool outer = e->is_incomplete;
    read_arguments(e, source, pieces, count, &frame);
    e->is_incomplete = false;
    struct buf text = {0};
    expand_range(e, &inner, 0, (uint32_t)inner.text.size, 0, &text);
    const bool is_lost = e->is_incomplete && (str_trim(buf_str(&text)).size == 0 || call_has_row(e, row->name));
    if (is_lost)
        emit_call(e, source, index, row->name, out);
    else
        buf_add_str(out, buf_str(&text));
    e->is_incomplete |= outer;
    buf_release(&text);
    begin_line(e, source, start, from, out);
    if (e->out.size > e->bytes_max || e->work > 32 * e->bytes_max)
        e->is_exhausted = true;
}

/* ----------------------------------------------------------------------------------------------------------- pages */

struct expander *expander_open(const struct templates *templates, const struct namespaces *namespaces,
                               const struct magic *magic)
{
    struct expander *e = mem_clear(1, sizeof *e);
    e->templates = templates;
    e->namespaces = namespaces;
    e->magic = magic;
    return e;
}

void expander_close(struct expander *e)
{
    if (!e)
        return;
    drop_bodies(e);
    mem_free(e->bodies);
    mem_free(e->copies);
    spans_release(&e->scratch);
    spans_release(&e->settling);
    renders_release(&e->renders);
    arena_release(&e->arena);
    buf_release(&e->out);
    mem_free(e);
}

bool expand_page(struct expander *e, const struct template_page *page, struct str *out,
                 const struct expand_copy **copies, size_t *copy_count, uint64_t *steps)
{
    bool any = false;
    for (size_t i = 0; i < page->spans->count && !any; i++)
        any = page->spans->items[i].kind == SPAN_TEMPLATE;
    if (!any)
        return false;
    if (e->cached > SPANS_CACHE_MAX)
        drop_bodies(e);
    arena_reset(&e->arena);
    buf_reset(&e->out);
    buf_reserve(&e->out, 1);
    e->copies = e->copies ? e->copies : mem_grow(NULL, e->copy_capacity = 64, sizeof e->copies[0]);
    e->copy_count = 0;
    e->page = page;
    e->work = 0;
    e->nesting = 0;
    e->bytes_max = EXPAND_BYTES_MAX(page->text.size);
    e->is_incomplete = e->is_exhausted = false;
    const struct expand_source source = {.text = page->text, .spans = page->spans, .is_page = true};
    expand_range(e, &source, 0, (uint32_t)page->text.size, 0, &e->out);
    assert(e->nesting == 0);
    *steps += e->work;
    *out = buf_str(&e->out);
    *copies = e->copies;
    *copy_count = e->copy_count;
    return true;
}

#include "pipeline/text/templates/expand.h"

#include "base/arena.h"
#include "base/mem.h"
#include "pipeline/text/templates/expand_call.h"
#include "pipeline/text/templates/modules.h"
#include "pipeline/text/templates/renderings.h"

#include <assert.h>

#define DEPTH_MAX      40u         /* templates in templates, as in MediaWiki */
#define NESTING_MAX    200u        /* calls, arguments and defaults in each other */
#define HELD_BYTES_MAX (16u << 20) /* of the values and arguments of one call of the page */

void spend(struct expander *e, uint64_t bytes)
{
    e->work += bytes;
    if (e->work > 32 * e->bytes_max || e->held > HELD_BYTES_MAX || e->out.size > e->bytes_max ||
        e->values.size > e->bytes_max)
        e->is_exhausted = true;
}

void *hold(struct expander *e, size_t count, size_t bytes)
{
    e->held += count * bytes;
    return arena_array(&e->arena, count, bytes);
}

struct str keep(struct expander *e, struct str text)
{
    e->held += text.size;
    spend(e, text.size);
    return arena_copy(&e->arena, text);
}

static void copy_page(struct expander *e, uint32_t from, uint32_t to)
{
    struct expand_copy *last = e->copy_count > 0 ? &e->copies[e->copy_count - 1] : NULL;
    if (from == to)
        return;
    if (last && last->from + last->size == from && last->at + last->size == e->out.size) {
        last->size += to - from;
        return;
    }
    e->copies = mem_room(e->copies, e->copy_count + 1, &e->copy_capacity, sizeof e->copies[0]);
    e->copies[e->copy_count++] = (struct expand_copy){(uint32_t)e->out.size, from, to - from};
}

/* Text of the source as it stands. Only what goes from the page to the page's own text counts as a copy of it. */
void copy_text(struct expander *e, const struct expand_source *source, uint32_t from, uint32_t to, struct buf *out)
{
    if (source->is_page && out == &e->out)
        copy_page(e, from, to);
    buf_add(out, source->text.data + from, to - from);
    spend(e, to - from);
}

/* {{{name|default}}} */
static void expand_argument(struct expander *e, const struct expand_source *source, uint32_t index, struct buf *out)
{
    const struct span *span = &source->spans->items[index];
    struct str name, value;
    if ((source->is_page && out == &e->out) || e->is_exhausted) { /* the walk shows the default */
        copy_text(e, source, span->start, span->end, out);
        return;
    }
    const struct call_parts parts = call_parts(e, source, index);
    const struct call_piece *first = &parts.items[0], *second = &parts.items[1];
    if (!expand_value(e, source, first->from, first->to, first->child, &name)) {
        e->is_incomplete = true;
    } else if (frame_argument(e, source->frame, str_trim(name), &value)) {
        spend(e, value.size);
        if (!e->is_exhausted) /* or each of the calls around it would copy it */
            buf_add_str(out, value);
    } else if (parts.count > 1) {
        expand_range(e, source, second->from, second->to, second->child, out);
    } else {
        buf_add_text(out, "{{{");
        buf_add_str(out, name);
        buf_add_text(out, "}}}");
        spend(e, name.size);
    }
}

/* The first span from `child` on that begins at or after `from`. */
static uint32_t first_child(const struct spans *spans, uint32_t from, uint32_t child)
{
    while (child < spans->count && spans->items[child].start < from)
        child = spans->items[child].end <= from ? spans->items[child].next : child + 1;
    return child;
}

void expand_range(struct expander *e, const struct expand_source *source, uint32_t from, uint32_t to, uint32_t child,
                  struct buf *out)
{
    const struct spans *spans = source->spans;
    if (e->nesting == NESTING_MAX) {
        e->is_incomplete = true;
        copy_text(e, source, from, to, out);
        return;
    }
    e->nesting++;
    child = first_child(spans, from, child);
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
            if (out == &e->out && source->is_page && e->nesting == 1) {
                arena_reset(&e->arena);
                e->held = 0;
            }
        } else if (span->kind == SPAN_ARGUMENT) {
            expand_argument(e, source, child, out);
            from = span->end;
        } else if (span->kind == SPAN_TAG || span->kind == SPAN_COMMENT || span->kind == SPAN_TEMPLATE ||
                   (span->kind == SPAN_TABLE && span->tag == 0 && source->is_page &&
                    !span_table_has_text(source->text, span))) { /* it shows nothing */
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

/* True if the range has no spans, so that its text needs no copy. */
static bool is_plain(const struct expand_source *source, uint32_t from, uint32_t to, uint32_t child, struct str *text)
{
    const struct spans *spans = source->spans;
    child = first_child(spans, from, child);
    *text = str_part(source->text, from, to);
    return child >= spans->count || spans->items[child].start >= to;
}

/* Expands a range on the stack of values, where the caller takes it from `at` on and then removes it. */
static void push_value(struct expander *e, const struct expand_source *source, uint32_t from, uint32_t to,
                       uint32_t child, bool *is_incomplete)
{
    const bool outer = e->is_incomplete;
    e->is_incomplete = false;
    expand_range(e, source, from, to, child, &e->values);
    *is_incomplete = e->is_incomplete;
    e->is_incomplete = outer;
}

static struct str pop_value(struct expander *e, size_t at, bool is_trimmed)
{
    const struct str text = {e->values.data + at, e->values.size - at};
    const bool is_lost = text.size == 0 || e->is_exhausted;
    const struct str value = is_lost ? STR("") : keep(e, is_trimmed ? str_trim(text) : text);
    e->values.size = at;
    return value;
}

bool expand_value(struct expander *e, const struct expand_source *source, uint32_t from, uint32_t to, uint32_t child,
                  struct str *value)
{
    const size_t at = e->values.size;
    bool is_incomplete;
    if (is_plain(source, from, to, child, value))
        return true;
    push_value(e, source, from, to, child, &is_incomplete);
    const bool known = !is_incomplete && settle_calls(e, &e->values, at);
    *value = pop_value(e, at, false);
    return known;
}

struct str expand_trimmed(struct expander *e, const struct expand_source *source, const struct call_piece *piece)
{
    const size_t at = e->values.size;
    struct str plain;
    if (is_plain(source, piece->from, piece->to, piece->child, &plain))
        return str_trim(plain);
    expand_range(e, source, piece->from, piece->to, piece->child, &e->values);
    return pop_value(e, at, true);
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
        } else if (!argument->is_expanded) {
            const size_t at = e->values.size;
            push_value(e, argument->source, argument->from, argument->to, argument->child, &argument->is_incomplete);
            argument->text = pop_value(e, at, argument->is_named);
        }
        argument->is_expanded = true;
        e->is_incomplete |= argument->is_incomplete;
        *value = argument->text;
        spend(e, frame->count - i);
        return true;
    }
    spend(e, frame ? frame->count : 0);
    return false;
}

static struct str position_name(struct expander *e, unsigned position)
{
    static const char digits[] = "123456789";
    char number[16];
    if (position < sizeof digits)
        return (struct str){digits + position - 1, 1};
    const int size = snprintf(number, sizeof number, "%u", position);
    return keep(e, (struct str){number, (size_t)size});
}

void frame_read(struct expander *e, const struct expand_source *source, struct call_parts parts,
                struct call_frame *frame)
{
    unsigned position = 0;
    if (parts.count > 1)
        frame->values = hold(e, parts.count - 1, sizeof *frame->values);
    for (size_t i = 1; i < parts.count; i++) {
        const struct call_piece *piece = &parts.items[i];
        struct frame_value *value = &frame->values[frame->count];
        *value = (struct frame_value){.source = source, .from = piece->from, .to = piece->to, .child = piece->child};
        if (piece->equals < piece->to) {
            struct str name;
            if (!expand_value(e, source, piece->from, piece->equals, piece->child, &name))
                continue;
            value->name = str_trim(name);
            value->from = piece->equals + 1;
            value->is_named = true;
        } else {
            value->name = position_name(e, ++position);
        }
        frame->count++;
    }
}

static bool is_open(const struct call_frame *frame, const struct rendering_row *row)
{
    for (; frame; frame = frame->caller)
        if (frame->row == row)
            return true;
    return false;
}

/* A list, or a table: also one whose bar is still a template. */
static bool begins_block(struct str text)
{
    LOCAL_WORDS(starts, "#", "*", ":", ";", "{{(!}}", "{{{!}}", "{|");
    return words_starting(starts, text) > 0;
}

/* As MediaWiki does: what begins a list or a table begins a line. */
void begin_line(struct expander *e, const struct expand_source *source, uint32_t start, size_t from, struct buf *out)
{
    const struct str text = {out->data + from, out->size - from};
    const bool at_line_start = start > 0 && source->text.data[start - 1] == '\n';
    if (text.size == 0 || at_line_start || !begins_block(text))
        return;
    spend(e, text.size);
    buf_add_byte(out, '\n');
    memmove(out->data + from + 1, out->data + from, out->size - 1 - from);
    out->data[from] = '\n';
    for (size_t i = e->copy_count; out == &e->out && i-- > 0 && e->copies[i].at >= from;)
        e->copies[i].at++;
}

/* Appends what the body of a template or of a module's function inserts. `parts`: its name and its arguments. A
 * function without any has those of the template around it. */
static void run_body(struct expander *e, const struct expand_source *source, const struct templates *templates,
                     const struct rendering_row *row, struct call_parts parts, struct buf *out)
{
    bool own;
    const struct body *body = body_get(templates, row, e->magic, &e->scratch, &own);
    struct call_frame frame = {.caller = source->frame, .row = row};
    const struct expand_source inner = {
        .text = row->pattern, .spans = &body->spans, .body = body, .frame = &frame, .depth = source->depth + 1};
    spend(e, row->pattern.size / 8); /* as if no body had been kept */
    frame_read(e, source, parts, &frame);
    if (templates == e->modules && frame.count == 0 && source->frame) {
        frame.values = source->frame->values;
        frame.count = source->frame->count;
    } else if (templates == e->templates) {
        e->is_incomplete = false;
    }
    expand_range(e, &inner, 0, (uint32_t)inner.text.size, 0, out);
    if (own)
        mem_free((void *)(uintptr_t)body);
}

/* Appends the body with the call's arguments, or the call itself where that shows less than its row. */
static void insert_body(struct expander *e, const struct expand_source *source, uint32_t index,
                        const struct rendering_row *row, struct call_parts parts, struct buf *out)
{
    const size_t from = out->size;
    run_body(e, source, e->templates, row, parts, out);
    if (e->is_incomplete && (str_trim(str_from(buf_str(out), from)).size == 0 || call_has_row(e, row->name))) {
        out->size = from;
        emit_call(e, source, index, row->name, out);
    }
}

/* The same of a call without arguments on the page: pages have the same ones, of navigation and of stubs. */
static void insert_again(struct expander *e, const struct expand_source *source, uint32_t index,
                         const struct rendering_row *row, struct call_parts parts)
{
    struct expand_memo *memo = &e->memos[templates_index(e->templates, row) % MEMOS];
    const uint64_t work = e->work;
    const size_t from = e->out.size;
    if (memo->row == row && work + memo->work <= 32 * e->bytes_max && from + memo->work <= e->bytes_max) {
        buf_add_str(&e->out, buf_str(&memo->text));
        e->is_incomplete = memo->is_incomplete;
        spend(e, memo->work);
        return;
    }
    e->uses_page = false;
    insert_body(e, source, index, row, parts, &e->out);
    const struct str text = {e->out.data + from, e->out.size - from};
    if (e->uses_page || e->is_exhausted || e->work - work > MEMO_WORK_BYTES || text.size > MEMO_BYTES_MAX)
        return;
    memo->row = row;
    memo->work = e->work - work;
    memo->is_incomplete = e->is_incomplete;
    buf_reset(&memo->text);
    buf_add_str(&memo->text, text);
}

void expand_body(struct expander *e, const struct expand_source *source, uint32_t index,
                 const struct rendering_row *row, struct call_parts parts, struct buf *out)
{
    const uint32_t start = source->spans->items[index].start;
    const size_t from = out->size;
    const bool outer = e->is_incomplete;
    if (is_open(source->frame, row) || source->depth >= DEPTH_MAX) { /* MediaWiki shows an error */
        e->is_incomplete = true;
        return;
    }
    if (source->is_page && out == &e->out && e->nesting == 1 && parts.count == 1)
        insert_again(e, source, index, row, parts);
    else
        insert_body(e, source, index, row, parts, out);
    e->is_incomplete |= outer;
    begin_line(e, source, start, from, out);
}

void expand_module(struct expander *e, const struct expand_source *source, const struct rendering_row *row,
                   struct call_parts parts, struct buf *out)
{
    if (source->depth >= DEPTH_MAX)
        e->is_incomplete = true;
    else
        run_body(e, source, e->modules, row, parts, out);
}

/* ----------------------------------------------------------------------------------------------------------- pages */

struct expander *expander_open(const struct templates *templates, const struct namespaces *namespaces,
                               const struct magic *magic)
{
    struct expander *e = mem_clear(1, sizeof *e);
    e->templates = templates;
    e->modules = modules_open();
    e->namespaces = namespaces;
    e->magic = magic;
    return e;
}

void expander_close(struct expander *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < MEMOS; i++)
        buf_release(&e->memos[i].text);
    templates_free(e->modules);
    mem_free(e->copies);
    body_scratch_release(&e->scratch);
    spans_release(&e->settling);
    renders_release(&e->renders);
    arena_release(&e->arena);
    buf_release(&e->out);
    buf_release(&e->values);
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
    arena_reset(&e->arena);
    buf_reset(&e->out);
    buf_reserve(&e->out, 1);
    buf_reserve(&e->values, 1);
    assert(e->values.size == 0);
    e->held = 0;
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

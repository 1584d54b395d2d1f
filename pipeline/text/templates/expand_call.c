/* A call: its name, what the name means, and the calls that stay in the text. */
#include "pipeline/text/templates/expand_call.h"

#include "pipeline/text/markup/tags.h"
#include "pipeline/text/templates/modules.h"
#include "pipeline/text/templates/plain.h"

#define SETTLE_BYTES_MAX 4096u /* of a text with calls, to compute with */

struct call_parts call_parts(struct expander *e, const struct expand_source *source, uint32_t index)
{
    if (source->body) {
        const struct body_call *call = &source->body->calls[index];
        return (struct call_parts){source->body->pieces + call->first, call->count};
    }
    uint64_t steps = 0;
    buf_reset(&e->scratch.pieces);
    const size_t count = call_read_pieces(source->text, source->spans, index, &e->scratch.pieces, &steps);
    struct call_piece *pieces = hold(e, count, sizeof *pieces);
    memcpy(pieces, e->scratch.pieces.data, count * sizeof *pieces);
    spend(e, steps);
    return (struct call_parts){pieces, count};
}

/* ---------------------------------------------------------------------------------------------- calls that stay */

/* Writes "|" and "=" outside brackets as the templates that stand for them, so that they split no argument. */
static void protect(struct expander *e, size_t from, struct buf *out)
{
    const size_t size = out->size - from;
    unsigned depth = 0;
    if (size == 0 || !(memchr(out->data + from, '|', size) || memchr(out->data + from, '=', size)))
        return;
    const struct str text = keep(e, (struct str){out->data + from, size});
    out->size = from;
    while (out == &e->out && e->copy_count > 0 && e->copies[e->copy_count - 1].at >= from)
        e->copy_count--; /* it counts as inserted */
    if (out == &e->out && e->copy_count > 0) {
        struct expand_copy *last = &e->copies[e->copy_count - 1];
        if (last->at + last->size > from)
            last->size = (uint32_t)from - last->at;
    }
    for (size_t i = 0; i < text.size; i++) {
        const bool pair = i + 1 < text.size && text.data[i + 1] == text.data[i];
        const char byte = text.data[i];
        if (pair && (byte == '[' || byte == '{'))
            depth++;
        else if (pair && (byte == ']' || byte == '}') && depth > 0)
            depth--;
        else if (depth == 0 && (byte == '|' || byte == '=')) {
            buf_add_text(out, byte == '|' ? "{{!}}" : "{{=}}");
            continue;
        } else {
            buf_add_byte(out, byte);
            continue;
        }
        buf_add(out, text.data + i++, 2);
    }
}

void emit_call(struct expander *e, const struct expand_source *source, uint32_t index, struct str name, struct buf *out)
{
    const struct spans *spans = source->spans;
    const struct span *span = &spans->items[index];
    uint32_t from = span->start, child = index + 1;
    if (name.size > 0) {
        uint32_t equals;
        struct span_walk walk = span_walk(source->text, spans, index);
        span_walk_to_bar(&walk, &equals);
        buf_add_text(out, "{{");
        buf_add_str(out, name);
        from = walk.at;
        while (child < spans->count && spans->items[child].start < from)
            child = spans->items[child].next;
    }
    while (from < span->end) {
        const bool inside = child < spans->count && spans->items[child].start < span->end;
        const struct span *inner = inside ? &spans->items[child] : NULL;
        const bool is_call = inside && (inner->kind == SPAN_TEMPLATE || inner->kind == SPAN_ARGUMENT);
        if (inside && !is_call && inner->kind != SPAN_TAG && inner->kind != SPAN_COMMENT && inner->start >= from) {
            expand_range(e, source, from, inner->start, child, out);
            from = inner->start;
            child++; /* what is inside it is read with the rest */
            continue;
        }
        expand_range(e, source, from, inside ? inner->start : span->end, UINT32_MAX, out);
        if (!inside)
            break;
        const size_t at = out->size;
        expand_range(e, source, inner->start, inner->end, child, out);
        if (is_call)
            protect(e, at, out);
        from = inner->end;
        child = inner->next;
    }
}

/* Appends arguments that are known. */
static void emit_arguments(struct expander *e, struct call_frame *frame, struct buf *out)
{
    for (size_t i = 0; i < frame->count; i++) {
        struct str value;
        if (!frame_argument(e, frame, frame->values[i].name, &value))
            continue;
        buf_addf(out, "|%.*s=", (int)frame->values[i].name.size, frame->values[i].name.data);
        const size_t at = out->size;
        buf_add_str(out, value);
        protect(e, at, out);
    }
}

static bool has_numbered(const struct call_frame *frame)
{
    for (size_t i = 0; i < frame->count; i++)
        if (!frame->values[i].is_named)
            return true;
    return false;
}

/* A call of a module that shows what the template `name` does: with its arguments, and those of the template around it
 * if it has none without a name. */
static void emit_bound(struct expander *e, const struct expand_source *source, struct call_parts parts, struct str name,
                       struct buf *out)
{
    struct call_frame own = {.caller = source->frame};
    frame_read(e, source, parts, &own);
    buf_addf(out, "{{%.*s", (int)name.size, name.data);
    if (source->frame && !has_numbered(&own))
        emit_arguments(e, source->frame, out);
    emit_arguments(e, &own, out);
    buf_add_text(out, "}}");
}

bool call_has_row(struct expander *e, struct str name)
{
    return template_has_row(&e->renders, name, e->page);
}

/* A '<' or '[' that is meant to be seen is no markup. */
static void add_meant(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == MEANT_TAG)
            buf_add_text(out, "&lt;");
        else if (text.data[i] == MEANT_BRACKET)
            buf_add_text(out, "&#91;");
        else
            buf_add_byte(out, text.data[i]);
    }
}

/* True for a template of the dump that is a box or a table. */
static bool is_mark(const struct template_page *page, uint32_t index)
{
    char canonical[NAME_BYTES_MAX];
    struct str name = template_name(page->text, page->spans, index, canonical);
    const struct rendering_row *row = templates_find(page->templates, &name);
    return row && row->kind == RENDERING_MARK;
}

/* Computes one call that is left in a text. */
static bool settle_call(struct expander *e, struct template_page *page, uint32_t index, struct buf *out)
{
    struct renders *renders = &e->renders;
    const struct span *span = &page->spans->items[index];
    if (plain_add(page, NULL, span->start, span->end, index, out))
        return true;
    uint64_t steps = 0;
    const struct rendering rendering = template_render(page, index, renders, &steps);
    spend(e, steps);
    if (rendering.dropped) {
        if (is_mark(page, index))
            buf_add_text(out, "{||}"); /* a box or a table is no text, but {{#if:…}} sees it */
        return rendering.is_silent || !rendering.is_unknown;
    }
    for (size_t i = rendering.part; i < renders->count; i++) {
        const struct part *part = &renders->parts[i];
        if (part->kind == PART_TEXT) {
            add_meant(out, (struct str){renders->text.data + part->from, part->to - part->from});
        } else if (part->kind == PART_ARGUMENT) {
            buf_add(out, page->text.data + part->from, part->to - part->from);
        }
    }
    renders_pop(renders, &rendering);
    return true;
}

/* True if it shows another text on another page: not {{NAMESPACE}}, which is that of articles, nor {{lc:…}}. */
static bool needs_page(struct expander *e, struct str text, const struct span *span)
{
    char folded[NAME_BYTES_MAX];
    const struct str inner = str_trim(span_inner(text, span));
    const char *colon = memchr(inner.data, ':', inner.size);
    if (span->kind != SPAN_TEMPLATE || str_equal(inner, STR("NAMESPACE")))
        return false;
    return !colon || inner.data[0] == '#' || !call_has_row(e, name_fold(str_range(inner.data, colon + 1), folded));
}

bool settle_calls(struct expander *e, struct buf *text, size_t from)
{
    const struct str all = {text->data + from, text->size - from};
    if (str_find(all, STR("{{")) == SIZE_MAX)
        return true;
    if (all.size > SETTLE_BYTES_MAX)
        return false;
    struct template_page page = *e->page;
    bool known = true;
    page.text = keep(e, all);
    page.spans = &e->settling;
    e->renders.read_end = 0; /* it is a place in the text settled before */
    page.templates = e->templates;
    spans_find(&e->settling, e->magic, false, page.text);
    text->size = from;
    uint32_t at = 0;
    for (uint32_t i = 0; i < e->settling.count && known;) {
        const struct span *span = &e->settling.items[i];
        if (span->kind != SPAN_TEMPLATE) {
            i = span->kind == SPAN_LINK || span->kind == SPAN_TABLE ? i + 1 : span->next;
            continue;
        }
        for (uint32_t k = i; k < span->next; k++)
            e->uses_page |= needs_page(e, page.text, &e->settling.items[k]);
        buf_add(text, page.text.data + at, span->start - at);
        known = settle_call(e, &page, i, text);
        at = span->end;
        i = span->next;
    }
    buf_add(text, page.text.data + at, (uint32_t)page.text.size - at);
    return known;
}

/* -------------------------------------------------------------------------------------------------- what a name is */

static void expand_invoke(struct expander *e, const struct expand_source *source, struct str typed,
                          struct call_parts parts, struct buf *out)
{
    char module[NAME_BYTES_MAX], function[NAME_BYTES_MAX], scratch[2 * NAME_BYTES_MAX];
    struct str value = STR(""), name;
    if (parts.count > 1 &&
        !expand_value(e, source, parts.items[1].from, parts.items[1].to, parts.items[1].child, &value))
        value = STR("");
    const struct rendering_row *row =
        modules_find(e->modules, name_fold(typed, module), name_fold(str_trim(value), function), &name, scratch);
    const struct call_parts arguments = {parts.items + 1, parts.count > 1 ? parts.count - 1 : 0};
    if (row && row->kind == RENDERING_WIKITEXT) {
        expand_module(e, source, row, arguments, out);
        return;
    }
    if (row || (name.size > 0 && (source->frame || arguments.count > 1))) {
        if (!row)
            emit_bound(e, source, arguments, name, out);
        return;
    }
    e->is_incomplete = true;
    if (source->is_page)
        buf_addf(out, "{{#invoke:%.*s}}", (int)typed.size, typed.data);
}

/* The English name of the function before the colon, folded and without the colon; empty if it does not fit. */
static struct str function_name(const struct expander *e, struct str typed, char folded[NAME_BYTES_MAX])
{
    const struct str own = magic_function(e->magic, typed);
    return name_fold(own.size > 0 ? own : typed, folded);
}

/* Removes "subst:", "safesubst:", "msg:" and "raw:" from the start of a name. */
static struct str skip_words(const struct expander *e, struct str name)
{
    LOCAL_WORDS(words, "msg", "raw", "safesubst", "subst");
    name = str_trim(name);
    const char *colon = memchr(name.data, ':', name.size);
    for (bool more = true; colon && more; colon = memchr(name.data, ':', name.size)) {
        char folded[NAME_BYTES_MAX];
        more = words_have(words, function_name(e, str_range(name.data, colon), folded));
        if (more)
            name = str_trim(str_range(colon + 1, name.data + name.size));
    }
    return name;
}

/* The template that the name means, as the file of renderings writes it: without "Template:", and other pages with
 * their namespace, those of the main one after a colon. */
static struct str template_title(struct expander *e, struct str name, char out[NAME_BYTES_MAX + 1])
{
    const char *colon = memchr(name.data, ':', name.size);
    if (name.size > 0 && name.data[0] == '/') {
        char joined[2 * NAME_BYTES_MAX];
        e->uses_page = true;
        const int size = snprintf(joined, sizeof joined, ":%.*s%.*s", (int)e->page->title.size, e->page->title.data,
                                  (int)name.size, name.data);
        if (size >= (int)NAME_BYTES_MAX)
            return STR("");
        memcpy(out, joined, (size_t)size);
        return (struct str){out, (size_t)size};
    }
    const char *anchor = memchr(name.data, '#', name.size);
    if (anchor && anchor > name.data)
        name = str_range(name.data, anchor);
    if (colon == name.data && name.size > 1)
        return namespaces_page(e->namespaces, str_from(name, 1), out);
    return colon && namespaces_of_title(e->namespaces, name) != 0 ? namespaces_page(e->namespaces, name, out)
                                                                  : name_canonical(str_trim(name), out);
}

bool page_exists(struct expander *e, struct str title)
{
    char canonical[NAME_BYTES_MAX];
    title = str_trim(title);
    if (str_starts(title, STR(":")))
        title = str_from(title, 1);
    const char *anchor = memchr(title.data, '#', title.size);
    if (anchor)
        title = str_range(title.data, anchor);
    for (size_t i = 0; i < title.size; i++)
        if (strchr("[]{}|<>", title.data[i]))
            return false;
    struct str name = namespaces_page(e->namespaces, title, canonical), all = STR(":");
    return name.size > 0 &&
           (namespaces_of_title(e->namespaces, title) == -1 ||
            /* a special page */ templates_find(e->templates, &name) || !templates_find(e->templates, &all));
}

/* A function with its arguments expanded, which the walk computes where it stands. */
static void emit_function(struct expander *e, const struct expand_source *source, struct str name, struct str value,
                          struct call_parts parts, struct buf *out)
{
    buf_add_text(out, "{{");
    buf_add_str(out, name);
    size_t at = out->size;
    buf_add_str(out, value);
    protect(e, at, out);
    for (size_t i = 1; i < parts.count; i++) {
        const struct call_piece *piece = &parts.items[i];
        buf_add_byte(out, '|');
        at = out->size;
        expand_range(e, source, piece->from, piece->to, piece->child, out);
        protect(e, at, out);
    }
    buf_add_text(out, "}}");
}

/* {{#tag:name|content|key=value}} is the tag. */
static void expand_tag(struct expander *e, const struct expand_source *source, struct str value,
                       struct call_parts parts, struct buf *out)
{
    const struct str name = str_trim(value);
    const struct tag *tag = tag_find(name);
    if (tag && tag->kind >= TAG_DROP && tag->kind != TAG_LITERAL && tag->kind != TAG_PRE && tag->fate != FATE_MATH)
        return;
    struct str content = parts.count > 1 ? expand_trimmed(e, source, &parts.items[1]) : STR("");
    buf_addf(out, "<%.*s>", (int)name.size, name.data);
    for (size_t at; (at = str_find(content, STR("{{!}}"))) != SIZE_MAX;) {
        buf_addf(out, "%.*s|", (int)at, content.data);
        content = str_from(content, at + 5);
    }
    buf_add_str(out, content);
    buf_addf(out, "</%.*s>", (int)name.size, name.data);
}

/* A call whose name has a colon; false: it is no function. */
static bool expand_with_colon(struct expander *e, const struct expand_source *source, uint32_t index, struct str name,
                              bool is_known, struct call_parts parts, struct buf *out)
{
    char folded[NAME_BYTES_MAX + 1];
    const char *colon = memchr(name.data, ':', name.size);
    if (!colon || colon == name.data)
        return false;
    const size_t from = out->size;
    struct str function = function_name(e, str_range(name.data, colon), folded);
    const struct str value = str_range(colon + 1, name.data + name.size);
    folded[function.size] = ':';
    function.size += function.size > 0;
    const unsigned choice = choice_find(function);
    if (choice > 0) {
        expand_function(e, source, choice, value, is_known, parts, out);
        begin_line(e, source, source->spans->items[index].start, from, out);
    } else if (str_equal(function, STR("#invoke:"))) {
        expand_invoke(e, source, str_trim(value), parts, out);
    } else if (str_equal(function, STR("#tag:"))) {
        expand_tag(e, source, value, parts, out);
    } else if (function.size == 0 || !call_has_row(e, function)) {
        return false;
    } else if (is_known) {
        emit_function(e, source, function, value, parts, out);
    } else {
        e->is_incomplete = true;
        emit_call(e, source, index, STR(""), out);
    }
    return true;
}

/* A call whose name is expanded here. */
static void expand_named(struct expander *e, const struct expand_source *source, uint32_t index,
                         struct call_parts parts, struct buf *out)
{
    char folded[NAME_BYTES_MAX], canonical[NAME_BYTES_MAX + 1];
    const struct call_piece *first = &parts.items[0];
    struct str typed;
    const bool is_known = expand_value(e, source, first->from, first->to, first->child, &typed);
    struct str name = skip_words(e, typed);
    if (parts.count == 1 && (str_equal(name, STR("!")) || str_equal(name, STR("=")))) {
        buf_add_str(out, str_equal(name, STR("!")) ? STR("|") : name);
        return;
    }
    if (expand_with_colon(e, source, index, name, is_known, parts, out))
        return;
    if (!is_known) {
        e->is_incomplete = true;
        return;
    }
    const struct str variable = parts.count == 1 ? magic_function(e->magic, name) : STR("");
    name = variable.size > 0 ? variable : name;
    struct str title = template_title(e, name, canonical);
    const struct rendering_row *row = templates_find(e->templates, &title);
    if (row && row->kind == RENDERING_WIKITEXT) {
        expand_body(e, source, index, row, parts, out);
        return;
    }
    const bool is_silent = row ? row->kind == RENDERING_MARK : words_have(silent_templates, name_fold(title, folded));
    e->is_incomplete |= !row && !is_silent && !call_has_row(e, title);
    if (is_silent && source->is_page) {
        const struct span *span = &source->spans->items[index];
        copy_text(e, source, span->start, span->end, out);
        return;
    }
    const bool is_typed = variable.size == 0 && typed.size == first->to - first->from;
    emit_call(e, source, index, is_typed ? STR("") : title, out);
}

void expand_template(struct expander *e, const struct expand_source *source, uint32_t index, struct buf *out)
{
    const struct body_call *call = source->body ? &source->body->calls[index] : NULL;
    const struct call_parts parts = call_parts(e, source, index);
    spend(e, CALL_WORK);
    if (call && call->row > 0) {
        expand_body(e, source, index, templates_row(e->templates, call->row - 1), parts, out);
    } else if (call && call->function > 0) {
        const struct call_piece *first = &parts.items[0];
        const char *text = source->text.data, *colon = memchr(text + first->from, ':', first->to - first->from);
        const size_t from = out->size;
        struct str value;
        const bool is_known = expand_value(e, source, (uint32_t)(colon + 1 - text), first->to, first->child, &value);
        expand_function(e, source, call->function, str_trim(value), is_known, parts, out);
        begin_line(e, source, source->spans->items[index].start, from, out);
    } else {
        expand_named(e, source, index, parts, out);
    }
}

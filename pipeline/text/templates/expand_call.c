/* A call: its name, what the name means, and the calls that stay in the text. */
#include "pipeline/text/templates/expand_call.h"

#include "pipeline/text/markup/tags.h"
#include "pipeline/text/templates/plain.h"

#define SETTLE_BYTES_MAX 4096u /* of a text with calls, to compute with */

size_t call_pieces(const struct expand_source *source, uint32_t index, struct call_piece pieces[PIECES_MAX])
{
    struct span_walk walk = span_walk(source->text, source->spans, index);
    size_t count = 0;
    for (bool more = true; more && count < PIECES_MAX;) {
        struct call_piece piece = {.from = walk.at, .child = walk.child};
        uint32_t equals;
        more = span_walk_to_bar(&walk, &equals);
        piece.to = walk.at;
        piece.equals = equals < walk.at ? equals : walk.at;
        pieces[count++] = piece;
        if (more)
            walk.at = walk.bar_end;
    }
    return count;
}

/* ---------------------------------------------------------------------------------------------- calls that stay */

/* Writes "|" and "=" outside brackets as the templates that stand for them, so that they split no argument. */
static void protect(struct expander *e, size_t from, struct buf *out)
{
    const struct str text = arena_copy(&e->arena, (struct str){out->data + from, out->size - from});
    unsigned depth = 0;
    bool any = false;
    for (size_t i = 0; i < text.size && !any; i++)
        any = text.data[i] == '|' || text.data[i] == '=';
    if (!any)
        return;
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
    e->work += text.size;
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
        buf_addf(out, "{{%.*s", (int)name.size, name.data);
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

/* A call of the module that a renderer of ours implements: the renderer's name, with the frame's arguments. */
static void emit_bound(struct expander *e, struct call_frame *frame, const char *name, struct buf *out)
{
    buf_addf(out, "{{%s", name);
    for (size_t i = 0; i < frame->count; i++) {
        struct str value;
        if (!frame_argument(e, frame, frame->values[i].name, &value))
            continue;
        buf_addf(out, "|%.*s=", (int)frame->values[i].name.size, frame->values[i].name.data);
        const size_t at = out->size;
        buf_add_str(out, value);
        protect(e, at, out);
    }
    buf_add_text(out, "}}");
}

bool call_has_row(const struct expander *e, struct str name)
{
    return template_has_row(name, e->page->code);
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

/* Computes one call that is left in a text. */
static bool settle_call(struct expander *e, struct template_page *page, uint32_t index, struct buf *out)
{
    struct renders *renders = &e->renders;
    const struct span *span = &page->spans->items[index];
    if (plain_add(page, NULL, span->start, span->end, index, out))
        return true;
    uint64_t steps = 0;
    const struct rendering rendering = template_render(page, index, renders, &steps);
    e->work += steps;
    if (rendering.dropped)
        return rendering.is_silent || !rendering.is_unknown;
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

bool settle_calls(struct expander *e, struct buf *text)
{
    if (str_find(buf_str(text), STR("{{")) == SIZE_MAX)
        return true;
    if (text->size > SETTLE_BYTES_MAX)
        return false;
    struct template_page page = *e->page;
    struct buf out = {0};
    bool known = true;
    page.text = arena_copy(&e->arena, buf_str(text));
    page.spans = &e->settling;
    page.templates = e->templates;
    spans_find(&e->settling, e->magic, false, page.text);
    e->work += text->size;
    uint32_t from = 0;
    for (uint32_t i = 0; i < e->settling.count && known;) {
        const struct span *span = &e->settling.items[i];
        if (span->kind != SPAN_TEMPLATE) {
            i = span->kind == SPAN_LINK || span->kind == SPAN_TABLE ? i + 1 : span->next;
            continue;
        }
        buf_add(&out, page.text.data + from, span->start - from);
        known = settle_call(e, &page, i, &out);
        from = span->end;
        i = span->next;
    }
    buf_add(&out, page.text.data + from, (uint32_t)page.text.size - from);
    buf_reset(text);
    buf_add_str(text, buf_str(&out));
    buf_release(&out);
    return known;
}

/* -------------------------------------------------------------------------------------------------- what a name is */

/* Modules that our renderers implement (a row's name), and modules that make no running text (""). */
static const struct {
    const char *module, *row;
} modules[] = {
    {"anchor", ""},
    {"authority control", ""},
    {"catlang", ""},
    {"check for", ""},
    {"citation", ""},
    {"color contrast", ""},
    {"convert", "convert"},
    {"coordinates", "coord"},
    {"coordonnées", "coord"},
    {"date", "date"},
    {"footnotes", ""},
    {"format num", "formatnum"},
    {"formatnum", "formatnum"},
    {"gapnum", "formatnum"},
    {"hatnote", ""},
    {"infobox", ""},
    {"labelled list", ""},
    {"list", "comma separated entries"},
    {"main", ""},
    {"message box", ""},
    {"navbox", ""},
    {"side box", ""},
    {"sidebar", ""},
    {"unité", "unité"},
    {"unsubst", ""},
    {"val", "val"},
};

static void expand_invoke(struct expander *e, const struct expand_source *source, struct str module, struct buf *out)
{
    char folded[NAME_BYTES_MAX];
    const struct str name = name_fold(module, folded);
    if (str_equal(name, STR("lang")) && source->frame) {
        emit_bound(e, source->frame, "lang", out);
        return;
    }
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (!str_starts(name, str_of(modules[i].module)))
            continue;
        if (modules[i].row[0] && source->frame)
            emit_bound(e, source->frame, modules[i].row, out);
        return;
    }
    e->is_incomplete = true;
    if (source->is_page)
        buf_addf(out, "{{#invoke:%.*s}}", (int)module.size, module.data);
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
    static const char *const words[] = {"safesubst", "subst", "msg", "raw"};
    name = str_trim(name);
    const char *colon = memchr(name.data, ':', name.size);
    for (bool more = true; colon && more; colon = memchr(name.data, ':', name.size)) {
        char folded[NAME_BYTES_MAX];
        const struct str function = function_name(e, str_range(name.data, colon), folded);
        more = false;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            more |= str_equal(function, str_of(words[i]));
        if (more)
            name = str_trim(str_range(colon + 1, name.data + name.size));
    }
    return name;
}

/* The template that the name means, as the file of renderings writes it: without "Template:", and other pages with
 * their namespace, those of the main one after a colon. */
static struct str template_title(const struct expander *e, struct str name, char out[NAME_BYTES_MAX + 1])
{
    const char *colon = memchr(name.data, ':', name.size);
    if (name.size > 0 && name.data[0] == '/') {
        char joined[2 * NAME_BYTES_MAX];
        const int size = snprintf(joined, sizeof joined, ":%.*s%.*s", (int)e->page->title.size, e->page->title.data,
                                  (int)name.size, name.data);
        if (size >= (int)NAME_BYTES_MAX)
            return STR("");
        memcpy(out, joined, (size_t)size);
        return (struct str){out, (size_t)size};
    }
    if (colon && colon > name.data && namespaces_of_title(e->namespaces, name) == 10)
        name = str_trim(str_range(colon + 1, name.data + name.size));
    else if (colon == name.data && name.size > 1) {
        char canonical[NAME_BYTES_MAX];
        const struct str title = name_canonical((struct str){name.data + 1, name.size - 1}, canonical);
        if (title.size == 0 || title.size + 1 >= NAME_BYTES_MAX)
            return STR("");
        out[0] = ':';
        memcpy(out + 1, title.data, title.size);
        return (struct str){out, title.size + 1};
    }
    const char *anchor = memchr(name.data, '#', name.size);
    if (anchor && anchor > name.data)
        name = str_range(name.data, anchor);
    return name_canonical(str_trim(name), out);
}

/* A function with its arguments expanded, which the walk computes where it stands. */
static void emit_function(struct expander *e, const struct expand_source *source, struct str name, struct str value,
                          const struct call_piece *pieces, size_t count, struct buf *out)
{
    buf_addf(out, "{{%.*s", (int)name.size, name.data);
    size_t at = out->size;
    buf_add_str(out, value);
    protect(e, at, out);
    for (size_t i = 1; i < count; i++) {
        const uint32_t from = pieces[i].from;
        buf_add_byte(out, '|');
        at = out->size;
        expand_range(e, source, from, pieces[i].to, pieces[i].child, out);
        protect(e, at, out);
    }
    buf_add_text(out, "}}");
}

/* {{#tag:name|content|key=value}} is the tag. */
static void expand_tag(struct expander *e, const struct expand_source *source, struct str value,
                       const struct call_piece *pieces, size_t count, struct buf *out)
{
    const struct str name = str_trim(value);
    const struct tag *tag = tag_find(name);
    if (tag && tag->kind >= TAG_DROP && tag->kind != TAG_LITERAL && tag->kind != TAG_PRE && tag->fate != FATE_MATH)
        return;
    const struct str content = count > 1 ? expand_trimmed(e, source, &pieces[1]) : STR("");
    buf_addf(out, "<%.*s>", (int)name.size, name.data);
    buf_add_str(out, content);
    buf_addf(out, "</%.*s>", (int)name.size, name.data);
}

void expand_template(struct expander *e, const struct expand_source *source, uint32_t index, struct buf *out)
{
    struct call_piece pieces[PIECES_MAX];
    const size_t count = call_pieces(source, index, pieces);
    char folded[NAME_BYTES_MAX + 1], canonical[NAME_BYTES_MAX + 1];
    const uint32_t start = source->spans->items[index].start;
    const size_t from = out->size;
    struct str typed;
    const bool is_known = expand_value(e, source, pieces[0].from, pieces[0].to, pieces[0].child, &typed);
    struct str name = skip_words(e, typed);
    const char *colon = memchr(name.data, ':', name.size);
    if (colon && colon > name.data) {
        struct str function = function_name(e, str_range(name.data, colon), folded);
        const struct str value = str_range(colon + 1, name.data + name.size);
        folded[function.size] = ':';
        function.size += function.size > 0;
        if (str_equal(function, STR("#invoke:"))) {
            expand_invoke(e, source, str_trim(value), out);
            return;
        }
        if (str_equal(function, STR("#tag:"))) {
            expand_tag(e, source, value, pieces, count, out);
            return;
        }
        if (str_starts(function, STR("#")) &&
            expand_function(e, source, function, value, is_known, pieces, count, out)) {
            begin_line(e, source, start, from, out);
            return;
        }
        if (function.size > 0 && template_has_row(function, e->page->code)) {
            e->is_incomplete |= !is_known;
            if (is_known)
                emit_function(e, source, function, value, pieces, count, out);
            else
                emit_call(e, source, index, STR(""), out);
            return;
        }
    }
    if (!is_known) {
        e->is_incomplete = true;
        return;
    }
    const struct str variable = count == 1 ? magic_function(e->magic, name) : STR("");
    name = variable.size > 0 ? variable : name;
    struct str title = template_title(e, name, canonical);
    const struct rendering_row *row = templates_find(e->templates, &title);
    if (row && row->kind == RENDERING_WIKITEXT) {
        expand_body(e, source, index, row, pieces, count, out);
        return;
    }
    const bool is_silent = row ? row->kind == RENDERING_MARK : words_have(silent_templates, name_fold(title, folded));
    e->is_incomplete |= !row && !is_silent && !call_has_row(e, title);
    if (is_silent && source->is_page) {
        copy_text(e, source, start, source->spans->items[index].end, out);
        return;
    }
    const bool is_typed = variable.size == 0 && typed.size == pieces[0].to - pieces[0].from;
    emit_call(e, source, index, is_typed ? STR("") : title, out);
}

/* The plain text of a part of a page: for values to compute with, and for arguments that are shown again. */
#include "pipeline/text/markup/entities.h"
#include "pipeline/text/markup/tags.h"
#include "pipeline/text/templates/plain.h"

/* Adds text outside spans: without quotes and tags, entities decoded, line ends as blanks. */
static void add_text(struct str text, struct buf *out)
{
    for (size_t at = 0; at < text.size;) {
        const struct str rest = {text.data + at, text.size - at};
        const char byte = text.data[at];
        struct tag_found tag;
        size_t size = 1, looked;
        struct entity_shown shown;
        if (byte == '\'' && str_starts(rest, STR("''"))) {
            while (size < rest.size && rest.data[size] == '\'')
                size++;
        } else if (byte == '&' && (size = entity_decode(rest, &shown)) > 0) {
            buf_add(out, shown.bytes, shown.size);
        } else if (byte == '<' && tag_read(rest, &tag, &looked)) {
            size = tag.size;
        } else {
            size = 1;
            if ((unsigned char)byte >= ' ')
                buf_add_byte(out, byte);
            else if (byte == '\n' || byte == '\t')
                buf_add_byte(out, ' ');
        }
        at += size;
    }
}

/* A link shows its label; nothing if there are spans inside. */
static void add_link(const struct template_page *page, uint32_t index, struct buf *out)
{
    const struct span *span = &page->spans->items[index];
    if (span->next != index + 1)
        return;
    struct str label = span_inner(page->text, span);
    const char *bar = memchr(label.data, '|', label.size);
    if (bar)
        label = str_range(bar + 1, label.data + label.size);
    add_text(label, out);
}

/* {{{name|default}}} shows its default on the page itself; false if that contains spans, or if there is none. */
static bool add_default(const struct template_page *page, uint32_t index, struct buf *out)
{
    const struct span *span = &page->spans->items[index];
    const struct str inner = span_inner(page->text, span);
    const char *bar = memchr(inner.data, '|', inner.size);
    if (span->next != index + 1 || !bar)
        return false;
    add_text(str_range(bar + 1, inner.data + inner.size), out);
    return true;
}

/* {{PAGENAME}}, {{NAMESPACE}} (articles have none), {{CURRENTYEAR}}: the variables that conditions and sums use. The
 * title only if it is the whole argument, because a value has a limit (VALUE_BYTES_MAX). */
static bool add_variable(const struct template_page *page, uint32_t index, bool is_whole, struct buf *out)
{
    static const struct {
        const char *name;
        uint8_t from, size; /* of the timestamp 2026-11-01T12:34:56Z */
        bool drops_zero;
    } parts[] = {{"YEAR", 0, 4, false},   {"MONTH", 5, 2, false}, {"MONTH1", 5, 2, true},
                 {"MONTH2", 5, 2, false}, {"DAY", 8, 2, true},    {"DAY2", 8, 2, false}};
    const struct span *span = &page->spans->items[index];
    struct str name = str_trim(span_inner(page->text, span));
    const struct str own = magic_function(page->magic, name);
    name = own.size > 0 ? own : name;
    if (span->next != index + 1)
        return false;
    const bool is_namespace = str_equal(name, STR("NAMESPACE"));
    if (is_namespace || str_equal(name, STR("PAGENAME")) || str_equal(name, STR("FULLPAGENAME"))) {
        struct str title = page->title;
        const size_t size = name.data[0] == 'F' ? 0 : title_namespace_size(page->siteinfo, title);
        if (is_namespace)
            title.size = size;
        else if (size > 0)
            title = str_trim(str_from(title, size + 1));
        if (title.size > 0 && (!is_whole || title.size > VALUE_BYTES_MAX))
            return false;
        buf_add_str(out, title);
        return true;
    }
    const size_t prefix = str_starts(name, STR("CURRENT")) ? 7 : str_starts(name, STR("LOCAL")) ? 5 : 0;
    name = str_from(name, prefix);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (prefix == 0 || !str_equal(name, str_of(parts[i].name)) || page->timestamp.size < 10)
            continue;
        const char *digits = page->timestamp.data + parts[i].from;
        const bool drops = parts[i].drops_zero && *digits == '0';
        buf_add(out, digits + drops, parts[i].size - drops);
        return true;
    }
    return false;
}

bool plain_add(const struct template_page *page, struct call *call, uint32_t from, uint32_t to, uint32_t child,
               struct buf *out)
{
    const struct spans *spans = page->spans;
    const uint32_t first = from;
    const bool fits_title = !call || out->size + page->title.size <= out->capacity;
    bool readable = true;
    spans_at(spans, &child, from);
    while (from < to) {
        if (call && out->size + (to - from) > out->capacity) /* a value must not move those before it */
            return false;
        const bool inside = child < spans->count && spans->items[child].start < to;
        const uint32_t end = inside ? spans->items[child].start : to;
        add_text(str_part(page->text, from, end), out);
        if (!inside)
            break;
        if (spans->items[child].kind == SPAN_LINK)
            add_link(page, child, out);
        if (spans->items[child].kind == SPAN_TEMPLATE)
            readable &=
                add_variable(page, child,
                             fits_title && spans->items[child].start == first && spans->items[child].end == to, out) ||
                (call && call_add_template(call, child, out));
        if (spans->items[child].kind == SPAN_ARGUMENT)
            readable &= add_default(page, child, out);
        from = spans->items[child].end;
        child = spans->items[child].next;
    }
    return readable;
}

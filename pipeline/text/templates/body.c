#include "pipeline/text/templates/body.h"

#include "pipeline/text/templates/transclusion.h"
#include "pipeline/text/words/links.h"

struct str redirect_title(struct str text)
{
    const size_t open = str_find(text, STR("[["));
    if (open == SIZE_MAX)
        return STR("");
    const struct str target = {text.data + open + 2, text.size - open - 2};
    size_t size = 0;
    while (size < target.size && !strchr("]|#\n", target.data[size]))
        size++;
    return (struct str){target.data, size};
}

/* The name of the template that a redirect leads to. */
static bool add_target(struct str text, struct buf *out)
{
    const struct str title = redirect_title(text);
    const char *colon = memchr(title.data, ':', title.size);
    char canonical[NAME_BYTES_MAX];
    const struct str name = name_canonical(colon ? str_range(colon + 1, title.data + title.size) : STR(""), canonical);
    buf_add_str(out, name);
    return name.size > 0;
}

/* The kind of the one span that is all of the text, but for blanks, comments and categories; SPAN_NONE: there is
 * more. */
static enum span_kind only_span(const struct spans *spans, struct str text)
{
    enum span_kind kind = SPAN_NONE;
    uint32_t at = 0;
    for (size_t i = 0; i <= spans->count; i = spans->items[i].next) {
        const bool ended = i == spans->count;
        const uint32_t stop = ended ? (uint32_t)text.size : spans->items[i].start;
        if (str_trim(str_range(text.data + at, text.data + stop)).size > 0)
            return SPAN_NONE;
        if (ended)
            return kind;
        const struct span *span = &spans->items[i];
        const struct str inner = str_range(text.data + span->inner_start, text.data + span->inner_end);
        at = span->end;
        if (span->kind == SPAN_COMMENT || (span->kind == SPAN_LINK && str_starts(inner, STR("Category:"))))
            continue;
        if (kind != SPAN_NONE || (span->kind == SPAN_TABLE && span->tag)) /* the head of a table is not one */
            return SPAN_NONE;
        kind = (enum span_kind)span->kind;
    }
    return kind;
}

enum body_kind body_read(struct body_reader *reader, const struct language *language, struct str wikitext,
                         bool is_redirect, struct buf *out)
{
    const struct magic magic = magic_find(language, str_of(language->code));
    buf_reset(out);
    buf_reserve(out, 1); /* so that an empty text has an address */
    if (is_redirect || link_is_redirect(wikitext, &magic))
        return add_target(wikitext, out) ? BODY_ALIAS : BODY_OTHER;
    if (wikitext.size > BODY_BYTES_MAX)
        return BODY_OTHER;
    transclusion_take(wikitext, out);
    const struct str body = buf_str(out);
    spans_find(&reader->spans, &magic, false, body);
    const enum span_kind only = only_span(&reader->spans, body);
    return only == SPAN_TABLE ? BODY_TABLE : only == SPAN_TEMPLATE ? BODY_CALL : BODY_WIKITEXT;
}

void body_reader_release(struct body_reader *reader)
{
    spans_release(&reader->spans);
}

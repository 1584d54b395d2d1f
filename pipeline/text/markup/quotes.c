#include "pipeline/text/markup/quotes.h"

uint32_t quotes_literal(uint32_t count)
{
    if (count == 1 || count == 4)
        return 1;
    return count > 5 ? count - 5 : 0;
}

static char byte_before(struct str page, uint32_t at, uint32_t distance)
{
    return at >= distance ? page.data[at - distance] : 'x';
}

/* Hidden text does not count, nor do links, whose labels have apostrophes of their own: moves *at past the span that
 * covers it. */
static bool skip_hidden(const struct spans *spans, uint32_t *span, uint32_t *at)
{
    for (; *span < spans->count && spans->items[*span].start <= *at; ++*span) {
        const struct span *inner = &spans->items[*span];
        if (inner->end <= *at)
            continue;
        *at = inner->end;
        *span = inner->next;
        return true;
    }
    return false;
}

uint32_t quotes_apostrophe(struct str page, const struct spans *spans, uint32_t span, uint32_t from, uint32_t line_end)
{
    bool bold_odd = false, italic_odd = false;
    uint32_t after_letter = QUOTES_NONE, after_word = QUOTES_NONE, after_blank = QUOTES_NONE;
    for (uint32_t at = from; at < line_end;) {
        const char *next = memchr(page.data + at, '\'', line_end - at);
        if (!next)
            break;
        at = (uint32_t)(next - page.data);
        if (skip_hidden(spans, &span, &at))
            continue;
        uint32_t end = at;
        while (end < line_end && page.data[end] == '\'')
            end++;
        const uint32_t marks = end - at - quotes_literal(end - at);
        bold_odd ^= marks == 3 || marks == 5;
        italic_odd ^= marks == 2 || marks == 5;
        if (marks == 3) {
            const uint32_t run = end - marks;
            uint32_t *first = byte_before(page, run, 1) == ' '   ? &after_blank
                              : byte_before(page, run, 2) == ' ' ? &after_letter
                                                                 : &after_word;
            if (*first == QUOTES_NONE)
                *first = at;
        }
        at = end;
    }
    if (!bold_odd || !italic_odd)
        return QUOTES_NONE;
    if (after_letter != QUOTES_NONE)
        return after_letter;
    return after_word != QUOTES_NONE ? after_word : after_blank;
}

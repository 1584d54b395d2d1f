/* The functions for strings of the extension ParserFunctions: #len, #pos, #rpos, #sub, #count, #replace, #explode and
 * #urldecode. They count characters. Source: the extension's help page. */
#include "pipeline/text/templates/call.h"

#include <stdio.h>
#include <stdlib.h>

#define PIECES_MAX 64 /* of #explode */

static long characters(struct str text)
{
    return (long)utf8_characters(text);
}

/* The bytes of the first `count` characters. */
static size_t bytes_of(struct str text, long count)
{
    size_t at = 0;
    for (; at < text.size; at++)
        if (((unsigned char)text.data[at] & 0xC0) != 0x80 && count-- == 0)
            break;
    return at;
}

/* A whole number as PHP reads one at the start of a text. */
static long number_of(struct call *call, const char *name, long otherwise)
{
    char copy[12] = {0};
    const struct str value = call_value(call, name);
    if (value.size == 0 || value.size >= sizeof copy)
        return otherwise;
    memcpy(copy, value.data, value.size);
    return strtol(copy, NULL, 10);
}

static void show_number(struct call *call, long number)
{
    char text[24];
    snprintf(text, sizeof text, "%ld", number);
    show_text(call, text);
}

/* {{#pos:text|needle|from}}, {{#rpos:text|needle}}, {{#count:text|needle}} */
static void show_place(struct call *call, struct str text, struct str needle, char wanted)
{
    const long from = wanted == 'p' ? number_of(call, "2", 0) : 0;
    size_t at = bytes_of(text, from < 0 ? characters(text) + from : from), last = SIZE_MAX;
    long count = 0;
    for (size_t found; (found = str_find(str_from(text, at), needle)) != SIZE_MAX; count++) {
        last = at + found;
        at = last + (wanted == 'r' ? 1 : needle.size);
        if (wanted == 'p')
            break;
    }
    if (wanted == 'c')
        show_number(call, count);
    else if (last != SIZE_MAX)
        show_number(call, characters((struct str){text.data, last}));
    else
        show_text(call, wanted == 'r' ? "-1" : "");
}

/* {{#sub:text|start|length}}: negative ones count from the end. */
static void show_part(struct call *call, struct str text)
{
    const long size = characters(text), length = number_of(call, "2", 0);
    long from = number_of(call, "1", 0), to;
    from = from < 0 ? size + from : from;
    from = from < 0 ? 0 : from > size ? size : from;
    to = length == 0 ? size : length < 0 ? size + length : from + length;
    to = to > size ? size : to < from ? from : to;
    const size_t start = bytes_of(text, from);
    show(call, (struct str){text.data + start, bytes_of(text, to) - start});
}

/* {{#replace:text|needle|by|times}} */
static void show_replaced(struct call *call, struct str text, struct str needle)
{
    const struct str value = call_value(call, "2"); /* &#32; is a blank */
    const struct str by = value.size == 0 && call_argument(call, "2") ? STR(" ") : value;
    const long limit = number_of(call, "3", -1);
    for (long times = 0; limit < 0 || times < limit; times++) {
        const size_t found = str_find(text, needle);
        if (found == SIZE_MAX)
            break;
        show(call, (struct str){text.data, found});
        show(call, by);
        text = str_from(text, found + needle.size);
    }
    show(call, text);
}

/* {{#explode:text|needle|number of the piece}}: a negative one counts from the end. */
static void show_piece(struct call *call, struct str text, struct str needle)
{
    struct str pieces[PIECES_MAX];
    long count = 0, limit = number_of(call, "3", 0);
    limit = limit > 0 && limit < PIECES_MAX ? limit : PIECES_MAX;
    for (size_t found; count + 1 < limit && (found = str_find(text, needle)) != SIZE_MAX;) {
        pieces[count++] = (struct str){text.data, found};
        text = str_from(text, found + needle.size);
    }
    pieces[count++] = text;
    const long wanted = number_of(call, "2", 0), number = wanted < 0 ? count + wanted : wanted;
    show(call, number >= 0 && number < count ? pieces[number] : STR(""));
}

static void show_decoded(struct call *call, struct str text)
{
    struct buf shown = {0};
    for (size_t at = 0; at < text.size; at++) {
        unsigned char byte;
        if (text.data[at] == '%' && at + 2 < text.size && hex_read(str_part(text, at + 1, at + 3), &byte) &&
            byte >= ' ') {
            buf_add_byte(&shown, (char)byte);
            at += 2;
            continue;
        }
        buf_add_byte(&shown, text.data[at] == '+' ? ' ' : text.data[at]);
    }
    show(call, utf8_valid(buf_str(&shown)) ? buf_str(&shown) : text);
    buf_release(&shown);
}

/* The text as it is typed, which is what the functions count; its value where more than links stands in it. */
static struct str typed(const struct call *call, struct str value)
{
    const struct argument *argument = call_argument(call, "0");
    const struct spans *spans = call->page->spans;
    for (uint32_t i = argument ? argument->child : 0; argument && i < spans->count; i++) {
        if (spans->items[i].start >= argument->to)
            break;
        if (spans->items[i].kind != SPAN_LINK)
            return value;
    }
    return argument ? str_part(call->page->text, argument->from, argument->to) : value;
}

bool render_string(struct call *call)
{
    const struct str name = call->parameter;
    const bool counts = strchr("lprc", name.data[0]) && !str_equal(name, STR("replace"));
    struct str text = call_value(call, "0");
    text = counts ? typed(call, text) : text;
    struct str needle = call_value(call, "1");
    needle = needle.size > 0 ? needle : STR(" ");
    call_value(call, "2");
    call_value(call, "3");
    if (call->is_opaque)
        return false;
    call->steps += 4 * (uint64_t)text.size;
    if (str_equal(name, STR("len")))
        show_number(call, characters(text));
    else if (str_equal(name, STR("sub")))
        show_part(call, text);
    else if (str_equal(name, STR("replace")))
        show_replaced(call, text, needle);
    else if (str_equal(name, STR("explode")))
        show_piece(call, text, needle);
    else if (str_equal(name, STR("urldecode")))
        show_decoded(call, text);
    else
        show_place(call, text, needle, name.data[0]);
    show_text(call, "");
    return true;
}

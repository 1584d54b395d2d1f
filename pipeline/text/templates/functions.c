/* Parser functions whose arguments can be known without expanding templates. Argument "0" is the one after the colon;
 * the others are numbered from 1 and have no names. */
#include "pipeline/text/templates/call.h"
#include "pipeline/text/templates/expr.h"

#include <stdlib.h>
#include <utf8proc.h>

/* Shows an argument of a function; an empty one is not a gap. */
static bool show_choice(struct call *call, const struct argument *argument)
{
    if (argument)
        show_argument(call, argument);
    else
        show(call, STR(""));
    return true;
}

/* {{#if: text | then | else }} */
bool render_if(struct call *call)
{
    const struct str condition = call_value(call, "0");
    if (call->is_opaque)
        return false;
    return show_choice(call, call_argument(call, condition.size > 0 ? "1" : "2"));
}

static bool is_made_of(struct str text, const char *bytes)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == 0 || !strchr(bytes, text.data[i]))
            return false;
    return true;
}

/* A decimal number as PHP reads one: 1, -1.50, .5, 1e3. */
static bool is_numeric(struct str text, double *number)
{
    char copy[VALUE_BYTES_MAX + 1], *end;
    if (text.size == 0 || text.size >= sizeof copy || !is_made_of(text, "0123456789+-.eE"))
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = 0;
    *number = strtod(copy, &end);
    return *end == 0;
}

/* Compares like the parser functions: numbers by value. */
static bool are_equal(struct str left, struct str right)
{
    double a, b;
    return str_equal(left, right) || (is_numeric(left, &a) && is_numeric(right, &b) && a == b);
}

/* {{#iferror: text | error | text otherwise }}: what we can show is never an error. */
bool render_iferror(struct call *call)
{
    return show_choice(call, call->count > 2 ? call_argument(call, "2") : call_argument(call, "0"));
}

/* {{#ifeq: a | b | then | else }} */
bool render_ifeq(struct call *call)
{
    const struct str left = call_value(call, "0"), right = call_value(call, "1");
    if (call->is_opaque)
        return false;
    return show_choice(call, call_argument(call, are_equal(left, right) ? "2" : "3"));
}

/* {{#expr: 2 * 3 round 1 }} */
bool render_expr(struct call *call)
{
    const struct str text = call_value(call, "0");
    const struct expr expr = expr_read(text);
    call->steps += text.size;
    if (call->is_opaque || expr.error)
        return false;
    show_text(call, expr.text);
    return true;
}

/* {{#ifexpr: 2 > 1 | then | else }} */
bool render_ifexpr(struct call *call)
{
    const struct str text = call_value(call, "0");
    const struct expr expr = expr_read(text);
    call->steps += text.size;
    if (call->is_opaque || expr.error)
        return false;
    return show_choice(call, call_argument(call, expr_holds(&expr) ? "1" : "2"));
}

/* {{#switch: value | a | b = shown | #default = shown }}: cases without '=' fall through; a last one is the default. */
bool render_switch(struct call *call)
{
    const struct str wanted = call_value(call, "0");
    if (call->is_opaque)
        return false;
    const struct str page = call->page->text;
    struct argument chosen, fallback;
    bool found = false, falls = false, has_fallback = false;
    for (size_t i = 1; i < call->count && !found; i++) {
        const struct argument *argument = &call->arguments[i];
        const struct str text = str_range(page.data + argument->from, page.data + argument->to);
        const char *equals = memchr(text.data, '=', text.size);
        if (equals && argument->child < call->page->spans->count &&
            call->page->spans->items[argument->child].start < (uint32_t)(equals - page.data))
            return false;
        const struct str key = str_trim(equals ? str_range(text.data, equals) : text);
        falls |= are_equal(key, wanted);
        struct argument value = *argument;
        if (equals) {
            value.from = (uint32_t)(equals - page.data) + 1;
            while (value.from < value.to && strchr(" \t\n", page.data[value.from]))
                value.from++;
        }
        if (str_equal(key, STR("#default")) || (!equals && i + 1 == call->count)) {
            fallback = value;
            has_fallback = true;
        }
        if (equals && falls) {
            chosen = value;
            found = true;
        }
    }
    if (!found && has_fallback)
        chosen = fallback;
    const bool shows = (found || has_fallback) && chosen.from < chosen.to;
    return show_choice(call, shows ? &chosen : NULL);
}

void case_add(struct str name, struct str text, struct buf *out)
{
    const bool upper = str_starts(name, STR("u")), first_only = str_ends(name, STR("first"));
    for (size_t at = 0; at < text.size;) {
        uint32_t code_point;
        unsigned skip;
        const unsigned size = utf8_decode(text.data + at, text.size - at, &code_point, &skip);
        char encoded[4];
        if (size > 0 && (at == 0 || !first_only))
            code_point = (uint32_t)(upper ? utf8proc_toupper((utf8proc_int32_t)code_point)
                                          : utf8proc_tolower((utf8proc_int32_t)code_point));
        if (upper && code_point == 0x1E9E && size == strlen("ß"))
            buf_add_text(out, "SS"); /* the capital of ß */
        else if (size > 0)
            buf_add(out, encoded, utf8_write(code_point, encoded));
        at += size ? size : skip;
    }
}

/* What cannot be read is shown as it is: its words are what matters. */
bool render_case(struct call *call)
{
    const struct str text = call_value(call, "0");
    struct buf shown = {0};
    if (call->is_opaque || text.size == 0)
        return show_choice(call, call_argument(call, "0"));
    case_add(call->parameter, text, &shown);
    show(call, buf_str(&shown));
    buf_release(&shown);
    return true;
}

#define PAD_MAX 20 /* characters; anything longer is not a number, and text must not grow */

static size_t characters(struct str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++)
        count += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    return count;
}

/* {{padleft:7|3|0}} → 007; the parameter names the side. */
bool render_pad(struct call *call)
{
    const struct str text = call_value(call, "0");
    struct str with = call_value(call, "2");
    long width;
    if (call->is_opaque || !call_number(call, "1", &width) || width > PAD_MAX)
        return false;
    if (with.size == 0 && call->count > 2) /* nothing to pad with */
        width = 0;
    if (with.size == 0)
        with = STR("0");
    const bool left = str_equal(call->parameter, STR("left"));
    if (!left)
        show(call, text);
    size_t at = 0;
    for (long count = (long)characters(text); count < width; count++) {
        uint32_t code_point;
        unsigned skip;
        const unsigned size = utf8_decode(with.data + at, with.size - at, &code_point, &skip);
        show(call, (struct str){with.data + at, size});
        at = at + size + (size ? 0 : skip) < with.size ? at + size + (size ? 0 : skip) : 0;
    }
    if (left)
        show(call, text);
    return true;
}

/* {{ordinal|2}} → 2nd */
bool render_ordinal(struct call *call)
{
    long number;
    if (!call_number(call, "1", &number))
        return false;
    const char *const endings[] = {"th", "st", "nd", "rd"};
    const long last = number % 10, tens = number / 10 % 10;
    show_argument(call, call_argument(call, "1"));
    show_text(call, endings[tens != 1 && last <= 3 ? last : 0]);
    return true;
}

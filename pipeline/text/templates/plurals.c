/* {{plural:}}: the form of a word for a number, by the rules of Unicode's Common Locale Data Repository
 * (https://unicode.org/reports/tr35/tr35-numbers.html#Language_Plural_Rules). */
#include "pipeline/text/templates/call.h"

/* What rules need of a number: the digits before the decimal mark, and those after it with their count. */
struct operands {
    long whole, fraction, decimals;
};

static struct operands read_operands(struct str number)
{
    struct operands o = {0};
    size_t at = str_starts(number, STR("-"));
    for (; at < number.size && ascii_is_digit(number.data[at]); at++)
        o.whole = o.whole > 100000000000L ? o.whole : o.whole * 10 + (number.data[at] - '0');
    while (number.size > at && memchr(number.data + at, '.', number.size - at) && str_ends(number, STR("0")))
        number.size--;
    for (at++; at < number.size && ascii_is_digit(number.data[at]) && o.decimals < 9; at++) {
        o.fraction = o.fraction * 10 + (number.data[at] - '0');
        o.decimals++;
    }
    return o;
}

static long read_long(const char **at)
{
    long value = 0;
    while (**at == ' ')
        ++*at;
    for (; ascii_is_digit(**at); ++*at)
        value = value * 10 + (**at - '0');
    return value;
}

/* True if a relation such as "n % 100 != 12..14, 19" holds. Moves *at past it. */
static bool read_relation(const char **at, const struct operands *o)
{
    const char name = *(*at)++;
    const bool is_broken = name == 'n' && o->fraction > 0; /* no whole number */
    long value = name == 'n' || name == 'i'   ? o->whole
                 : name == 'f' || name == 't' ? o->fraction
                 : name == 'v' || name == 'w' ? o->decimals
                                              : 0; /* c, e: exponents, which are not typed */
    bool found = false;
    if (str_starts(str_of(*at), STR(" % "))) {
        *at += 3;
        value %= read_long(at);
    }
    const bool is_negated = (*at)[1] == '!';
    *at += is_negated ? 3 : 2;
    do {
        const long low = read_long(at);
        *at += **at == '.' ? 2 : 0;
        const long high = (*at)[-1] == '.' ? read_long(at) : low;
        found |= !is_broken && low <= value && value <= high;
    } while (*(*at)++ == ',');
    --*at;
    return found != is_negated;
}

/* The number of the first rule that holds; after the last one, that of all other numbers. */
static unsigned form_of(const char *rules, const struct operands *o)
{
    unsigned form = 0;
    bool all = true;
    while (*rules && strcmp(rules, "none") != 0) {
        all &= read_relation(&rules, o);
        if (str_starts(str_of(rules), STR(" and "))) {
            rules += 5;
            continue;
        }
        if (all)
            return form;
        form += *rules != ' '; /* or */
        rules += *rules == ' ' ? 4 : *rules ? 2 : 0;
        all = true;
    }
    return form;
}

/* The rules of the wiki's language, or of the first of its fallbacks that has some. */
static const char *rules_of(const struct template_page *page)
{
    const char *rules = names_find(plurals, page->code);
    for (size_t i = 0; i < page->magic->count && !rules; i++)
        rules = names_find(plurals, str_of(page->magic->of[i]->code));
    return rules ? rules : "n = 1";
}

/* True if the form is typed as "12=dozen", for one number only: it begins after the '=', which may be a template, and
 * *number is that number. */
static bool is_explicit(struct str page, struct argument *form, struct str *number)
{
    uint32_t at = form->from;
    while (at < form->to && ascii_is_digit(page.data[at]))
        at++;
    const struct str rest = str_part(page, at, form->to);
    const bool is_template = str_starts(rest, STR("{{=}}"));
    if (at == form->from || (!str_starts(rest, STR("=")) && !is_template))
        return false;
    *number = str_part(page, form->from, at);
    form->from = at + (is_template ? 5 : 1);
    return true;
}

/* {{plural:2|dog|dogs}}, {{plural:0|0=none|one|many}}; the parameter names the argument of the number, which comes
 * first. What is no number counts as 0. */
bool render_plural(struct call *call)
{
    const struct str number = call_plain_number(call, call_value(call, call->parameter.data));
    const struct operands operands = read_operands(number);
    struct str own;
    const struct argument *chosen = NULL;
    if (call->is_opaque)
        return false;
    const unsigned wanted = form_of(rules_of(call->page), &operands);
    unsigned position = 0;
    for (size_t i = 1; i < call->count; i++) {
        struct argument *form = &call->arguments[i];
        if (!is_explicit(call->page->text, form, &own)) {
            chosen = position++ <= wanted ? form : chosen;
        } else if (str_equal(own, number)) {
            chosen = form;
            break;
        }
    }
    if (chosen && chosen->from < chosen->to)
        show_argument(call, chosen);
    else
        show(call, STR(""));
    return true;
}

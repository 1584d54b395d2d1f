/* {{plural:number|form|form|…}}. Source of the rules: Unicode's Common Locale Data Repository, for whole numbers. */
#include "pipeline/text/templates/call.h"

/* Languages with the same rules; languages that are not here have the first. */
enum plural_rule {
    PLURAL_ONE,
    PLURAL_NONE,
    PLURAL_ZERO_ONE,
    PLURAL_EAST,
    PLURAL_SOUTH,
    PLURAL_POLISH,
    PLURAL_CZECH,
    PLURAL_SLOVENE,
    PLURAL_LITHUANIAN,
    PLURAL_LATVIAN,
    PLURAL_ROMANIAN,
    PLURAL_ARABIC,
    PLURAL_HEBREW
};

static const struct {
    const char *code;
    enum plural_rule rule;
} rules[] = {{"am", PLURAL_ZERO_ONE}, {"ar", PLURAL_ARABIC},     {"be", PLURAL_EAST},     {"bn", PLURAL_ZERO_ONE},
             {"bs", PLURAL_SOUTH},    {"cs", PLURAL_CZECH},      {"fa", PLURAL_ZERO_ONE}, {"fr", PLURAL_ZERO_ONE},
             {"gu", PLURAL_ZERO_ONE}, {"he", PLURAL_HEBREW},     {"hi", PLURAL_ZERO_ONE}, {"hr", PLURAL_SOUTH},
             {"hy", PLURAL_ZERO_ONE}, {"id", PLURAL_NONE},       {"ja", PLURAL_NONE},     {"kn", PLURAL_ZERO_ONE},
             {"ko", PLURAL_NONE},     {"lt", PLURAL_LITHUANIAN}, {"lv", PLURAL_LATVIAN},  {"ms", PLURAL_NONE},
             {"my", PLURAL_NONE},     {"pl", PLURAL_POLISH},     {"pt", PLURAL_ZERO_ONE}, {"ro", PLURAL_ROMANIAN},
             {"ru", PLURAL_EAST},     {"sh", PLURAL_SOUTH},      {"sk", PLURAL_CZECH},    {"sl", PLURAL_SLOVENE},
             {"sr", PLURAL_SOUTH},    {"th", PLURAL_NONE},       {"uk", PLURAL_EAST},     {"vi", PLURAL_NONE},
             {"zh", PLURAL_NONE},     {"zu", PLURAL_ZERO_ONE}};

/* The form of a number, from 0 on; the last is that of all others. */
static unsigned form_of(enum plural_rule rule, long n)
{
    const long tens = n % 100, last = n % 10;
    const bool is_teen = tens >= 11 && tens <= 19, is_few = last >= 2 && last <= 4 && (tens < 12 || tens > 14);
    switch (rule) {
    case PLURAL_NONE:
        return 0;
    case PLURAL_ZERO_ONE:
        return n > 1;
    case PLURAL_EAST:
    case PLURAL_SOUTH:
        return last == 1 && tens != 11 ? 0 : is_few ? 1 : 2;
    case PLURAL_POLISH:
        return n == 1 ? 0 : is_few ? 1 : 2;
    case PLURAL_CZECH:
        return n == 1 ? 0 : n >= 2 && n <= 4 ? 1 : 3;
    case PLURAL_SLOVENE:
        return tens == 1 ? 0 : tens == 2 ? 1 : tens == 3 || tens == 4 ? 2 : 3;
    case PLURAL_LITHUANIAN:
        return is_teen || last == 0 ? 3 : last == 1 ? 0 : 1;
    case PLURAL_LATVIAN:
        return is_teen || last == 0 ? 0 : last == 1 ? 1 : 2;
    case PLURAL_ROMANIAN:
        return n == 1 ? 0 : n == 0 || (tens >= 1 && tens <= 19) ? 1 : 2;
    case PLURAL_ARABIC:
        return n <= 2 ? (unsigned)n : tens >= 3 && tens <= 10 ? 3 : tens >= 11 ? 4 : 5;
    case PLURAL_HEBREW:
        return n == 1 ? 0 : n == 2 ? 1 : 2;
    default:
        return n != 1;
    }
}

/* Is the form typed as "12=dozen", for one number only? Then it begins after the '=' and *number is that number. */
static bool is_explicit(const char *page, struct argument *form, long *number)
{
    uint32_t at = form->from;
    *number = 0;
    while (at < form->to && at - form->from < 9 && page[at] >= '0' && page[at] <= '9')
        *number = *number * 10 + (page[at++] - '0');
    if (at == form->from || at == form->to || page[at] != '=')
        return false;
    form->from = at + 1;
    return true;
}

/* {{plural:2|dog|dogs}}, {{plural:0|0=none|one|many}}; the parameter names the argument of the number, which comes
 * first. */
bool render_plural(struct call *call)
{
    long number, own;
    enum plural_rule rule = PLURAL_ONE;
    if (!call_number(call, call->parameter.data, &number) || call->is_opaque)
        return false;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (str_equal(call->page->code, str_of(rules[i].code)))
            rule = rules[i].rule;
    const unsigned wanted = form_of(rule, number);
    const struct argument *chosen = NULL;
    unsigned position = 0;
    for (size_t i = 1; i < call->count; i++) {
        struct argument *form = &call->arguments[i];
        if (!is_explicit(call->page->text.data, form, &own)) {
            chosen = position++ <= wanted ? form : chosen;
        } else if (own == number) {
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

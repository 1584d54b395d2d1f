/* {{convert|5|to|10|km|mi}} → "5 to 10 kilometres (3.1 to 6.2 mi)": the number in its unit and in others, rounded like
 * Wikipedia's convert module unless told otherwise: to the precision typed, but at least two significant digits. */
#include "pipeline/text/templates/convert.h"
#include "pipeline/text/templates/numbers.h"

#include <math.h>

#define NUMBER_MAX 1e15 /* beyond this, not every whole number is a double */

/* The empty one ends the search. */
static const struct multiple multiples[] = {{"e12", " trillion", 1e12},
                                            {"e3", " thousand", 1e3},
                                            {"e6", " million", 1e6},
                                            {"e9", " billion", 1e9},
                                            {"", "", 1}};

static const struct separator separators[] = {
    {"to", " to ", " to ", false},   {"-", "–", "–", false},           {"–", "–", "–", false},
    {"—", "–", "–", false},          {"and", " and ", " and ", false}, {"or", " or ", " or ", false},
    {"by", " by ", " × ", true},     {"x", " by ", " × ", true},       {"×", " by ", " × ", true},
    {"xx", " × ", " × ", false},     {"*", " by ", " × ", true},       {"to(-)", " to ", "–", false},
    {"and(-)", " and ", "–", false}, {"or(-)", " or ", "–", false},    {"+/-", " ± ", " ± ", false},
    {"±", " ± ", " ± ", false},      {"&", " and ", " & ", false},     {"to about", " to about ", " to about ", false},
    {"–to–", " to ", " to ", false},
};

static const struct separator *separator_of(struct str typed)
{
    for (size_t i = 0; i < sizeof separators / sizeof *separators; i++)
        if (str_equal(str_of(separators[i].typed), typed))
            return &separators[i];
    return NULL;
}

/* 1300, 1,300.5, 1/2, 8+1/2 */
static bool read_amount(struct str typed, struct amount *amount)
{
    int precision;
    *amount = (struct amount){.typed = typed};
    if (typed.size > 40)
        return false;
    const char *slash = memchr(typed.data, '/', typed.size), *power = memchr(typed.data, 'e', typed.size);
    double exponent = 0;
    if (!slash && power && number_read(str_range(power + 1, typed.data + typed.size), &exponent, &precision) &&
        fabs(exponent) <= 30 && floor(exponent) == exponent) { /* 4.5e6 */
        amount->typed = str_range(typed.data, power);
        amount->exponent = str_range(power + 1, typed.data + typed.size);
        const bool is_number = number_read(amount->typed, &amount->value, &precision);
        amount->value *= pow(10, exponent);
        amount->precision = precision - exponent;
        return is_number && fabs(amount->value) < 1e30;
    }
    if (!slash) {
        const bool is_number = number_read(typed, &amount->value, &precision);
        amount->precision = precision;
        return is_number && fabs(amount->value) < NUMBER_MAX;
    }
    const char *plus = memchr(typed.data, '+', typed.size);
    double whole = 0, above, below;
    if (plus && (plus > slash || !number_read(str_trim(str_range(typed.data, plus)), &whole, &precision)))
        return false;
    const char *from = plus ? plus + 1 : typed.data;
    if (!number_read(str_trim(str_range(from, slash)), &above, &precision) ||
        !number_read(str_trim(str_range(slash + 1, typed.data + typed.size)), &below, &precision) || below <= 0)
        return false;
    amount->value = whole + (whole < 0 ? -1 : 1) * above / below;
    amount->precision = log10(below) > 1 ? log10(below) : 1;
    amount->is_fraction = true;
    return true;
}

static struct str positional(struct call *call, unsigned number)
{
    return call_value_of(call, call_numbered(call, number));
}

static bool amount_at(struct call *call, unsigned number, struct amount *amount)
{
    return read_amount(call_plain_number(call, positional(call, number)), amount);
}

/* Finds a unit by its code, or as the page's language writes it: كم */
static const struct unit *find_unit(const struct call *call, struct str code, const struct multiple **multiple)
{
    const struct unit *local = code.size > 0 ? local_unit_find(call->page->code, code) : NULL;
    *multiple = multiples;
    while (!str_starts(code, str_of((*multiple)->prefix)))
        (*multiple)++;
    if (local) {
        *multiple = &multiples[sizeof multiples / sizeof *multiples - 1];
        return local;
    }
    const size_t prefix = strlen((*multiple)->prefix);
    if (str_equal(code, STR("L/100 km")))
        return unit_find(STR("L/100km")); /* blanks stand between outputs */
    return unit_find((struct str){code.data + prefix, code.size - prefix});
}

/* Reads the outputs in `codes`, separated by blanks or +; false if one is unknown. */
static bool read_outputs(const struct call *call, struct conversion *c, struct str codes)
{
    c->output_count = 0;
    while (codes.size > 0) {
        size_t size = 0;
        while (size < codes.size && codes.data[size] != ' ' && codes.data[size] != '+')
            size++;
        if (str_starts(codes, STR("L/100 km")))
            size = strlen("L/100 km");
        const struct str code = {codes.data, size};
        const bool as_feet = str_equal(code, STR("ftin"));
        const struct multiple *multiple;
        const struct unit *unit = find_unit(call, as_feet ? STR("in") : code, &multiple);
        if (size > 0 && (!unit || unit->quantity != c->unit->quantity || c->output_count == OUTPUTS_MAX))
            return false;
        if (size > 0) {
            c->as_feet[c->output_count] = as_feet;
            c->output_multiples[c->output_count] = multiple;
            c->outputs[c->output_count++] = unit;
        }
        codes = (struct str){codes.data + size, codes.size - size};
        if (codes.size > 0)
            codes = (struct str){codes.data + 1, codes.size - 1};
    }
    return c->output_count > 0;
}

/* Reads the numbers and the unit; returns the position after them, or 0 if they are not understood. */
static unsigned read_input(struct call *call, struct conversion *c)
{
    unsigned at = 1;
    for (;;) {
        if (c->count == VALUES_MAX || !amount_at(call, at++, &c->amounts[c->count++]))
            return 0;
        c->separators[c->count - 1] = separator_of(positional(call, at));
        if (!c->separators[c->count - 1])
            break;
        at++;
    }
    c->unit = find_unit(call, positional(call, at++), &c->multiple);
    if (!c->unit)
        return 0;
    const struct unit *lesser = unit_find(positional(call, at + 1));
    if (c->count == 1 && lesser && lesser->quantity == c->unit->quantity && lesser->scale < c->unit->scale &&
        amount_at(call, at, &c->lesser)) {
        c->lesser_unit = lesser;
        at += 2;
    }
    return at;
}

bool call_is_measure(struct call *call)
{
    struct conversion c = {0};
    if (read_input(call, &c) == 0 || call->is_opaque)
        return false;
    return strcmp(c.unit->code, "N") != 0 && strcmp(c.unit->code, "W") != 0; /* north, west */
}

/* Reads what to convert to, and the digits to show, from parameter `at` on; returns the position after them. */
static unsigned read_conversion(struct call *call, struct conversion *c, unsigned at)
{
    const struct str code = positional(call, at);
    struct amount amount;
    const bool is_precision = read_amount(code, &amount);
    /* Without a unit to convert to, the unit's own choice is taken. That of a metre is feet and inches, as for people;
     * from 3 m on it is feet, as for buildings. */
    if (code.size == 0 || is_precision) {
        const bool in_feet = c->unit->quantity == 'L' && c->lesser_unit;
        const bool is_tall = strcmp(c->unit->outputs, "ftin") == 0 && c->amounts[0].value >= 3;
        read_outputs(call, c, in_feet ? STR("m") : is_tall ? STR("ft") : str_of(c->unit->outputs));
        for (size_t i = 0; i < c->output_count; i++)
            c->output_multiples[i] = c->multiple;
    } else {
        at++;
        if (!read_outputs(call, c, code))
            c->output_count = 0;
    }
    if (code.size == 0) /* an empty parameter takes a place too */
        at++;
    if (amount_at(call, at, &amount) && fabs(amount.value) < 10) {
        c->has_precision = true;
        c->precision = (long)amount.value;
        at++;
    }
    return at;
}

/* Reads how amounts are shown, from named parameters; with adj=mid parameter `at` follows the first amount. */
static void read_style(struct call *call, struct conversion *c, unsigned at)
{
    const struct str adj = call_value(call, "adj"), abbr = call_value(call, "abbr");
    c->adjective = str_equal(adj, STR("on")) || str_equal(adj, STR("mid"));
    if (str_equal(adj, STR("mid")))
        c->after = call_numbered(call, at);
    const bool in_short = str_equal(call->parameter, STR("cvt"));
    const bool off = str_equal(abbr, STR("off")) || str_equal(abbr, STR("none"));
    c->symbol_in = str_equal(abbr, STR("on")) || str_equal(abbr, STR("in")) || (in_short && !off);
    if (str_equal(abbr, STR("out")))
        c->symbol_in = false;
    c->symbol_out = !off && !str_equal(abbr, STR("in"));
    if (!call_english(call)) { /* the names of units and the words between amounts are English */
        c->symbol_in = c->symbol_out = true;
        for (size_t i = 0; i + 1 < c->count; i++)
            c->separators[i] = c->separators[i]->each ? c->separators[i] : separator_of(STR("–"));
    }
    const struct str spell = call_value(call, "spell");
    c->in_words =
        call_english(call) && (str_equal_ascii_nocase(spell, STR("in")) || str_equal_ascii_nocase(spell, STR("on")));
    c->with_capital = spell.size > 0 && (spell.data[0] == 'I' || spell.data[0] == 'O');
    c->american = call_says(call, "sp", "us");
    c->has_figures = call_number(call, "sigfig", &c->figures) && c->figures > 0 && c->figures < 10;
    if (!call_number(call, "round", &c->step) || c->step > 1000)
        c->step = 0;
}

/* An unknown unit: shows the number and the unit as typed. */
static bool show_as_typed(struct call *call, const struct conversion *c)
{
    const struct argument *unit = call_numbered(call, 2);
    if (c->count != 1 || !unit || !call_argument(call, "1"))
        return false;
    show_amount(call, &c->amounts[0]);
    show_text(call, " ");
    show_argument(call, unit);
    return true;
}

bool render_convert(struct call *call)
{
    struct conversion c = {0};
    if (!call_argument(call, "1"))
        return false;
    const unsigned next_argument = read_input(call, &c);
    if (next_argument > 0 && c.multiple->prefix[0] && !call_english(call))
        return false; /* "million" has other words there */
    if (next_argument == 0) {
        struct amount amount;
        return !call->is_opaque && c.count == 1 && amount_at(call, 1, &amount) && show_as_typed(call, &c);
    }
    read_style(call, &c, read_conversion(call, &c, next_argument));
    const struct str disp = call_value(call, "disp");
    const bool flip = call_says(call, "order", "flip") || str_equal(disp, STR("flip"));
    const char *before = " (", *after = ")";
    if (c.output_count == 0) {
        show_input(call, &c, c.symbol_in);
        return true;
    }
    if (str_equal(disp, STR("out")) || str_equal(disp, STR("output only"))) {
        show_outputs(call, &c, c.symbol_out, c.adjective);
        return true;
    }
    if (str_equal(disp, STR("or")) || str_equal(disp, STR("comma"))) {
        before = str_equal(disp, STR("or")) ? " or " : ", ";
        after = "";
    } else if (str_equal(disp, STR("sqbr"))) {
        before = " [";
        after = "]";
    }
    if (flip)
        show_outputs(call, &c, c.symbol_in, c.adjective);
    else
        show_input(call, &c, c.symbol_in);
    show_text(call, before);
    if (flip)
        show_input(call, &c, c.symbol_out);
    else
        show_outputs(call, &c, c.symbol_out, false);
    show_text(call, after);
    return true;
}

/* {{cvt|…}}: with symbols. */
bool render_cvt(struct call *call)
{
    call->parameter = STR("cvt");
    return render_convert(call);
}

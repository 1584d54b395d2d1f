/* {{convert|5|to|10|km|mi}} → "5 to 10 kilometres (3.1 to 6.2 mi)": the number in its unit and in others, rounded like
 * Wikipedia's convert module unless told otherwise: to the precision typed, but at least two significant digits. */
#include "pipeline/text/templates/call.h"
#include "pipeline/text/templates/numbers.h"
#include "pipeline/text/templates/units.h"

#include <math.h>

#define VALUES_MAX  4u /* of a range: 1 by 2 by 3 */
#define OUTPUTS_MAX 3u

struct amount {
    struct str typed; /* the number as it is shown */
    double value;
    double precision; /* digits after the point that it was typed with */
    bool is_fraction;
    struct str exponent; /* of 4.5e6: the 6 */
};

/* Between the numbers of a range: with the unit's name, with its symbol, and whether each number repeats the unit. */
struct separator {
    const char *typed, *with_name, *with_symbol;
    bool each;
};

/* The e6 of e6km2. */
struct multiple {
    const char *prefix, *word;
    double factor;
};

struct conversion {
    struct amount amounts[VALUES_MAX];
    const struct separator *separators[VALUES_MAX];
    size_t count;
    const struct unit *unit;
    const struct multiple *multiple; /* of the unit */
    struct amount lesser;            /* 5 ft 10 in: the inches */
    const struct unit *lesser_unit;
    const struct unit *outputs[OUTPUTS_MAX];
    const struct multiple *output_multiples[OUTPUTS_MAX];
    bool as_feet[OUTPUTS_MAX]; /* that output is in feet and inches */
    size_t output_count;
    bool has_precision, has_figures;
    long precision, figures, step;
    bool symbol_in, symbol_out, adjective, american;
    bool in_words, with_capital;  /* three metres, Three metres */
    const struct argument *after; /* adj=mid: -long */
};

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

/* ---- Reading ---- */

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

/* ---- Showing ---- */

/* metre → meter for sp=us */
static void show_spelled(struct call *call, const char *name, bool american)
{
    struct str rest = str_of(name);
    while (rest.size > 0) {
        const size_t metre = american ? str_find(rest, STR("etre")) : SIZE_MAX;
        const size_t litre = american ? str_find(rest, STR("itre")) : SIZE_MAX;
        const size_t at = metre < litre ? metre : litre;
        if (at == SIZE_MAX) {
            show(call, rest);
            return;
        }
        show(call, (struct str){rest.data, at + 2});
        show_text(call, "er");
        rest = (struct str){rest.data + at + 4, rest.size - at - 4};
    }
}

static const char *local_symbol(const struct call *call, const char *symbol)
{
    const char *shown = local_unit_shown(call->page->code, symbol);
    return shown ? shown : symbol;
}

static void show_unit(struct call *call, const struct conversion *c, const struct unit *unit,
                      const struct multiple *multiple, bool symbol, bool is_one, bool hyphen)
{
    show_text(call, multiple->word);
    const bool is_named = strcmp(unit->symbol, unit->singular) == 0;
    if ((symbol && !is_named) || unit->quantity == 'T' || unit->quantity == 'H') {
        show_text(call, unit->symbol[0] == '/' ? "" : " ");
        show_text(call, local_symbol(call, unit->symbol));
        return;
    }
    show_text(call, hyphen ? "-" : " ");
    show_spelled(call, is_one || hyphen ? unit->singular : unit->plural, c->american);
}

static bool is_one(const struct amount *amount)
{
    return fabs(amount->value) == 1 || (amount->is_fraction && fabs(amount->value) < 1);
}

static void show_amount(struct call *call, const struct amount *amount)
{
    char out[NUMBER_BYTES_MAX];
    if (!amount->is_fraction) {
        show_plain_number(call, number_group(amount->typed, out));
        if (amount->exponent.size > 0) {
            show_text(call, "×10");
            show_plain_number(call, number_group(amount->exponent, out));
        }
        return;
    }
    for (size_t i = 0; i < amount->typed.size; i++) {
        const char byte = amount->typed.data[i];
        show(call, byte == '/'   ? STR("⁄")
                   : byte == '+' ? STR(" ")
                   : byte == '-' ? STR("−")
                                 : (struct str){&amount->typed.data[i], 1});
    }
}

static void show_hyphened(struct call *call, const char *words, bool hyphens)
{
    for (; *words; words++)
        show(call, *words == ' ' && hyphens ? STR("-") : (struct str){words, 1});
}

/* The number in words, if requested and if it is whole. */
static void show_amount_or_words(struct call *call, const struct conversion *c, const struct amount *amount, bool first)
{
    struct buf words = {0};
    if (!c->in_words || amount->is_fraction || amount->value < 0 || amount->value > 9999 ||
        floor(amount->value) != amount->value || amount->precision > 0) {
        show_amount(call, amount);
        return;
    }
    number_words_add((uint64_t)amount->value, !c->american, &words);
    if (c->with_capital && first)
        words.data[0] = (char)(words.data[0] - 'a' + 'A');
    show(call, buf_str(&words));
    buf_release(&words);
}

static void show_input(struct call *call, const struct conversion *c, bool symbol)
{
    const bool hyphen = c->adjective && !symbol;
    for (size_t i = 0; i < c->count; i++) {
        show_amount_or_words(call, c, &c->amounts[i], i == 0);
        const bool last = i + 1 == c->count;
        if (last || (symbol && c->separators[i]->each))
            show_unit(call, c, c->unit, c->multiple, symbol, c->count == 1 && is_one(&c->amounts[i]), hyphen);
        if (!last)
            show_hyphened(call, symbol ? c->separators[i]->with_symbol : c->separators[i]->with_name, hyphen);
    }
    if (c->lesser_unit) {
        show_text(call, hyphen ? "-" : " ");
        show_amount(call, &c->lesser);
        show_unit(call, c, c->lesser_unit, c->multiple, symbol, is_one(&c->lesser), hyphen);
    }
    if (c->after)
        show_argument(call, c->after);
}

static double converted(const struct conversion *c, size_t i, size_t which)
{
    const struct unit *unit = c->outputs[which];
    double base = (c->amounts[i].value - c->unit->offset) * c->unit->scale;
    if (c->unit->scale < 0)
        base = c->amounts[i].value == 0 ? 0 : -c->unit->scale / c->amounts[i].value;
    if (c->lesser_unit)
        base += c->lesser.value * c->lesser_unit->scale;
    base *= c->multiple->factor / c->output_multiples[which]->factor;
    if (unit->scale < 0)
        return base == 0 ? 0 : -unit->scale / base;
    return base / unit->scale + unit->offset;
}

/* Digits after the point by the convert module's rule: those typed, adjusted by how much larger the number becomes
 * (with half a digit of tolerance), but at least two significant digits; for temperatures, three in kelvins. */
static int precision_for(const struct conversion *c, size_t i, size_t which)
{
    const struct unit *unit = c->outputs[which];
    const double tiny = 1e-14; /* tolerance for 999.99… in the logarithm */
    const double in = c->amounts[i].value, out = fabs(converted(c, i, which));
    double typed = c->amounts[i].precision, more, least;
    if (c->unit->quantity == 'T') {
        const double kelvins = fabs((in - c->unit->offset) * c->unit->scale);
        more = 0;
        least = kelvins < 1e-8 ? 2 : 2 - floor(log10(kelvins) + tiny);
    } else if (in == 0 || out == 0) {
        return 0;
    } else if (c->lesser_unit) {
        typed = c->lesser.precision > 0 ? c->lesser.precision : 0;
        const bool inches = strcmp(c->lesser_unit->code, "in") == 0;
        more = inches ? log10(unit->scale) + 2 : log10(fabs(c->lesser.value) > 0 ? c->unit->scale / unit->scale : 1);
        more += log10(2);
        least = 1 - floor(log10(out) + tiny);
    } else {
        more = log10(fabs(in) / out) + log10(2);
        least = 1 - floor(log10(out) + tiny);
    }
    const double digits = floor(typed + more);
    return (int)(digits > least ? digits : least);
}

static int precision_of_output(const struct conversion *c, size_t which)
{
    int precision = -20;
    for (size_t i = 0; i < c->count; i++) {
        const double out = fabs(converted(c, i, which));
        int each = precision_for(c, i, which);
        if (c->has_precision)
            each = (int)c->precision;
        else if (c->has_figures && out > 0)
            each = (int)(c->figures - 1 - (long)floor(log10(out) + 1e-14));
        precision = each > precision ? each : precision;
    }
    return precision;
}

static void show_feet(struct call *call, const struct conversion *c, double inches, int precision, bool symbol)
{
    char out[NUMBER_BYTES_MAX];
    if (precision < 0)
        precision = 0;
    const double unit = pow(10, precision);
    const double rounded = round(fabs(inches) * unit) / unit;
    const double feet = floor(rounded / 12), rest = rounded - feet * 12;
    if (inches < 0)
        show_text(call, "−");
    if (feet > 0) {
        show_plain_number(call, number_format(feet, 0, out));
        show_unit(call, c, unit_find(STR("ft")), c->multiple, symbol, feet == 1, false);
        show_text(call, " ");
    }
    show_plain_number(call, number_format(rest, precision, out));
    show_unit(call, c, unit_find(STR("in")), c->multiple, symbol, rest == 1, false);
}

static void show_output(struct call *call, const struct conversion *c, size_t which, bool symbol, bool hyphen)
{
    const struct unit *unit = c->outputs[which];
    const int precision = precision_of_output(c, which);
    for (size_t i = 0; i < c->count; i++) {
        const bool last = i + 1 == c->count;
        char out[NUMBER_BYTES_MAX];
        double value = converted(c, i, which);
        if (c->step > 0)
            value = round(value / (double)c->step) * (double)c->step;
        if (c->as_feet[which]) {
            show_feet(call, c, value, precision, symbol);
        } else {
            const struct str text = number_format(value, precision, out);
            show_plain_number(call, text);
            if (last || (symbol && c->separators[i]->each))
                show_unit(call, c, unit, c->output_multiples[which], symbol, c->count == 1 && str_equal(text, STR("1")),
                          hyphen);
        }
        if (!last)
            show_hyphened(call, symbol ? c->separators[i]->with_symbol : c->separators[i]->with_name, hyphen);
    }
}

static void show_outputs(struct call *call, const struct conversion *c, bool symbol, bool hyphen)
{
    for (size_t i = 0; i < c->output_count; i++) {
        if (i > 0)
            show_text(call, "; ");
        show_output(call, c, i, symbol, hyphen);
    }
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

/* {{convert|5|to|10|km|mi}} → "5 to 10 kilometres (3.1 to 6.2 mi)": the number in its unit and in others, rounded like
 * Wikipedia's Module:Convert by default: to the precision of the input, but at least two significant digits. */
#include "pipeline/text/templates/convert.h"

#include "base/mem.h"
#include "pipeline/text/templates/number_style.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define INPUT    SIZE_MAX /* in place of the number of an output */
#define TINY     1e-14    /* tolerance for 999.99… in a logarithm, and … */
#define ROUND_UP 2e-14    /* … for halves, as the module has them */

/* ---- Numbers ---- */

/* Writes digits with an optional point, grouped, as the page's language does. */
static void add_grouped(const struct convert_call *c, struct str digits, struct buf *out)
{
    char grouped[NUMBER_BYTES_MAX], local[NUMBER_BYTES_MAX];
    const char *point = memchr(digits.data, '.', digits.size);
    const size_t whole = point ? (size_t)(point - digits.data) : digits.size;
    const bool plain = c->no_commas || (c->commas_from_5 && whole < 5);
    buf_add_str(out, plain ? digits : number_localise(c->call->page->style, number_group(digits, grouped), local));
}

/* "−12.5" in words, if that is possible and no longer than one and a half times the call: text must not grow. */
static bool add_words(const struct convert_call *c, struct str digits, bool negative, struct buf *out)
{
    static const char *const names[] = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"};
    const char *point = memchr(digits.data, '.', digits.size);
    double whole;
    int precision;
    if (!number_read(point ? str_range(digits.data, point) : digits, &whole, &precision) || whole > NUMBER_WORDS_MAX)
        return false;
    const size_t from = out->size;
    buf_add_text(out, negative ? "negative " : "");
    number_words_add((uint64_t)whole, !c->american, out);
    for (const char *at = point ? point : digits.data + digits.size; at < digits.data + digits.size; at++)
        buf_addf(out, " %s", *at == '.' ? "point" : names[*at - '0']);
    if (2 * (out->size - from) <= 3 * (size_t)(c->call->span->end - c->call->span->start))
        return true;
    out->size = from;
    return false;
}

static void add_power(struct str exponent, struct buf *out)
{
    buf_add_text(out, "×10");
    if (str_starts(exponent, STR("-"))) {
        buf_add_text(out, "−");
        exponent = str_from(exponent, 1);
    }
    buf_add_str(out, exponent);
}

/* 3 1⁄4 */
static void add_fraction(const struct convert_call *c, struct str whole, struct str above, struct str below,
                         struct buf *out)
{
    if (whole.size > 0) {
        add_grouped(c, whole, out);
        buf_add_text(out, " ");
    }
    buf_add_str(out, above);
    buf_add_text(out, "⁄");
    buf_add_str(out, below);
}

/* The number as typed, or rounded by adj=ri1. */
static void add_amount(const struct convert_call *c, struct amount *amount, struct buf *out)
{
    char rounded[64];
    struct str digits = amount->digits;
    if (c->places_in >= 0 && amount->below.size == 0 && amount->exponent.size == 0) {
        const double value = fabs(amount->value) + ROUND_UP;
        digits = (struct str){rounded, (size_t)snprintf(rounded, sizeof rounded, "%.*f", c->places_in, value)};
        amount->is_one = strtod(rounded, NULL) == 1;
    }
    if (c->in_words && amount->below.size == 0 && amount->exponent.size == 0 &&
        add_words(c, digits, amount->is_negative, out))
        return;
    buf_add_text(out, amount->is_negative ? "−" : amount->has_plus ? "+" : "");
    if (amount->below.size > 0)
        add_fraction(c, amount->whole, amount->above, amount->below, out);
    else
        add_grouped(c, digits, out);
    if (amount->exponent.size > 0)
        add_power(amount->exponent, out);
}

/* ---- Rounding ---- */

static bool is_unit(const struct unit *unit, const char *code)
{
    return unit && strcmp(unit->code, code) == 0;
}

/* The amount in the last unit that was typed: 5 ft 10 in are 70 inches. */
static double typed_value(const struct convert_call *c, size_t i)
{
    const double value = c->amounts[i].value;
    return c->lesser_unit ? value * (c->in.unit->scale / c->lesser_unit->scale) + c->lesser.value : value;
}

static const struct unit *typed_unit(const struct convert_call *c)
{
    return c->lesser_unit ? c->lesser_unit : c->in.unit;
}

static double converted(const struct convert_call *c, size_t i, const struct measure *out)
{
    const struct unit *in = typed_unit(c), *unit = out->unit;
    const double value = typed_value(c, i), factor = c->in.multiple->factor / out->multiple->factor;
    if (c->amounts[i].is_change)
        return value * factor * in->scale / unit->scale;
    double base = (value - in->offset) * in->scale;
    if (in->scale < 0)
        base = value == 0 ? 0 : -in->scale / value;
    base *= factor;
    if (unit->scale < 0)
        return base == 0 ? 0 : -unit->scale / base;
    return base / unit->scale + unit->offset;
}

/* Digits after the point by the module's rule: those typed, adjusted by how much larger the number becomes (with half a
 * digit of tolerance), but at least two significant digits; for temperatures, three in kelvins. */
static int precision_for(const struct convert_call *c, size_t i, const struct measure *output)
{
    const struct unit *unit = output->unit, *in = typed_unit(c);
    const double out = fabs(converted(c, i, output));
    const bool is_hand = is_unit(in, "hand");
    const double value = typed_value(c, i) * (is_hand ? 4 : 1); /* of hands the inches count */
    double typed = c->lesser_unit ? fmax(c->lesser.precision, 0) : c->amounts[i].precision, more, least;
    if (c->in.unit->quantity == 'T') {
        const double kelvins = fabs((value - in->offset) * in->scale);
        return (int)fmax(floor(typed), kelvins < 1e-8 ? 2 : 2 - floor(log10(kelvins) + TINY));
    }
    if (value == 0 || out == 0)
        return 0;
    least = is_hand ? 0 : 1 - floor(log10(out) + TINY);
    if (is_unit(unit, "ft") && floor(value) == value)
        more = -log10(in->scale * c->in.multiple->factor);
    else if (is_unit(c->lesser_unit, "in"))
        more = log10(unit->scale) + 2;
    else
        more = log10(fabs(value) / out);
    return (int)fmax(floor(typed + more + log10(2)), least);
}

static int precision_of(const struct convert_call *c, size_t i, const struct measure *output)
{
    if (c->has_precision)
        return (int)c->precision;
    int precision = precision_for(c, i, output);
    for (size_t other = 0; other < c->count && !c->round_each; other++) {
        const int each = precision_for(c, other, output);
        precision = each > precision ? each : precision;
    }
    return precision;
}

/* A rounded number: its digits, and how many of them stand before the point; 0 or less: that many zeros follow "0.". */
struct rounded {
    char digits[64];
    int point;
};

/* Takes "0012.5", whose point is moved to the right, apart. */
static void set_digits(struct rounded *r, const char *text, int moved)
{
    const char *point = strchr(text, '.');
    const size_t whole = point ? (size_t)(point - text) : strlen(text);
    char all[64];
    snprintf(all, sizeof all, "%.*s%s", (int)whole, text, point ? point + 1 : "");
    const size_t zeros = strspn(all, "0"), skipped = all[zeros] ? zeros : 0;
    snprintf(r->digits, sizeof r->digits, "%s", all + skipped);
    r->point = (int)whole - (int)skipped + (all[zeros] ? moved : 0);
}

/* Rounds a number that is not negative. */
static struct rounded round_number(const struct convert_call *c, double value, int precision)
{
    char text[64];
    struct rounded r;
    if (!c->has_precision && c->figures > 0 && value > 0) {
        snprintf(text, sizeof text, "%.*e", (int)c->figures - 1, value);
        char *e = strchr(text, 'e');
        *e = 0;
        set_digits(&r, text, (int)strtol(e + 1, NULL, 10));
        return r;
    }
    const double step = c->has_precision || c->step <= 0 ? 0 : floor(value / c->step + 0.5) * c->step;
    const int moved = step > 0 || precision >= 0 ? 0 : -precision;
    if (step > 0)
        snprintf(text, sizeof text, "%.*f", step != floor(step), step);
    else if (moved > 0)
        snprintf(text, sizeof text, "%.0f", value / pow(10, moved));
    else
        snprintf(text, sizeof text, "%.*f", precision > 30 ? 30 : precision, value + (precision <= 8 ? ROUND_UP : 0));
    set_digits(&r, text, moved);
    return r;
}

static bool is_zero(const struct rounded *r)
{
    return r->digits[0] == '0';
}

/* 1 or 1.00: its unit is singular. */
static bool is_one(const struct rounded *r)
{
    return r->point == 1 && r->digits[0] == '1' && strspn(r->digits + 1, "0") == strlen(r->digits + 1);
}

/* It is shown as a power of ten: below 0.0001 and above 10^9, earlier if the number was typed as one. */
static bool is_power(const struct convert_call *c, const struct rounded *r)
{
    const int high = c->is_scientific ? 4 : 10, low = c->is_scientific ? 2 : 4;
    const bool is_round = r->digits[0] == '1' && strspn(r->digits + 1, "0") == (size_t)high - 1;
    return !is_zero(r) && (r->point > high || r->point <= -low || (r->point == high && !is_round));
}

/* Writes it with its sign. */
static void add_rounded(const struct convert_call *c, const struct rounded *r, bool negative, struct buf *out)
{
    static const char zeros[] = "00000000000000000000000000000000";
    const int count = (int)strlen(r->digits);
    char text[160];
    if (is_power(c, r)) {
        snprintf(text, sizeof text, "%d", r->point - 1);
        buf_addf(out, "%s%c%s%s", negative ? "−" : "", r->digits[0], count > 1 ? "." : "", r->digits + 1);
        add_power(str_of(text), out);
        return;
    }
    if (r->point <= 0)
        snprintf(text, sizeof text, "0.%.*s%s", -r->point, zeros, r->digits);
    else if (r->point >= count)
        snprintf(text, sizeof text, "%s%.*s", r->digits, r->point - count, zeros);
    else
        snprintf(text, sizeof text, "%.*s.%s", r->point, r->digits, r->digits + r->point);
    if (c->out_words && add_words(c, str_of(text), negative && !is_zero(r), out))
        return;
    buf_add_text(out, negative && !is_zero(r) ? "−" : "");
    add_grouped(c, str_of(text), out);
}

/* 3 1⁄8: rounded to a fraction, for frac=8; returns what is_one says. */
static bool add_as_fraction(const struct convert_call *c, double value, bool negative, struct buf *out)
{
    long below = c->fraction, above = lround(value * (double)below);
    const long whole = above / below;
    char texts[3][24];
    above %= below;
    for (long divisor = 2; divisor <= above;) {
        if (above % divisor == 0 && below % divisor == 0) {
            above /= divisor;
            below /= divisor;
        } else {
            divisor++;
        }
    }
    snprintf(texts[0], sizeof *texts, "%ld", whole);
    snprintf(texts[1], sizeof *texts, "%ld", above);
    snprintf(texts[2], sizeof *texts, "%ld", below);
    buf_add_text(out, negative && (whole > 0 || above > 0) ? "−" : "");
    if (above > 0)
        add_fraction(c, whole > 0 ? str_of(texts[0]) : STR(""), str_of(texts[1]), str_of(texts[2]), out);
    else
        add_grouped(c, str_of(texts[0]), out);
    return value <= 1;
}

/* ---- Units ---- */

/* Those without a symbol are always named. */
static bool is_named(const struct unit *unit)
{
    return strcmp(unit->symbol, unit->singular) == 0 && unit->quantity != 'R';
}

static bool is_abbreviated(const struct convert_call *c, enum side side)
{
    return c->abbreviation == ABBREVIATE_ON || c->abbreviation == (side == SIDE_IN ? ABBREVIATE_IN : ABBREVIATE_OUT);
}

/* The unit is named rather than abbreviated. */
static bool has_name(const struct convert_call *c, const struct unit *unit, enum side side)
{
    const bool is_degree = unit->quantity == 'T' || unit->quantity == 'H';
    if (is_named(unit))
        return true;
    const bool of_hands = is_unit(unit, "hand") || (is_unit(c->in.unit, "hand") && is_unit(unit, "in"));
    if (!c->is_given && (c->names || is_degree || of_hands))
        return !is_degree;
    return !is_abbreviated(c, side);
}

/* The name or symbol; sp=us makes metres meters, and US gallons U.S. gallons. */
static void add_unit_text(const struct convert_call *c, const char *text, bool hyphens, struct buf *out)
{
    static const char *const american[][2] = {{"etre", "eter"}, {"itre", "iter"}, {"US ", "U.S. "}, {"deca", "deka"}};
    while (*text) {
        const char *found = NULL;
        for (size_t i = 0; c->american && i < sizeof american / sizeof *american && !found; i++) {
            if (!str_starts(str_of(text), str_of(american[i][0])))
                continue;
            found = american[i][1];
            text += strlen(american[i][0]);
        }
        if (found)
            buf_add_text(out, found);
        else
            buf_add_byte(out, *text == ' ' && hyphens ? '-' : *text);
        text += !found;
    }
}

static void add_unit(const struct convert_call *c, const struct unit *unit, enum side side, bool singular,
                     struct buf *out)
{
    if (c->values_only)
        return;
    if (has_name(c, unit, side)) {
        add_unit_text(c, singular || c->adjective ? unit->singular : unit->plural, c->adjective, out);
        return;
    }
    const char *local = local_unit_shown(c->call->page->code, unit->symbol);
    add_unit_text(c, local ? local : c->hand_hh && is_unit(unit, "hand") ? "hh" : unit->symbol, false, out);
}

/* What stands between a number and its unit. */
static void add_gap(const struct convert_call *c, const struct unit *unit, enum side side, struct buf *out)
{
    if (c->values_only)
        return;
    if (has_name(c, unit, side))
        buf_add_text(out, c->adjective ? "-" : unit->plural[0] == '/' ? "" : " ");
    else
        buf_add_text(out, unit->symbol[0] == '/' ? "" : " ");
}

/* ---- Amounts with their units ---- */

/* 5 ft 10 in, of inches rounded to the precision. */
static void add_feet(struct convert_call *c, double inches, int precision, enum side side, struct buf *out)
{
    const struct unit *parts[] = {unit_find(STR("ft")), unit_find(STR("in"))};
    const bool negative = inches < 0;
    inches = fabs(inches);
    if (c->fraction == 0)
        inches = precision > 0 ? round(inches * pow(10, precision)) / pow(10, precision) : floor(inches + 0.5);
    const double values[] = {floor(inches / 12), inches - 12 * floor(inches / 12)};
    for (size_t i = values[0] == 0; i < 2; i++) {
        struct rounded r = round_number(&(struct convert_call){0}, values[i], i == 0 || precision < 0 ? 0 : precision);
        bool one = is_one(&r);
        const bool first = i == 0 || values[0] == 0;
        if (!first)
            buf_add_text(out, c->adjective && has_name(c, parts[i], side) ? "-" : " ");
        if (i == 1 && c->fraction > 0)
            one = add_as_fraction(c, values[i], first && negative, out);
        else
            add_rounded(c, &r, first && negative, out);
        add_gap(c, parts[i], side, out);
        add_unit(c, parts[i], side, one, out);
    }
}

/* 15.2 hands are 15 hands and 2 inches. */
static bool add_hands(const struct convert_call *c, double hands, struct buf *out)
{
    if (c->has_precision && c->precision <= 0) {
        buf_addf(out, "%.0f", hands);
        return false;
    }
    const double inches = floor(hands * 4 + 0.5);
    buf_addf(out, "%.0f.%.0f", floor(inches / 4), fmod(inches, 4));
    return false;
}

/* The i-th amount of a side without its unit; returns whether its unit is singular. */
static bool add_value(struct convert_call *c, size_t which, size_t i, struct buf *out)
{
    const struct measure *measure = which == INPUT ? &c->in : &c->outputs[which];
    buf_add_str(out, measure->currency);
    const bool is_input =
        which == INPUT || (c->out_first && measure->unit == c->in.unit && measure->multiple == c->in.multiple);
    if (is_input) {
        add_amount(c, &c->amounts[i], out);
        return c->amounts[i].is_one;
    }
    const double value = converted(c, i, measure);
    if (is_unit(measure->unit, "hand"))
        return add_hands(c, value, out);
    if (c->fraction > 0)
        return add_as_fraction(c, fabs(value), value < 0, out);
    const bool is_exact = is_unit(c->in.unit, "hand") && is_unit(measure->unit, "in") && !c->has_precision;
    const int precision = is_exact ? fabs(value - round(value)) > 1e-9 : precision_of(c, i, measure);
    const struct rounded r = round_number(c, fabs(value), precision);
    add_rounded(c, &r, value < 0, out);
    return is_one(&r);
}

/* Between the amounts i and i + 1. */
static void add_separator(const struct convert_call *c, size_t which, size_t i, bool named, struct buf *out)
{
    const struct separator *separator = c->separators[i];
    const char *text = named ? separator->with_name : separator->with_symbol;
    const struct measure *measure = which == INPUT ? &c->in : &c->outputs[which];
    const bool is_signed = converted(c, i, measure) < 0 || converted(c, i + 1, measure) < 0;
    const bool is_change = c->amounts[i + 1].is_change;
    const bool hyphens =
        c->adjective && !is_change && (named || (separator->is_word && c->abbreviation == ABBREVIATE_ON));
    if (strcmp(text, "–") == 0 && (measure->as_feet || is_signed))
        text = " – ";
    for (; *text; text++)
        buf_add_byte(out, *text == ' ' && hyphens ? '-' : *text);
}

/* The e6 of a unit: "×106" before a symbol, " million" before the last name. */
static void add_multiple(const struct convert_call *c, const struct measure *measure, enum side side, bool last,
                         struct buf *out)
{
    if (measure->multiple->exponent[0] && is_abbreviated(c, side) && !c->word_for_multiple)
        add_power(str_of(measure->multiple->exponent), out);
    else if (last)
        buf_addf(out, "%s%s", c->adjective && measure->multiple->word[0] ? "-" : "",
                 measure->multiple->word + (c->adjective && measure->multiple->word[0]));
}

/* The text before the unit of adj=pre and disp=preunit, which takes the place of the blank; false: there is none. */
static bool add_before_unit(const struct convert_call *c, enum side side, struct buf *out)
{
    const struct str text = c->before_unit[side];
    const struct str trimmed = str_trim(text);
    if (trimmed.size == 0)
        return false;
    const bool both = c->before_unit[side == SIDE_IN ? SIDE_OUT : SIDE_IN].size == 0;
    if (str_equal(trimmed, STR("+"))) {
        buf_add_text(out, "+ ");
        return true;
    }
    buf_add_text(out, strchr(" -+", text.data[0]) ? "" : " ");
    buf_add_str(out, text);
    buf_add_text(out, both && !strchr(" -", text.data[text.size - 1]) ? " " : "");
    return true;
}

static void add_middle(const struct convert_call *c, size_t which, struct buf *out)
{
    if (c->middle.size == 0 || (which == INPUT) == c->flip)
        return;
    buf_add_text(out, c->middle.data[0] == '-' || c->middle.data[0] == ' ' ? "" : " ");
    buf_add_str(out, c->middle);
}

static void add_lesser(struct convert_call *c, enum side side, struct buf *out)
{
    buf_add_text(out, c->adjective && has_name(c, c->in.unit, side) ? "-" : " ");
    add_amount(c, &c->lesser, out);
    add_gap(c, c->lesser_unit, side, out);
    add_unit(c, c->lesser_unit, side, c->lesser.is_one, out);
}

/* The amounts of the input or of an output, as the side of the text where they stand. */
static void add_side(struct convert_call *c, size_t which, enum side side, struct buf *out)
{
    const struct measure *measure = which == INPUT ? &c->in : &c->outputs[which];
    const struct unit *unit = measure->unit;
    const bool named = has_name(c, unit, side);
    for (size_t i = 0; i < c->count; i++) {
        const bool last = i + 1 == c->count;
        if (measure->as_feet) {
            add_feet(c, converted(c, i, measure), precision_of(c, i, measure), side, out);
        } else {
            const bool singular = add_value(c, which, i, out) && !measure->multiple->exponent[0];
            add_multiple(c, measure, side, last, out);
            if ((last || (!named && c->separators[i]->each)) && !c->only_number) {
                if (!last || !add_before_unit(c, side, out))
                    add_gap(c, unit, side, out);
                add_unit(c, unit, side, singular, out);
            }
        }
        if (!last)
            add_separator(c, which, i, named, out);
    }
    if (which == INPUT && c->lesser_unit)
        add_lesser(c, side, out);
    add_middle(c, which, out);
}

static void add_outputs(struct convert_call *c, size_t from, struct buf *out)
{
    for (size_t i = from; i < c->output_count; i++) {
        if (i > from)
            buf_add_str(out, c->join[2]);
        add_side(c, i, SIDE_OUT, out);
    }
}

static void add_conversion(struct convert_call *c, struct buf *out)
{
    if (c->only_unit || c->only_unit_out) {
        add_unit(c, c->only_unit ? c->in.unit : c->outputs[0].unit, c->only_unit ? SIDE_IN : SIDE_OUT, false, out);
        return;
    }
    if (c->only_output) {
        add_outputs(c, 0, out);
        return;
    }
    if (c->flip)
        add_outputs(c, 0, out);
    else
        add_side(c, c->out_first ? 0 : INPUT, SIDE_IN, out);
    if (c->out_first && c->output_count == 1)
        return;
    if (c->also_symbol && !c->lesser_unit)
        buf_addf(out, " [%s]", c->in.unit->symbol);
    buf_add_str(out, c->join[0]);
    if (c->flip)
        add_side(c, INPUT, SIDE_IN, out);
    else
        add_outputs(c, c->out_first, out);
    buf_add_str(out, c->join[1]);
}

/* An unknown unit: shows the number and the unit as typed. */
static bool show_as_typed(struct call *call, struct convert_call *c)
{
    const struct argument *unit = call_numbered(call, 2);
    SCOPED(buf_release) struct buf out = {0};
    if (c->count != 1 || !unit || call->is_opaque)
        return false;
    add_amount(c, &c->amounts[0], &out);
    buf_add_text(&out, " ");
    show(call, buf_str(&out));
    show_argument(call, unit);
    return true;
}

bool render_convert(struct call *call)
{
    struct convert_call c = {.call = call, .places_in = -1};
    SCOPED(buf_release) struct buf out = {0};
    if (!call_argument(call, "1"))
        return false;
    const unsigned next = conversion_read_input(&c);
    if (next == 0)
        return show_as_typed(call, &c);
    if (c.in.multiple->exponent[0] && !call_english(call))
        return false; /* "million" has other words there */
    conversion_read_rest(&c, next);
    if (c.output_count == 0 && !c.only_unit) {
        c.flip = false;
        add_side(&c, INPUT, SIDE_IN, &out);
    } else {
        add_conversion(&c, &out);
    }
    if (c.with_capital && out.size > 0 && out.data[0] >= 'a' && out.data[0] <= 'z')
        out.data[0] = (char)(out.data[0] - 'a' + 'A');
    show(call, buf_str(&out));
    return true;
}

/* {{cvt|…}}: with symbols. */
bool render_cvt(struct call *call)
{
    call->parameter = STR("cvt");
    return render_convert(call);
}

bool call_is_measure(struct call *call)
{
    struct convert_call c = {.call = call};
    if (conversion_read_input(&c) == 0 || call->is_opaque)
        return false;
    const bool is_direction = is_unit(c.in.unit, "N") || is_unit(c.in.unit, "W");
    return !is_direction && c.in.unit->quantity != 'Z'; /* north, west; hours of a place's right ascension */
}

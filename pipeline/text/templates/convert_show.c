/* Shows a {{convert}}: units by name or symbol, numbers rounded. */
#include "pipeline/text/templates/convert.h"
#include "pipeline/text/templates/number_words.h"
#include "pipeline/text/templates/numbers.h"

#include <math.h>

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

void show_amount(struct call *call, const struct amount *amount)
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

void show_input(struct call *call, const struct conversion *c, bool symbol)
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

void show_outputs(struct call *call, const struct conversion *c, bool symbol, bool hyphen)
{
    for (size_t i = 0; i < c->output_count; i++) {
        if (i > 0)
            show_text(call, "; ");
        show_output(call, c, i, symbol, hyphen);
    }
}

/* The units of {{convert}}: those of the table, with multiples, prefixes of the SI and fractions of two units. */
#include "pipeline/text/templates/convert.h"

#include <math.h>
#include <stdio.h>

/* The empty one ends the search. */
static const struct multiple multiples[] = {{"e12", " trillion", "12", 1e12}, {"e15", " quadrillion", "15", 1e15},
                                            {"e3", " thousand", "3", 1e3},    {"e6", " million", "6", 1e6},
                                            {"e9", " billion", "9", 1e9},     {"", "", "", 1}};
#define NO_MULTIPLE (&multiples[sizeof multiples / sizeof *multiples - 1])

/* Texts of a made unit; too long ones are cut. */
static void make_text(struct made_unit *made, size_t which, const char **text, const char *format, const char *a,
                      const char *b)
{
    const int size = snprintf(made->text[which], sizeof made->text[which], format, a, b);
    *text = size > 0 && (size_t)size < sizeof made->text[which] ? made->text[which] : "";
}

/* The text of a unit with "k" or "kilo" in front of another prefix's form: square kilometre → square millimetre. */
static void make_prefixed(struct made_unit *made, size_t which, const char **text, const char *with_kilo,
                          const char *kilo, const char *prefix)
{
    char before[80];
    const char *at = strstr(with_kilo, kilo);
    const size_t size = at ? (size_t)(at - with_kilo) : 0;
    snprintf(before, sizeof before, "%.*s%s", (int)(size < 40 ? size : 40), with_kilo, prefix);
    make_text(made, which, text, "%s%s", before, at ? at + strlen(kilo) : with_kilo);
}

/* A unit takes the SI's prefixes if the table has it with "k". */
static const struct unit *prefixed_unit(struct convert_call *c, struct str code)
{
    static const struct {
        const char *typed, *symbol, *name;
        int exponent;
    } prefixes[] = {{"E", "E", "exa", 18},   {"G", "G", "giga", 9},   {"M", "M", "mega", 6},   {"P", "P", "peta", 15},
                    {"T", "T", "tera", 12},  {"Y", "Y", "yotta", 24}, {"Z", "Z", "zetta", 21}, {"a", "a", "atto", -18},
                    {"c", "c", "centi", -2}, {"da", "da", "deca", 1}, {"d", "d", "deci", -1},  {"f", "f", "femto", -15},
                    {"h", "h", "hecto", 2},  {"m", "m", "milli", -3}, {"n", "n", "nano", -9},  {"p", "p", "pico", -12},
                    {"u", "μ", "micro", -6}, {"µ", "μ", "micro", -6}, {"μ", "μ", "micro", -6}};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        const struct str prefix = str_of(prefixes[i].typed);
        char with_kilo[16] = "k";
        if (!str_starts(code, prefix) || code.size - prefix.size >= sizeof with_kilo - 1)
            continue;
        const struct str base_code = {code.data + prefix.size, code.size - prefix.size};
        memcpy(with_kilo + 1, base_code.data, base_code.size);
        const struct unit *base = unit_find(base_code), *kilo = unit_find(str_of(with_kilo));
        if (!base || !kilo || c->made_count == MADE_MAX)
            continue;
        with_kilo[0] = 'u';
        if (prefixes[i].exponent == -6 && unit_find(str_of(with_kilo)))
            return unit_find(str_of(with_kilo));
        struct made_unit *made = &c->made[c->made_count++];
        made->unit = prefixes[i].exponent > 3 ? *kilo : *base;
        made->unit.code = "";
        make_prefixed(made, 0, &made->unit.symbol, kilo->symbol, "k", prefixes[i].symbol);
        make_prefixed(made, 1, &made->unit.singular, kilo->singular, "kilo", prefixes[i].name);
        make_prefixed(made, 2, &made->unit.plural, kilo->plural, "kilo", prefixes[i].name);
        made->unit.scale = base->scale * pow(kilo->scale / base->scale, prefixes[i].exponent / 3.0);
        return &made->unit;
    }
    return NULL;
}

static const struct unit *simple_unit(struct convert_call *c, struct str code)
{
    const struct unit *unit = unit_find(code);
    return unit ? unit : prefixed_unit(c, code);
}

/* The first unit that a unit is shown in beside its own. */
static struct str first_output(const struct unit *unit)
{
    const struct str outputs = str_of(strcmp(unit->outputs, "ftin") == 0 ? "ft" : unit->outputs);
    const char *blank = memchr(outputs.data, ' ', outputs.size);
    return blank ? str_range(outputs.data, blank) : outputs;
}

/* kg/ha, /ha; what the table has by one letter keeps it: speeds, flows, densities. */
static const struct unit *unit_per_unit(struct convert_call *c, struct str code)
{
    static const char named[][4] = {"D /A", "GV/Z", "KM/V", "SL/Z"};
    const char *slash = memchr(code.data, '/', code.size);
    if (!slash)
        return NULL;
    const struct str first = str_range(code.data, slash), second = str_range(slash + 1, code.data + code.size);
    const struct unit *above = simple_unit(c, first), *below = simple_unit(c, second);
    if ((first.size > 0 && !above) || !below || below->scale <= 0 || (above && above->scale <= 0) ||
        c->made_count == MADE_MAX)
        return NULL;
    struct made_unit *made = &c->made[c->made_count++];
    const char quantities[2] = {above ? above->quantity : ' ', below->quantity};
    struct unit *unit = &made->unit;
    char outputs[2][20];
    snprintf(made->text[4], sizeof made->text[4], "%c/%c", quantities[0], quantities[1]);
    *unit = (struct unit){.code = made->text[4], .quantity = '/', .scale = (above ? above->scale : 1) / below->scale};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (named[i][1] == quantities[0] && named[i][3] == quantities[1])
            unit->quantity = named[i][0];
    make_text(made, 0, &unit->symbol, "%s/%s", above ? above->symbol : "", below->symbol);
    make_text(made, 1, &unit->singular, above ? "%s per %s" : "%sper %s", above ? above->singular : "",
              below->singular);
    make_text(made, 2, &unit->plural, above ? "%s per %s" : "%sper %s", above ? above->plural : "", below->singular);
    for (size_t i = 0; i < 2; i++) {
        const struct unit *each = i == 0 ? above : below;
        const struct str output = each ? first_output(each) : STR("");
        snprintf(outputs[i], sizeof outputs[i], "%.*s", (int)output.size, output.data);
    }
    make_text(made, 3, &unit->outputs, "%s/%s", outputs[0], outputs[1]);
    return unit;
}

bool units_convert(const struct unit *a, const struct unit *b)
{
    return a->quantity == b->quantity && (a->quantity != '/' || strcmp(a->code, b->code) == 0);
}

/* The sign of a currency before "/": $ of $/acre. */
static struct str currency_of(const struct convert_call *c, struct str code)
{
    static const char *const signs[] = {"$", "£", "€", "₱", "₽", "¥"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        const struct str sign = str_of(signs[i]);
        if (str_starts(code, sign) && code.size > sign.size && code.data[sign.size] == '/')
            return *signs[i] == '$' && c->currency.size > 0 ? c->currency : (struct str){code.data, sign.size};
    }
    return STR("");
}

bool measure_find(struct convert_call *c, struct str code, struct measure *measure)
{
    *measure = (struct measure){.multiple = NO_MULTIPLE};
    if (code.size == 0)
        return false;
    measure->unit = local_unit_find(c->call->page->code, code);
    if (measure->unit)
        return true;
    measure->multiple = multiples;
    while (!str_starts(code, str_of(measure->multiple->prefix)))
        measure->multiple++;
    const size_t prefix = strlen(measure->multiple->prefix);
    code = str_from(code, prefix);
    measure->currency = currency_of(c, code);
    if (measure->currency.size > 0) {
        const char *slash = memchr(code.data, '/', code.size);
        code = str_range(slash, code.data + code.size);
    }
    if (str_equal(code, STR("ftin"))) {
        measure->as_feet = true;
        code = STR("in");
    }
    measure->unit = simple_unit(c, code);
    if (!measure->unit)
        measure->unit = unit_per_unit(c, code);
    return measure->unit;
}

/* Reads a call of {{convert}}. */
#include "pipeline/text/templates/convert.h"
#include "pipeline/text/templates/numbers.h"

#include <math.h>
#include <stdio.h>

#define NUMBER_MAX 1e15 /* beyond this, not every whole number is a double */

static const struct separator separators[] = {
    {"to", " to ", " to ", true, false},
    {"-", "–", "–", false, false},
    {"–", "–", "–", false, false},
    {"—", "–", "–", false, false},
    {"and", " and ", " and ", true, false},
    {"or", " or ", " or ", true, false},
    {"by", " by ", " by ", false, false},
    {"x", " by ", " × ", false, true},
    {"×", " by ", " × ", false, true},
    {"by(x)", " by ", " × ", false, true},
    {"xx", " × ", " × ", false, false},
    {"*", "×", "×", false, false},
    {"/", " / ", " / ", false, false},
    {"+", " + ", " + ", false, false},
    {",", ", ", ", ", false, false},
    {", and", ", and ", ", and ", false, false},
    {", or", ", or ", ", or ", false, false},
    {"to(-)", " to ", "–", false, false},
    {"and(-)", " and ", "–", false, false},
    {"or(-)", " or ", "–", false, false},
    {"+/-", " ± ", " ± ", false, false},
    {"±", " ± ", " ± ", false, false},
    {"&", " and ", " & ", false, false},
    {"to about", " to about ", " to about ", false, false},
    {"–to–", " to ", " to ", true, false},
};

static const struct separator *separator_of(struct str typed)
{
    for (size_t i = 0; i < sizeof separators / sizeof *separators; i++)
        if (str_equal(str_of(separators[i].typed), typed))
            return &separators[i];
    return NULL;
}

/* ---- Numbers ---- */

static bool take(struct str *text, struct str start)
{
    if (!str_starts(*text, start))
        return false;
    *text = str_trim(str_from(*text, start.size));
    return true;
}

/* The digits at the end of *text are cut off. */
static struct str take_last_digits(struct str *text)
{
    size_t size = 0;
    while (size < text->size && ascii_is_digit(text->data[text->size - size - 1]))
        size++;
    text->size -= size;
    return (struct str){text->data + text->size, size};
}

/* 1/2, 8+1/2, -8-1/2, 1//2: what is left of the sign. */
static bool read_fraction(struct str text, struct amount *amount)
{
    double whole = 0, above, below;
    int precision;
    amount->below = take_last_digits(&text);
    text = str_trim(text);
    const size_t slashed = text.size;
    while (text.size > 0 && text.data[text.size - 1] == '/')
        text.size--;
    if (text.size == slashed && str_ends(text, STR("⁄")))
        text.size -= strlen("⁄");
    if (text.size == slashed)
        return false;
    text = str_trim(text);
    amount->above = take_last_digits(&text);
    text = str_trim(text);
    if (text.size > 0) {
        const char sign = text.data[--text.size];
        amount->whole = str_trim(text);
        if (sign != '+' && !(sign == '-' && amount->is_negative))
            return false;
        if (!number_read(amount->whole, &whole, &precision))
            return false;
    }
    if (!number_read(amount->above, &above, &precision) || !number_read(amount->below, &below, &precision) ||
        below <= 0)
        return false;
    amount->value = whole + above / below;
    amount->precision = log10(below) > 1 ? log10(below) : 1;
    amount->is_one = amount->value <= 1;
    return true;
}

/* 1300, 1,300.5, 4.5e6: what is left of the sign. */
static bool read_decimal(struct str text, struct amount *amount)
{
    int precision;
    double exponent = 0;
    amount->digits = text;
    for (size_t i = 1; i + 1 < text.size && amount->exponent.size == 0; i++) {
        if (text.data[i] == 'e' || text.data[i] == 'E') {
            amount->exponent = str_from(text, i + 1);
            amount->digits.size = i;
        }
    }
    if (!number_read(amount->digits, &amount->value, &precision) || amount->value < 0)
        return false;
    amount->precision = precision;
    if (amount->exponent.size > 0) {
        int unused;
        if (!number_read(amount->exponent, &exponent, &unused) || fabs(exponent) > 30 || floor(exponent) != exponent)
            return false;
        amount->value *= pow(10, exponent);
        amount->precision -= exponent;
    }
    amount->is_one = amount->value == 1;
    return amount->value < (amount->exponent.size > 0 ? 1e30 : NUMBER_MAX);
}

static bool read_amount(struct str text, struct amount *amount)
{
    *amount = (struct amount){0};
    text = str_trim(text);
    if (text.size == 0 || text.size > 40)
        return false;
    amount->is_negative = take(&text, STR("-")) || take(&text, STR("−")) || take(&text, STR("–"));
    amount->has_plus = !amount->is_negative && take(&text, STR("+"));
    if (!read_decimal(text, amount)) {
        *amount = (struct amount){.is_negative = amount->is_negative, .has_plus = amount->has_plus};
        if (!read_fraction(text, amount))
            return false;
    }
    if (amount->is_negative)
        amount->value = -amount->value;
    return true;
}

static struct str positional(struct convert_call *c, unsigned number)
{
    return call_value_of(c->call, call_numbered(c->call, number));
}

/* Splits "5-10", "5 to 10" and "12x14" at what separates them; NULL: nothing does. */
static const struct separator *split_range(struct str text, struct str *left, struct str *right)
{
    static const char *const without_blanks[] = {"-", "–", "xx", "x", "×", "*"};
    const char *end = text.data + text.size, *blank = memchr(text.data, ' ', text.size);
    const char *second = blank ? memchr(blank + 1, ' ', (size_t)(end - blank - 1)) : NULL;
    if (second) {
        *left = str_range(text.data, blank);
        *right = str_range(second + 1, end);
        return separator_of(str_range(blank + 1, second));
    }
    for (size_t i = 0; text.size > 1 && i < sizeof without_blanks / sizeof *without_blanks; i++) {
        const struct str mark = str_of(without_blanks[i]);
        const size_t at = str_find(str_from(text, 1), mark); /* the first byte may be a minus */
        if (at == SIZE_MAX)
            continue;
        *left = (struct str){text.data, at + 1};
        *right = str_range(text.data + at + 1 + mark.size, end);
        return *without_blanks[i] == '-' && memchr(right->data, '/', right->size) ? NULL : separator_of(mark);
    }
    return NULL;
}

/* A number, or several in one argument. */
static bool read_amounts(struct convert_call *c, struct str text)
{
    struct str left, right;
    if (c->count == AMOUNTS_MAX)
        return false;
    if (read_amount(call_plain_number(c->call, text), &c->amounts[c->count])) {
        c->count++;
        return true;
    }
    const struct separator *separator = split_range(text, &left, &right);
    if (!separator || !read_amount(call_plain_number(c->call, left), &c->amounts[c->count]))
        return false;
    c->separators[c->count++] = separator;
    return read_amounts(c, right);
}

/* Decimals of hands are inches: 15.2 are 15 hands and 2 inches. */
static void read_hands(struct amount *amount)
{
    double whole;
    const double inches = modf(amount->value, &whole) * 10;
    amount->value = whole + inches / 4;
    amount->precision = amount->precision > 1 ? amount->precision - 1 : 0;
}

/* ---- Units ---- */

/* Reads the outputs in `codes`, with blanks, + or _ between; none if one is unknown. */
static void read_outputs(struct convert_call *c, struct str codes)
{
    c->output_count = 0;
    while (codes.size > 0) {
        size_t size = 0;
        while (size < codes.size && !strchr(" +_", codes.data[size]))
            size++;
        if (str_starts(codes, STR("L/100 km")))
            size = strlen("L/100 km");
        struct measure measure;
        if (size > 0) {
            const bool is_known = measure_find(c, (struct str){codes.data, size}, &measure);
            if (!is_known || !units_convert(measure.unit, c->in.unit) || c->output_count == OUTPUTS_MAX) {
                c->output_count = 0;
                return;
            }
            c->outputs[c->output_count++] = measure;
        }
        size += size < codes.size;
        codes = str_from(codes, size);
    }
}

/* Without a unit to convert to, the unit's own choice is taken. That of a metre is feet and inches, as for people; from
 * 3 m on it is feet, as for buildings. */
static void read_default_outputs(struct convert_call *c)
{
    static const char *const of_multiples[][2] = {{"e3acre", "km2"},   {"e3m2", "e6sqft"}, {"e6acre", "km2"},
                                                  {"e6ha", "e6acre"},  {"e6km", "e6mi"},   {"e6km2", "e6sqmi"},
                                                  {"e6m3", "e6cuft"},  {"e6mi", "e6km"},   {"e6sqft", "e3m2"},
                                                  {"e6sqmi", "e6km2"}, {"e9m3", "e9cuft"}};
    const struct unit *unit = c->in.unit;
    const double first = c->amounts[0].value;
    if (c->lesser_unit) {
        const char *code = unit->quantity == 'L' ? "m" : "kg";
        read_outputs(c, str_of(strcmp(unit->code, "mi") == 0 ? "km" : strcmp(unit->code, "LT") == 0 ? "t" : code));
        return;
    }
    for (size_t i = 0; i < sizeof of_multiples / sizeof *of_multiples; i++) {
        const char *code = of_multiples[i][0];
        const size_t prefix = strlen(c->in.multiple->prefix);
        if (prefix > 0 && strncmp(code, c->in.multiple->prefix, prefix) == 0 &&
            strcmp(code + prefix, unit->code) == 0) {
            read_outputs(c, str_of(of_multiples[i][1]));
            return;
        }
    }
    const bool is_small = strcmp(unit->outputs, "ftin") != 0 || (first > 0 && first < 3);
    read_outputs(c, is_small ? str_of(unit->outputs) : STR("ft"));
    for (size_t i = 0; i < c->output_count; i++)
        c->outputs[i].currency = c->in.currency;
}

unsigned conversion_read_input(struct convert_call *c)
{
    unsigned at = 1;
    for (;;) {
        if (!read_amounts(c, positional(c, at++)))
            return 0;
        struct str next = positional(c, at);
        if (str_ends(next, STR("nocomma")) && at == 2) {
            next.size -= strlen("nocomma");
            c->no_commas = true;
        }
        c->separators[c->count - 1] = separator_of(next);
        if (!c->separators[c->count - 1])
            break;
        at++;
    }
    for (size_t i = 1; i < c->count; i++)
        c->amounts[i].is_change = strcmp(c->separators[i - 1]->with_name, " ± ") == 0;
    const struct str own = c->call->parameter; /* {{hands|15.2}} */
    const struct str code = own.size > 0 && !str_equal(own, STR("cvt")) ? own : positional(c, at++);
    if (!measure_find(c, code, &c->in) || c->in.as_feet)
        return 0;
    for (size_t i = 0; i < c->count && strcmp(c->in.unit->code, "hand") == 0; i++)
        read_hands(&c->amounts[i]);
    const struct unit *lesser = unit_find(positional(c, at + 1));
    if (c->count == 1 && lesser && units_convert(lesser, c->in.unit) && lesser->scale < c->in.unit->scale &&
        read_amount(call_plain_number(c->call, positional(c, at)), &c->lesser)) {
        c->lesser_unit = lesser;
        at += 2;
    }
    return at;
}

/* ---- Options ---- */

static void read_abbreviation(struct convert_call *c)
{
    static const struct {
        const char *typed;
        enum abbreviation abbreviation;
    } known[] = {{"h", ABBREVIATE_ON},    {"hh", ABBREVIATE_ON}, {"in", ABBREVIATE_IN},   {"none", ABBREVIATE_OFF},
                 {"off", ABBREVIATE_OFF}, {"on", ABBREVIATE_ON}, {"out", ABBREVIATE_OUT}, {"unit", ABBREVIATE_ON}};
    const struct str abbr = call_value(c->call, "abbr");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (str_equal(abbr, str_of(known[i].typed))) {
            c->abbreviation = known[i].abbreviation;
            c->is_given = true;
        }
    }
    if (!c->is_given && str_equal(c->call->parameter, STR("cvt"))) {
        c->abbreviation = ABBREVIATE_ON;
        c->is_given = true;
    }
    c->hand_hh = str_equal(abbr, STR("hh"));
    c->word_for_multiple = str_equal(abbr, STR("unit"));
    c->values_only = str_equal(abbr, STR("values"));
    c->also_symbol = str_equal(abbr, STR("~")) || call_says(c->call, "adj", "~");
}

static void read_display(struct convert_call *c)
{
    static const struct {
        const char *typed, *join[3];
        bool names;
    } joins[] = {{"or", {" or ", "", " or "}, true},   {"sqbr", {" [", "]", "; "}, false},
                 {"comma", {", ", "", ", "}, false},   {"semicolon", {"; ", "", "; "}, false},
                 {"(or)", {" (", ")", " or "}, false}, {"br", {" ", "", "; "}, true},
                 {"br()", {" (", ")", "; "}, true},    {"", {" (", ")", "; "}, false}};
    const struct str disp = call_value(c->call, "disp");
    size_t i = 0;
    while (*joins[i].typed && !str_equal(disp, str_of(joins[i].typed)))
        i++;
    for (size_t part = 0; part < 3; part++)
        c->join[part] = str_of(joins[i].join[part]);
    c->names = joins[i].names;
    c->flip = str_equal(disp, STR("flip")) || call_says(c->call, "order", "flip");
    c->out_first = call_says(c->call, "order", "out");
    c->only_number = str_equal(disp, STR("number")) || str_equal(disp, STR("output number only"));
    c->only_output = c->only_number || str_equal(disp, STR("out")) || str_equal(disp, STR("output only"));
    c->only_unit = str_equal(disp, STR("unit")) || str_equal(disp, STR("unit or text"));
    c->only_unit_out = str_equal(disp, STR("unit2"));
}

static void read_spelling(struct convert_call *c)
{
    const struct str spell = call_value(c->call, "spell");
    const bool in = str_equal_ascii_nocase(spell, STR("in")), on = str_equal_ascii_nocase(spell, STR("on"));
    const bool is_possible = call_english(c->call) && !c->out_first;
    c->in_words = is_possible && (on || (in && !c->flip));
    c->out_words = is_possible && (on || (in && c->flip));
    c->with_capital = spell.size > 0 && (spell.data[0] == 'I' || spell.data[0] == 'O');
    if (c->out_words && !c->is_given)
        c->abbreviation = ABBREVIATE_OFF;
    c->american = call_says(c->call, "sp", "us") || str_equal(spell, STR("us"));
}

static void read_rounding(struct convert_call *c)
{
    static const double steps[] = {0.5, 5, 10, 25, 50};
    const struct str round = call_value(c->call, "round");
    double step;
    int precision;
    for (size_t i = 0; number_read(round, &step, &precision) && i < sizeof steps / sizeof *steps; i++)
        c->step = step == steps[i] ? step : c->step;
    if (call_says(c->call, "disp", "5"))
        c->step = 5;
    c->round_each = str_equal(round, STR("each"));
    if (!call_number(c->call, "sigfig", &c->figures) || c->figures < 1 || c->figures > 14)
        c->figures = 0;
    if (!call_number(c->call, "frac", &c->fraction) || labs(c->fraction) > 1000)
        c->fraction = 0;
    c->fraction = labs(c->fraction) > 1 ? labs(c->fraction) : 0;
    const struct str adj = call_value(c->call, "adj");
    c->places_in = adj.size == 3 && str_starts(adj, STR("ri")) && adj.data[2] >= '0' && adj.data[2] <= '3'
                       ? adj.data[2] - '0'
                       : -1;
    for (size_t i = 0; i < c->count; i++)
        c->is_scientific |= c->amounts[i].exponent.size > 0;
}

/* On wikis in other languages names of units and words between amounts would be English. */
static void use_symbols(struct convert_call *c)
{
    c->abbreviation = ABBREVIATE_ON;
    c->names = c->adjective = false;
    for (size_t i = 0; i + 1 < c->count; i++)
        c->separators[i] = c->separators[i]->each ? c->separators[i] : separator_of(STR("–"));
}

static void read_named(struct convert_call *c)
{
    const struct str adj = call_value(c->call, "adj"), comma = call_value(c->call, "comma");
    read_display(c);
    read_abbreviation(c);
    read_spelling(c);
    read_rounding(c);
    c->adjective = str_equal(adj, STR("on")) || str_equal(adj, STR("mid"));
    c->no_commas |= str_equal(comma, STR("off")) || str_starts(comma, STR("gaps"));
    c->commas_from_5 = str_equal(comma, STR("5"));
    c->currency = call_value(c->call, "$");
    if (str_equal(c->currency, STR("euro")))
        c->currency = STR("€");
    if (c->flip && c->abbreviation <= ABBREVIATE_IN)
        c->abbreviation = c->abbreviation == ABBREVIATE_IN ? ABBREVIATE_OUT : ABBREVIATE_IN;
    if (!call_english(c->call))
        use_symbols(c);
}

static bool read_precision(struct convert_call *c, unsigned at)
{
    double value;
    int precision;
    if (c->has_precision || !number_read(call_plain_number(c->call, positional(c, at)), &value, &precision))
        return false;
    c->has_precision = fabs(value) < 15 && floor(value) == value;
    c->precision = c->has_precision ? (long)value : 0;
    return true;
}

/* The text of a parameter with a blank at each end that has one. */
static struct str with_blanks(struct convert_call *c, unsigned at)
{
    const struct argument *argument = call_numbered(c->call, at);
    struct buf *scratch = &c->call->out->scratch;
    if (!argument)
        return STR("");
    const struct str text = call_value_of(c->call, argument), page = c->call->page->text;
    const bool before = argument->from > 0 && page.data[argument->from - 1] == ' ';
    const bool after = argument->to < page.size && page.data[argument->to] == ' ';
    const size_t from = scratch->size;
    if (scratch->capacity - from < text.size + 2)
        return text;
    if (before)
        buf_add_byte(scratch, ' ');
    buf_add_str(scratch, text);
    if (after)
        buf_add_byte(scratch, ' ');
    return str_from(buf_str(scratch), from);
}

static void read_texts(struct convert_call *c, unsigned at)
{
    if (call_says(c->call, "adj", "mid"))
        c->middle = with_blanks(c, at++);
    if (call_says(c->call, "adj", "pre"))
        c->before_unit[c->flip] = with_blanks(c, at++);
    if (call_says(c->call, "disp", "x")) {
        c->join[0] = with_blanks(c, at);
        c->join[1] = with_blanks(c, at + 1);
        at += 2;
    } else if (call_says(c->call, "disp", "preunit")) {
        c->before_unit[0] = with_blanks(c, at);
        c->before_unit[1] = with_blanks(c, at + 1);
        if (c->before_unit[1].size == 0)
            c->before_unit[1] = c->before_unit[0];
        at += 2;
    }
    read_precision(c, at);
}

void conversion_read_rest(struct convert_call *c, unsigned at)
{
    read_named(c);
    const struct str code = positional(c, at);
    const bool is_default = code.size == 0 || read_precision(c, at);
    if (is_default)
        read_default_outputs(c);
    else
        read_outputs(c, code);
    at++;
    if (code.size == 0 || !is_default)
        at += read_precision(c, at);
    read_texts(c, at);
}

#include "pipeline/text/templates/numbers.h"

#include "base/mem.h"

#include "pipeline/text/templates/call.h"
#include "pipeline/text/templates/number_style.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DIGITS_MAX 40u

static bool take_minus(struct str *text)
{
    LOCAL_WORDS(signs, "-", "−", "–");
    const size_t size = words_starting(signs, *text);
    *text = str_from(*text, size);
    return size > 0;
}

bool number_read(struct str text, double *value, int *precision)
{
    const bool negative = take_minus(&text);
    char digits[DIGITS_MAX + 1];
    size_t count = 0;
    int decimals = 0, zeros = 0;
    bool has_point = false;
    if (str_starts(text, STR("+")))
        text = str_from(text, 1);
    for (size_t at = 0; at < text.size; at++) {
        const char byte = text.data[at];
        if (byte == ',' && at > 0 && !has_point)
            continue;
        if (count == DIGITS_MAX || (byte != '.' && !ascii_is_digit(byte)) || (byte == '.' && has_point))
            return false;
        decimals += has_point;
        has_point |= byte == '.';
        zeros = byte == '0' ? zeros + 1 : 0;
        digits[count++] = byte;
    }
    if (count == 0 || (count == 1 && has_point))
        return false;
    digits[count] = 0;
    *value = strtod(digits, NULL);
    if (*value == 0)
        zeros = (int)count;
    if (negative)
        *value = -*value;
    *precision = has_point ? decimals : -zeros;
    return true;
}

struct str number_group(struct str text, char out[NUMBER_BYTES_MAX])
{
    size_t size = 0, whole = 0, seen = 0;
    if (take_minus(&text))
        size = strlen(strcpy(out, "−"));
    const char *point = memchr(text.data, '.', text.size);
    const size_t end = point ? (size_t)(point - text.data) : text.size;
    for (size_t at = 0; at < end; at++)
        whole += ascii_is_digit(text.data[at]);
    for (size_t at = 0; at < text.size && size + 4 < NUMBER_BYTES_MAX; at++) {
        if (text.data[at] == ',' && at < end)
            continue;
        if (at < end && seen > 0 && ascii_is_digit(text.data[at]) && (whole - seen) % 3 == 0)
            out[size++] = ',';
        seen += at < end && ascii_is_digit(text.data[at]);
        out[size++] = text.data[at];
    }
    return (struct str){out, size};
}

struct str number_format(double value, int precision, char out[NUMBER_BYTES_MAX])
{
    char digits[64];
    if (precision > 12)
        precision = 12;
    if (fabs(value) > 1e30)
        return STR("");
    if (precision < 0) {
        const double unit = pow(10, -precision);
        value = round(value / unit) * unit;
        precision = 0;
    } else {
        const double unit = pow(10, precision);
        if (fabs(value * unit) < 1e15)
            value = round(value * unit) / unit; /* halves go up, as readers round */
    }
    const int size = snprintf(digits, sizeof digits, "%.*f", precision, value == 0 ? 0.0 : value);
    return number_group((struct str){digits, (size_t)size}, out);
}

/* {{formatnum:1234.5}} → 1,234.5 as the wiki writes it; with R it takes the marks out again, with NOSEP it groups
 * nothing. */
bool render_number(struct call *call)
{
    const char *name = call_argument(call, "0") ? "0" : "1";
    const struct argument *argument = call_argument(call, name);
    const struct str value = call_value(call, name);
    double number;
    int precision;
    char out[NUMBER_BYTES_MAX];
    if (!argument)
        return false;
    const bool back = *name == '0' && call_says(call, "1", "R");
    if (back && !call->is_opaque) {
        const struct str plain = call_plain_number(call, value);
        for (size_t i = 0; i < plain.size; i++)
            if (plain.data[i] != ',' || !number_read(plain, &number, &precision))
                show(call, (struct str){plain.data + i, 1});
    } else if (call->is_opaque || (*name == '0' && call_says(call, "1", "NOSEP")) ||
               !number_read(value, &number, &precision))
        show_argument(call, argument);
    else
        show_plain_number(call, number_group(value, out));
    return true;
}

/* Above the line of a fraction: a sum in brackets. */
static void show_numerator(struct call *call, const struct argument *argument)
{
    const struct str value = call_value_of(call, argument);
    const bool is_sum = str_has(value, ' ') || str_has(value, '+');
    show_text(call, is_sum ? "(" : "");
    show_argument(call, argument);
    show_text(call, is_sum ? ")" : "");
}

/* {{frac|1|2}} → 1⁄2, {{frac|3|1|2}} → 3 1⁄2, {{frac|4}} → 1⁄4 */
bool render_fraction(struct call *call)
{
    const struct argument *first = call_argument(call, "1"), *second = call_argument(call, "2");
    const struct argument *third = call_argument(call, "3");
    if (!first)
        return false;
    if (third) {
        show_argument(call, first);
        show_text(call, " ");
        first = second;
        second = third;
    }
    if (second)
        show_numerator(call, first);
    else
        show_text(call, "1");
    show_text(call, "⁄");
    show_argument(call, second ? second : first);
    return true;
}

/* A number where it is one, grouped; anything else as it stands. */
static void show_number(struct call *call, const struct argument *argument)
{
    double number;
    int precision;
    char out[NUMBER_BYTES_MAX];
    const struct str value = call_plain_number(call, call_value_of(call, argument));
    if (value.size <= DIGITS_MAX && number_read(value, &number, &precision))
        show_plain_number(call, number_group(value, out));
    else
        show_argument(call, argument);
}

static void show_signed(struct call *call, const struct argument *argument, const char *sign)
{
    const char first = call->page->text.data[argument->from];
    show_text(call, first == '+' || first == '-' ? "" : sign);
    show_number(call, argument);
}

/* 5.4e6 → 5.4×106; false: it is no such number. */
static bool show_power(struct call *call, const struct argument *number)
{
    double value;
    int precision;
    char out[NUMBER_BYTES_MAX];
    const struct str text = call_plain_number(call, call_value_of(call, number));
    const char *e = memchr(text.data, 'e', text.size);
    const struct str exponent = e ? str_range(e + 1, text.data + text.size) : STR("");
    const struct str digits = e ? str_range(text.data, e) : text;
    if (!e || !number_read(digits, &value, &precision) || !number_read(exponent, &value, &precision))
        return false;
    show_plain_number(call, number_group(digits, out));
    show_text(call, "×10");
    show_plain_number(call, number_group(exponent, out));
    return true;
}

/* {{val|1234.5|0.3|e=6|u=km}} → 1,234.5±0.3×10^6 km; raised digits stand in the line, as they do for <sup>. */
bool render_val(struct call *call)
{
    const struct argument *number = call_argument(call, "1"), *error = call_argument(call, "2");
    const struct argument *power = call_argument(call, "e"), *unit = call_argument(call, "u");
    show_if(call, "", call_argument(call, "p"), "");
    if (number && !show_power(call, number))
        show_number(call, number);
    if (error && error->to > error->from && call->page->text.data[error->from] == '(') {
        show_argument(call, error);                 /* 1.234(5) */
    } else if (error && call_argument(call, "3")) { /* one error up, one down */
        show_signed(call, error, "+");
        show_signed(call, call_argument(call, "3"), "−");
    } else if (error) {
        show_text(call, "±");
        show_number(call, error);
    }
    if (power) {
        show_text(call, number ? "×10" : "10");
        show_number(call, power);
    }
    if (!unit)
        unit = call_argument(call, "ul");
    if (number || power)
        show_if(call, " ", unit, "");
    show_if(call, "", call_argument(call, "s"), "");
    return number || power;
}

/* {{unité|12345.6|km|2}} → 12 345,6 km2, {{unité|5|m|s|-2}} → 5 m·s-2: a number, and what it counts. */
bool render_unit(struct call *call)
{
    static const char *const keys[] = {"ul", "u", "unité", "unit"};
    const struct argument *number = call_argument(call, "1"), *power = call_argument(call, "e"), *unit = NULL;
    double value;
    int precision;
    if (!number)
        return false;
    show_number(call, number);
    if (power) {
        show_text(call, "×10");
        show_number(call, power);
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !unit; i++)
        unit = call_argument(call, keys[i]);
    for (unsigned at = 2; at < 10; at++) {
        const struct argument *next = call_numbered(call, at);
        if (!next)
            continue;
        const struct str text = call_value_of(call, next);
        const bool is_power = number_read(text, &value, &precision) && at > 2;
        show_text(call, is_power ? "" : at == 2 ? " " : "·");
        show_argument(call, next);
    }
    show_if(call, " ", unit, "");
    return true;
}

static const char *const small_words[] = {
    "zero", "one",    "two",    "three",    "four",     "five",    "six",     "seven",     "eight",    "nine",
    "ten",  "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
static const char *const tens_words[] = {"",      "",      "twenty",  "thirty", "forty",
                                         "fifty", "sixty", "seventy", "eighty", "ninety"};
static const struct {
    uint64_t size;
    const char *word;
} powers[] = {{1000000000, "billion"}, {1000000, "million"}, {1000, "thousand"}};

/* Below 1,000. */
static void add_hundreds(unsigned number, bool with_and, struct buf *out)
{
    if (number >= 100)
        buf_addf(out, "%s hundred%s", small_words[number / 100], number % 100 == 0 ? "" : with_and ? " and " : " ");
    if (number >= 100 && number % 100 == 0)
        return;
    number %= 100;
    if (number < 20)
        buf_add_text(out, small_words[number]);
    else
        buf_addf(out, "%s%s%s", tens_words[number / 10], number % 10 ? "-" : "",
                 number % 10 ? small_words[number % 10] : "");
}

void number_words_add(uint64_t number, bool with_and, struct buf *out)
{
    assert(number <= NUMBER_WORDS_MAX);
    bool any = false;
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++) {
        const unsigned count = (unsigned)(number / powers[i].size);
        number %= powers[i].size;
        if (count == 0)
            continue;
        buf_add_text(out, any ? " " : "");
        add_hundreds(count, with_and, out);
        buf_addf(out, " %s", powers[i].word);
        any = true;
    }
    if (any && number == 0)
        return;
    buf_add_text(out, !any ? "" : number < 100 && with_and ? " and " : " ");
    add_hundreds((unsigned)number, with_and, out);
}

/* {{spellnum|42}} → forty-two; the parameter: from which number on digits stay. */
bool render_words(struct call *call)
{
    long number;
    SCOPED(buf_release) struct buf words = {0};
    const long most = call->parameter.size > 0 ? call->parameter.data[0] - '0' : 999999; /* text must not grow */
    if (!call_number(call, "1", &number))
        return false;
    if (number > most) {
        show_argument(call, call_argument(call, "1"));
        return true;
    }
    number_words_add((uint64_t)number, true, &words);
    show(call, buf_str(&words));
    return true;
}

/* {{currency|100|GBP}} → £100: as {{GBP|100}}; a currency without a row has its code in front. */
bool render_currency(struct call *call)
{
    const struct argument *amount = call_argument(call, "1");
    struct str code = call_value(call, "2");
    if (!amount || call->is_opaque)
        return false;
    code = code.size == 0 ? STR("USD") : code;
    const struct row *row = call_row(call, code);
    if (row && row->render == render_money) {
        call->parameter = str_of(row->pattern);
        return render_money(call);
    }
    show(call, code);
    show_text(call, " ");
    show_number(call, amount);
    return true;
}

/* {{e|-20}} → ×10−20; XIX{{e}} → XIXe */
bool render_power(struct call *call)
{
    if (!call_argument(call, "1")) {
        show_text(call, "e");
        return !call_english(call);
    }
    show_text(call, "×10");
    show_number(call, call_argument(call, "1"));
    return true;
}

/* {{US$|2 billion}} → US$2 billion: the parameter is the sign. Where the decimal mark is a comma, it is after the
 * amount (5 €), except in Portuguese. */
bool render_money(struct call *call)
{
    const struct argument *amount = call_argument(call, "1");
    const bool portuguese = str_equal(call->page->code, STR("pt"));
    const bool is_after = amount && call->page->style->decimal[0] == ',' && !portuguese;
    if (!is_after)
        show(call, call->parameter);
    if (amount && portuguese)
        show_text(call, "\xC2\xA0");
    if (amount)
        show_number(call, amount);
    if (is_after) {
        show_text(call, "\xC2\xA0");
        show(call, call->parameter);
    }
    return true;
}

/* {{chem|H|2|O}} and {{chem2|H2O}}: what stands below and above stands in the line. */
bool render_chem(struct call *call)
{
    bool any = false;
    for (size_t i = 0; i < call->count; i++) {
        const struct argument *argument = &call->arguments[i];
        if (argument->number == 0 || argument->from == argument->to)
            continue;
        show_argument(call, argument);
        any = true;
    }
    return any;
}

/* One half of a place: degrees, minutes and seconds up to the letter of its direction, or degrees with a sign. */
static unsigned show_angle(struct call *call, unsigned at, const char *letters, const char *signs[2])
{
    static const char *const marks[] = {"°", "′", "″"};
    unsigned count = 0;
    while (count < 4) {
        const struct str value = call_value_of(call, call_numbered(call, at + count));
        if (count > 0 && value.size == 1 && strchr(letters, value.data[0]))
            break;
        double number;
        int precision;
        if (!number_read(value, &number, &precision))
            break;
        count++;
    }
    if (count == 0 || count > 3)
        return 0;
    const struct str direction = call_value_of(call, call_numbered(call, at + count));
    const bool has_letter = direction.size == 1 && strchr(letters, direction.data[0]);
    for (unsigned i = 0; i < (has_letter ? count : 1); i++) {
        struct str value = call_value_of(call, call_numbered(call, at + i));
        const bool negative = take_minus(&value);
        show(call, value);
        show_text(call, marks[i]);
        if (!has_letter)
            show_text(call, signs[negative]);
    }
    if (has_letter)
        show(call, direction);
    return has_letter ? at + count + 1 : at + 1;
}

/* {{coord|13|19|N|169|9|W}} → 13°19′N 169°9′W, where it does not stand beside the title only. */
bool render_coord(struct call *call)
{
    const char *latitude[] = {"N", "S"}, *longitude[] = {"E", "W"};
    const struct str display = call_value(call, "display");
    if (display.size > 0 && str_find(display, STR("inline")) == SIZE_MAX && !str_starts(display, STR("i")))
        return false;
    const unsigned after = show_angle(call, 1, "NS", latitude);
    if (after == 0)
        return false;
    show_text(call, " ");
    return show_angle(call, after, "EW", longitude) > 0;
}

/* {{music|flat}} → ♭ */
bool render_music(struct call *call)
{
    static const char *const signs[][2] = {{"flat", "♭"},    {"b", "♭"}, {"sharp", "♯"},      {"#", "♯"},
                                           {"natural", "♮"}, {"n", "♮"}, {"doubleflat", "𝄫"}, {"doublesharp", "𝄪"}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (!call_says(call, "1", signs[i][0]))
            continue;
        show_text(call, signs[i][1]);
        return true;
    }
    return false;
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

#include "pipeline/text/templates/expr.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMBER_SIZE 400u /* of a number as typed; the largest double has 309 digits */
#define WORD_SIZE   8u

// clang-format off
enum op {
    OPEN, NEGATIVE, POSITIVE, EXPONENT,
    SINE, COSINE, TANGENT, ARCSINE, ARCCOSINE, ARCTANGENT, EXP, LN, ABS, FLOOR, TRUNC, CEIL, SQRT, NOT,
    POWER, TIMES, DIVIDE, MOD, FMOD, PLUS, MINUS, ROUND, EQUAL, LESS, GREATER, AT_MOST, AT_LEAST, NOT_EQUAL, AND, OR,
    PI
};
// clang-format on

static const struct {
    signed char strength;
    bool is_binary;
} operators[] = {
    [OPEN] = {-1, false},     [NEGATIVE] = {10, false},  [POSITIVE] = {10, false}, [EXPONENT] = {10, true},
    [SINE] = {9, false},      [COSINE] = {9, false},     [TANGENT] = {9, false},   [ARCSINE] = {9, false},
    [ARCCOSINE] = {9, false}, [ARCTANGENT] = {9, false}, [EXP] = {9, false},       [LN] = {9, false},
    [ABS] = {9, false},       [FLOOR] = {9, false},      [TRUNC] = {9, false},     [CEIL] = {9, false},
    [SQRT] = {9, false},      [NOT] = {9, false},        [POWER] = {8, true},      [TIMES] = {7, true},
    [DIVIDE] = {7, true},     [MOD] = {7, true},         [FMOD] = {7, true},       [PLUS] = {6, true},
    [MINUS] = {6, true},      [ROUND] = {5, true},       [EQUAL] = {4, true},      [LESS] = {4, true},
    [GREATER] = {4, true},    [AT_MOST] = {4, true},     [AT_LEAST] = {4, true},   [NOT_EQUAL] = {4, true},
    [AND] = {3, true},        [OR] = {2, true},          [PI] = {0, false},
};

static const struct {
    char word[WORD_SIZE];
    enum op op;
} words[] = {{"abs", ABS},     {"acos", ARCCOSINE}, {"and", AND},     {"asin", ARCSINE}, {"atan", ARCTANGENT},
             {"ceil", CEIL},   {"cos", COSINE},     {"div", DIVIDE},  {"e", EXPONENT},   {"exp", EXP},
             {"floor", FLOOR}, {"fmod", FMOD},      {"ln", LN},       {"mod", MOD},      {"not", NOT},
             {"or", OR},       {"pi", PI},          {"round", ROUND}, {"sin", SINE},     {"sqrt", SQRT},
             {"tan", TANGENT}, {"trunc", TRUNC}};

/* Longer signs first. */
static const struct {
    char sign[8];
    enum op op;
} signs[] = {{"&minus;", MINUS}, {"&lt;=", AT_MOST}, {"&gt;=", AT_LEAST}, {"&lt;&gt;", NOT_EQUAL},
             {"&lt;", LESS},     {"&gt;", GREATER},  {"−", MINUS},        {"<=", AT_MOST},
             {">=", AT_LEAST},   {"<>", NOT_EQUAL},  {"!=", NOT_EQUAL},   {"+", PLUS},
             {"-", MINUS},       {"*", TIMES},       {"/", DIVIDE},       {"^", POWER},
             {"=", EQUAL},       {"<", LESS},        {">", GREATER}};

/* A number; results of whole-number operators have no minus before a zero and are written with all digits. */
struct value {
    double number;
    bool is_whole;
};

struct evaluation {
    struct str text;
    size_t at;
    struct value values[EXPR_DEPTH_MAX];
    enum op waiting[EXPR_DEPTH_MAX];
    size_t value_count, waiting_count;
    bool wants_value; /* an operand comes next; else a binary operator */
    const char *error;
};

static bool say(struct evaluation *self, const char *error)
{
    self->error = error;
    return false;
}

static struct value value_of(double number, bool is_whole)
{
    return (struct value){is_whole && number == 0 ? 0 : number, is_whole};
}

static bool push_value(struct evaluation *self, struct value value)
{
    if (self->value_count == EXPR_DEPTH_MAX)
        return say(self, "too deep");
    self->values[self->value_count++] = value;
    return true;
}

static bool push_operator(struct evaluation *self, enum op op)
{
    if (self->waiting_count == EXPR_DEPTH_MAX)
        return say(self, "too deep");
    self->waiting[self->waiting_count++] = op;
    return true;
}

/* Like a cast to 64 bits: towards zero, and modulo 2^64. */
static double to_whole(double number)
{
    const double range = 18446744073709551616.0;
    if (!isfinite(number))
        return 0;
    number = trunc(number);
    if (fabs(number) < range / 2)
        return number;
    number = fmod(number, range);
    return number >= range / 2 ? number - range : number < -range / 2 ? number + range : number;
}

/* Rounds halves away from zero, judged by the first 15 digits; digits < 0 are tens, hundreds, … */
static double round_to(double number, double digits)
{
    if (!isfinite(number) || digits > 300)
        return number;
    if (digits < -300)
        return copysign(0, number);
    const double unit = pow(10, fabs(digits));
    double scaled = digits >= 0 ? number * unit : number / unit;
    if (!isfinite(scaled) || fabs(scaled) >= 1e15)
        return number;
    char text[40];
    snprintf(text, sizeof text, "%.15g", scaled);
    scaled = round(strtod(text, NULL));
    snprintf(text, sizeof text, "%.0fe%.0f", scaled, -digits);
    return strtod(text, NULL);
}

static bool compares(enum op op, double a, double b)
{
    return op == EQUAL       ? a == b
           : op == NOT_EQUAL ? a != b
           : op == LESS      ? a < b
           : op == GREATER   ? a > b
           : op == AT_MOST   ? a <= b
           : op == AT_LEAST  ? a >= b
           : op == AND       ? a != 0 && b != 0
                             : a != 0 || b != 0; /* OR */
}

static bool apply_to_one(struct evaluation *self, enum op op, struct value x)
{
    static double (*const functions[])(double) = {
        [SINE] = sin, [COSINE] = cos, [TANGENT] = tan, [ARCSINE] = asin, [ARCCOSINE] = acos, [ARCTANGENT] = atan,
        [EXP] = exp,  [LN] = log,     [FLOOR] = floor, [CEIL] = ceil,    [SQRT] = sqrt};
    const double n = x.number;
    switch (op) {
    case NEGATIVE:
        return push_value(self, value_of(-n, x.is_whole));
    case POSITIVE:
        return push_value(self, value_of(n, x.is_whole));
    case ABS:
        return push_value(self, value_of(fabs(n), x.is_whole));
    case NOT:
        return push_value(self, value_of(n == 0, true));
    case TRUNC:
        return push_value(self, value_of(to_whole(n), true));
    default:
        if ((op == ARCSINE || op == ARCCOSINE) && (n < -1 || n > 1))
            return say(self, "no such angle");
        if (op == LN && n <= 0)
            return say(self, "logarithm of what is not positive");
        if (op == SQRT && n < 0)
            return say(self, "root of a negative number");
        return push_value(self, value_of(functions[op](n), false));
    }
}

static bool apply_to_two(struct evaluation *self, enum op op, struct value x, struct value y)
{
    const double a = x.number, b = y.number;
    const bool whole = x.is_whole && y.is_whole;
    if ((op == MOD ? to_whole(b) : b) == 0 && (op == DIVIDE || op == MOD || op == FMOD))
        return say(self, "division by zero");
    switch (op) {
    case TIMES:
        return push_value(self, value_of(a * b, whole));
    case PLUS:
        return push_value(self, value_of(a + b, whole));
    case MINUS:
        return push_value(self, value_of(a - b, whole));
    case DIVIDE:
        return push_value(self, value_of(a / b, whole && fmod(a, b) == 0));
    case MOD:
        return push_value(self, value_of(fmod(to_whole(a), to_whole(b)), true));
    case FMOD:
        return push_value(self, value_of(fmod(a, b), false));
    case POWER:
        if (isnan(pow(a, b)))
            return say(self, "the power is no number");
        return push_value(self, value_of(pow(a, b), whole && b >= 0));
    case EXPONENT:
        return push_value(self, value_of(a * pow(10, b), whole && b >= 0));
    case ROUND:
        return push_value(self, value_of(round_to(a, to_whole(b)), x.is_whole));
    default:
        return push_value(self, value_of(compares(op, a, b), true));
    }
}

/* Applies the topmost operator to its values and pushes the result. */
static bool apply(struct evaluation *self)
{
    const enum op op = self->waiting[--self->waiting_count];
    const size_t takes = operators[op].is_binary ? 2 : 1;
    if (self->value_count < takes)
        return say(self, "a value is missing");
    self->value_count -= takes;
    const struct value *values = self->values + self->value_count;
    return takes == 2 ? apply_to_two(self, op, values[0], values[1]) : apply_to_one(self, op, values[0]);
}

static enum op topmost(const struct evaluation *self)
{
    return self->waiting[self->waiting_count - 1];
}

static bool take_binary(struct evaluation *self, enum op op)
{
    if (self->wants_value)
        return say(self, "an operator without a value before it");
    while (self->waiting_count > 0 && operators[op].strength <= operators[topmost(self)].strength)
        if (!apply(self))
            return false;
    self->wants_value = true;
    return push_operator(self, op);
}

static bool take_number(struct evaluation *self)
{
    char digits[NUMBER_SIZE];
    const size_t from = self->at;
    while (self->at < self->text.size && memchr("0123456789.", self->text.data[self->at], 11))
        self->at++;
    const size_t size = self->at - from;
    if (!self->wants_value)
        return say(self, "a number where an operator is expected");
    if (size >= sizeof digits)
        return say(self, "too long a number");
    memcpy(digits, self->text.data + from, size);
    digits[size] = 0;
    self->wants_value = false;
    return push_value(self, value_of(strtod(digits, NULL), false));
}

static bool take_word(struct evaluation *self)
{
    const size_t from = self->at;
    while (self->at < self->text.size && ascii_is_letter(self->text.data[self->at]))
        self->at++;
    const struct str word = {self->text.data + from, self->at - from};
    size_t i = 0;
    while (i < sizeof words / sizeof *words && !str_equal_ascii_nocase(word, str_of(words[i].word)))
        i++;
    if (i == sizeof words / sizeof *words)
        return say(self, "no such word");
    const enum op op = words[i].op;
    if (op == PI || (op == EXPONENT && self->wants_value)) {
        if (!self->wants_value)
            return say(self, "a number where an operator is expected");
        self->wants_value = false;
        return push_value(self, value_of(op == PI ? M_PI : M_E, false));
    }
    if (operators[op].is_binary)
        return take_binary(self, op);
    return self->wants_value ? push_operator(self, op) : say(self, "a function where an operator is expected");
}

static bool take_sign(struct evaluation *self)
{
    const struct str rest = str_from(self->text, self->at);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        const struct str sign = {signs[i].sign, strnlen(signs[i].sign, sizeof signs[i].sign)};
        if (!str_starts(rest, sign))
            continue;
        self->at += sign.size;
        if (self->wants_value && (signs[i].op == PLUS || signs[i].op == MINUS))
            return push_operator(self, signs[i].op == PLUS ? POSITIVE : NEGATIVE);
        return take_binary(self, signs[i].op);
    }
    return say(self, "a character that has no meaning here");
}

static bool take_closing(struct evaluation *self)
{
    self->at++;
    while (self->waiting_count > 0 && topmost(self) != OPEN)
        if (!apply(self))
            return false;
    if (self->waiting_count == 0)
        return say(self, "a bracket that was not opened");
    self->waiting_count--;
    self->wants_value = false;
    return true;
}

static bool take_one(struct evaluation *self)
{
    const char byte = self->text.data[self->at];
    if (memchr(" \t\r\n", byte, 4)) {
        self->at++;
        return true;
    }
    if (ascii_is_digit(byte) || byte == '.')
        return take_number(self);
    if (ascii_is_letter(byte))
        return take_word(self);
    if (byte == ')')
        return take_closing(self);
    if (byte != '(')
        return take_sign(self);
    self->at++;
    return self->wants_value ? push_operator(self, OPEN) : say(self, "a bracket where an operator is expected");
}

/* Fourteen digits, and an exponent as PHP writes it: 1.0E+25. */
static void write_value(struct value value, char text[EXPR_VALUE_SIZE])
{
    if (value.is_whole && fabs(value.number) < 1e19) {
        snprintf(text, EXPR_VALUE_SIZE, "%.0f", value.number);
        return;
    }
    if (!isfinite(value.number)) {
        strcpy(text, isnan(value.number) ? "NAN" : value.number > 0 ? "INF" : "-INF");
        return;
    }
    char digits[EXPR_VALUE_SIZE];
    snprintf(digits, sizeof digits, "%.14G", value.number);
    const char *mark = strchr(digits, 'E');
    if (!mark)
        strcpy(text, digits);
    else
        snprintf(text, EXPR_VALUE_SIZE, "%.*s%sE%+d", (int)(mark - digits), digits, strchr(digits, '.') ? "" : ".0",
                 atoi(mark + 1));
}

struct expr expr_read(struct str text)
{
    struct evaluation self = {.text = text, .wants_value = true};
    while (self.at < text.size && take_one(&self))
        continue;
    while (!self.error && self.waiting_count > 0) {
        if (topmost(&self) == OPEN)
            self.error = "a bracket that is not closed";
        else
            apply(&self);
    }
    struct expr expr = {.error = self.error, .is_empty = self.value_count == 0};
    if (!expr.error && !expr.is_empty) {
        expr.number = self.values[0].number;
        write_value(self.values[0], expr.text);
    }
    return expr;
}

bool expr_holds(const struct expr *expr)
{
    return !expr->error && !expr->is_empty && expr->number != 0;
}

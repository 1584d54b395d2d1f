/* The arithmetic of {{#expr:}}: results, and that every expression ends in bounded time. */
#include "pipeline/text/templates/expr.h"
#include "tests/unit.h"

static const struct {
    const char *text, *value; /* NULL: an error */
} cases[] = {
    {"", ""},
    {" \t\n", ""},
    {"()", ""},
    {"2 <= 2", "1"},
    {"2 >= 2", "1"},
    {"2 < 2", "0"},
    {"2 > 2", "0"},
    {"1", "1"},
    {" 1 + 2 ", "3"},
    {"1.50", "1.5"},
    {".5 + 5.", "5.5"},
    {"1.2.3", "1.2"},
    {"0.1+0.2", "0.3"},
    {"1/3", "0.33333333333333"},
    {"2/3", "0.66666666666667"},
    {"10 / 4", "2.5"},
    {"10 div 4", "2.5"},
    {"7 mod 3", "1"},
    {"-7 mod 3", "-1"},
    {"7.9 mod 3.9", "1"},
    {"-6 mod 3", "0"},
    {"5.5 fmod 2", "1.5"},
    {"2+3*4", "14"},
    {"(2+3)*4", "20"},
    {"10-4-3", "3"},
    {"24/4/2", "3"},
    {"2^10", "1024"},
    {"2^3^2", "64"},
    {"-2^2", "4"},
    {"0-2^2", "-4"},
    {"2^-1", "0.5"},
    {"2^.5", "1.4142135623731"},
    {"3 - -2", "5"},
    {"+-+3", "-3"},
    {"−5 + 2", "-3"},
    {"&minus;5", "-5"},
    {"1e3", "1000"},
    {"4.5e6", "4500000"},
    {"1E-3", "0.001"},
    {"-1e2", "-100"},
    {"1e2^2", "10000"},
    {"e", "2.718281828459"},
    {"2*e", "5.4365636569181"},
    {"pi", "3.1415926535898"},
    {"PI*2", "6.2831853071796"},
    {"1e15", "1.0E+15"},
    {"1e14", "1.0E+14"},
    {"1e13", "10000000000000"},
    {"123456789012345678", "1.2345678901235E+17"},
    {"0.0001", "0.0001"},
    {"0.00001", "1.0E-5"},
    {"1.5e-7", "1.5E-7"},
    {"1e200*1e100", "1.0E+300"},
    {"1e308*10", "INF"},
    {"0*-1", "-0"},
    {"-0", "-0"},
    {"0-0", "0"},
    {"3 round 0", "3"},
    {"2.5 round 0", "3"},
    {"-2.5 round 0", "-3"},
    {"-0.4 round 0", "-0"},
    {"1.005 round 2", "1.01"},
    {"1234.567 round 1", "1234.6"},
    {"1234.567 round -2", "1200"},
    {"1250 round -2", "1300"},
    {"10/3 round 2", "3.33"},
    {"2*1.26 round 1", "2.5"},
    {"2 round 400", "2"},
    {"2 round -400", "0"},
    {"floor 2.7", "2"},
    {"floor -2.7", "-3"},
    {"ceil 2.1", "3"},
    {"trunc -2.7", "-2"},
    {"trunc -0.5", "0"},
    {"trunc 1e300", "0"},
    {"abs -3.5", "3.5"},
    {"abs(2-5)*2", "6"},
    {"sqrt 16", "4"},
    {"sqrt(2) round 3", "1.414"},
    {"exp 0", "1"},
    {"ln e", "1"},
    {"ln(exp 2)", "2"},
    {"sin 0", "0"},
    {"cos pi", "-1"},
    {"sin (pi/6) round 6", "0.5"},
    {"atan 1 * 4", "3.1415926535898"},
    {"acos 1", "0"},
    {"2^sqrt 9", "8"},
    {"1 = 1", "1"},
    {"1=2", "0"},
    {"1 != 2", "1"},
    {"1 <> 1", "0"},
    {"3 >= 3", "1"},
    {"2 &lt; 3", "1"},
    {"2 &gt;= 3", "0"},
    {"2 &lt;&gt; 3", "1"},
    {"1 < 2 and 2 < 3", "1"},
    {"1 and 0 or 1", "1"},
    {"not 0", "1"},
    {"not 3", "0"},
    {"not 0 + 1", "2"},
    {"2 = 2 + 0", "1"},
    {"1 round 0 = 1", "1"},
    {"1 AND 1", "1"},
    {"trunc 123456789012345", "123456789012345"},
    {"1,000", NULL},
    {"1 2", NULL},
    {"1 +", NULL},
    {"* 2", NULL},
    {"(1", NULL},
    {"1)", NULL},
    {"2(3)", NULL},
    {"() 2", NULL},
    {"() + 2", NULL},
    {"sin", NULL},
    {"2 sin 3", NULL},
    {"2 pi", NULL},
    {"1/0", NULL},
    {"1 mod 0.5", NULL},
    {"1 fmod 0", NULL},
    {"ln 0", NULL},
    {"sqrt -1", NULL},
    {"asin 2", NULL},
    {"(-8)^(1/3)", NULL},
    {"two", NULL},
    {"1 $ 2", NULL},
    {"12 km", NULL},
    {"5\xC2\xA0+ 1", NULL},
    {"!1", NULL},
    {"é", NULL},
};

TEST(values_are_written_as_mediawiki_does)
{
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct expr expr = expr_read(str_of(cases[i].text));
        const bool right = cases[i].value ? !expr.error && strcmp(expr.text, cases[i].value) == 0 : expr.error != NULL;
        if (!right)
            fprintf(stderr, "%s: expected %s, got %s\n", cases[i].text, cases[i].value ? cases[i].value : "an error",
                    expr.error ? expr.error : expr.text);
        wrong += !right;
    }
    assert_int_equal(wrong, 0);
}

TEST(conditions_hold_for_what_is_not_zero)
{
    static const struct {
        const char *text;
        bool holds;
    } conditions[] = {{"1", true}, {"-0.5", true}, {"0", false}, {"", false}, {"2>3", false}, {"1/0", false}};
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        const struct expr expr = expr_read(str_of(conditions[i].text));
        assert_int_equal(expr_holds(&expr), conditions[i].holds);
    }
}

/* Reads an expression of `count` units, followed by `after`. */
static struct expr read_repeated(const char *unit, size_t count, const char *after)
{
    SCOPED(buf_release) struct buf text = {0};
    for (size_t i = 0; i < count; i++)
        buf_add_text(&text, unit);
    buf_add_text(&text, after);
    const struct expr expr = expr_read(buf_str(&text));
    return expr;
}

TEST(what_is_too_deep_is_an_error)
{
    assert_null(read_repeated("-", EXPR_DEPTH_MAX, "1").error);
    assert_non_null(read_repeated("-", EXPR_DEPTH_MAX + 1, "1").error);
    assert_non_null(read_repeated("(", 100000, "1").error);
    assert_non_null(read_repeated("9", 1000, "").error);
    assert_string_equal(read_repeated("1+", 10000, "1").text, "10001");
}

/* Random sequences of tokens give a value and no error, or an error and no value. */
TEST(any_mixture_is_read)
{
    static const char *const bits[] = {"1", "2.5", "0",     "+",    "-",  "*",      "/",     "^",
                                       "(", ")",   "mod ",  "e",    "pi", "sin ",   "ln ",   "not",
                                       "=", "<",   " and ", " or ", ".",  "round ", "1e",    "&lt;",
                                       "−", "x",   " ",     "9999", "!=", "sqrt ",  "trunc "};
    const size_t count = sizeof bits / sizeof *bits;
    SCOPED(buf_release) struct buf text = {0};
    for (uint32_t round = 0; round < 20000; round++) {
        buf_reset(&text);
        for (uint32_t k = 0; k < 1 + round % 9; k++) {
            const uint64_t draw = ((uint64_t)round * 31 + k + 1) * 0x9E3779B97F4A7C15u;
            buf_add_text(&text, bits[(draw >> 33) % count]);
        }
        const struct expr expr = expr_read(buf_str(&text));
        assert_true(memchr(expr.text, 0, sizeof expr.text) != NULL);
        if (expr.error || expr.is_empty)
            assert_true(expr.text[0] == 0 && expr.number == 0);
        else
            assert_true(expr.text[0] != 0);
    }
}

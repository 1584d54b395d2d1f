/* Internal to {{convert}}: convert_read.c reads a call, convert_units.c knows units, convert.c shows it. Rules and
 * options: Module:Convert of English Wikipedia and https://en.wikipedia.org/wiki/Template:Convert */
#pragma once

#include "pipeline/text/templates/call.h"
#include "pipeline/text/templates/units.h"

#define AMOUNTS_MAX 4u /* of a range: 1 by 2 by 3 */
#define OUTPUTS_MAX 3u
#define MADE_MAX    8u

struct amount {
    double value;
    double precision;  /* digits after the point that it was typed with; minus the zeros at the end of a whole number */
    struct str digits; /* as typed, without the sign */
    struct str exponent;                /* of 4.5e6: the 6 */
    struct str whole, above, below;     /* of 2+1/2 */
    bool is_negative, has_plus, is_one; /* is_one: its unit is singular */
    bool is_change;                     /* it follows ±, so 5 °C is 9 °F */
};

/* Between the numbers of a range: with the unit's name, with its symbol. */
struct separator {
    const char *typed, *with_name, *with_symbol;
    bool is_word; /* to, and, or: 5-to-10 km with adj=on and abbr=on */
    bool each;    /* the symbol is repeated: 5 m × 10 m */
};

/* The e6 of e6km2. */
struct multiple {
    const char *prefix, *word, *exponent;
    double factor;
};

struct measure {
    const struct unit *unit;
    const struct multiple *multiple;
    struct str currency; /* $ of $/acre, or "" */
    bool as_feet;        /* in feet and inches; the unit is the inch */
};

/* A unit that is no row: prefixes (Gg), fractions (kg/ha). */
struct made_unit {
    struct unit unit;
    char text[5][80]; /* of its texts */
};

enum side { SIDE_IN, SIDE_OUT };
enum abbreviation { ABBREVIATE_OUT, ABBREVIATE_IN, ABBREVIATE_ON, ABBREVIATE_OFF };

struct convert_call {
    struct call *call;
    struct amount amounts[AMOUNTS_MAX];
    const struct separator *separators[AMOUNTS_MAX];
    size_t count;
    struct measure in;
    struct amount lesser; /* 5 ft 10 in: the inches */
    const struct unit *lesser_unit;
    struct measure outputs[OUTPUTS_MAX];
    size_t output_count;
    struct made_unit made[MADE_MAX];
    size_t made_count;

    /* How it is rounded. */
    bool has_precision, round_each;
    long precision, figures, fraction; /* 0: not asked for */
    double step;
    int places_in; /* of the input; -1: as typed */
    bool is_scientific;
    /* How it is shown. */
    enum abbreviation abbreviation;
    bool is_given; /* the abbreviation */
    bool word_for_multiple, values_only, also_symbol, hand_hh;
    bool adjective, american, in_words, out_words, with_capital, no_commas, commas_from_5;
    bool flip, out_first, only_output, only_number, only_unit, only_unit_out, names;
    struct str currency; /* that stands for $ */
    struct str middle, before_unit[2];
    struct str join[3]; /* before the outputs, after them, between them */
};

/* Finds a unit by its code, or as the page's language writes it: كم */
bool measure_find(struct convert_call *c, struct str code, struct measure *measure);
/* One can be converted into the other. */
bool units_convert(const struct unit *a, const struct unit *b);
/* Reads the numbers and the unit; returns the position after them, or 0 if they are not understood. */
unsigned conversion_read_input(struct convert_call *c);
/* Reads what to convert to and how, from parameter `at` on. An unknown unit leaves c->output_count 0. */
void conversion_read_rest(struct convert_call *c, unsigned at);

/* One {{convert}}: its contents (read by convert.c) and how they are shown (convert_show.c). */
#ifndef PIPELINE_TEXT_TEMPLATES_CONVERT_H
#define PIPELINE_TEXT_TEMPLATES_CONVERT_H

#include "pipeline/text/templates/call.h"
#include "pipeline/text/templates/units.h"

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

void show_amount(struct call *call, const struct amount *amount);
/* The number as typed, and in the other units; `symbol`: km, not kilometres. `hyphen`: a 5-mile walk. */
void show_input(struct call *call, const struct conversion *c, bool symbol);
void show_outputs(struct call *call, const struct conversion *c, bool symbol, bool hyphen);

#endif

#ifndef PIPELINE_TEXT_TEMPLATES_UNITS_H
#define PIPELINE_TEXT_TEMPLATES_UNITS_H

#include "base/str.h"

struct unit {
    const char *code, *symbol, *singular, *plural;
    const char *outputs; /* codes of the units it is shown in beside its own, with blanks between */
    char quantity;       /* of equal ones one can be converted into the other */
    double scale;        /* a size in base units is (value - offset) x scale; below 0: -scale / value, as in mpg */
    double offset;
};

const struct unit *unit_find(struct str code);
/* All of them, for the test. */
const struct unit *unit_table(size_t *count);

#endif

#pragma once

#include "base/str.h"

struct unit {
    const char *code, *symbol, *singular, *plural;
    const char *outputs; /* codes of the units it is shown in beside its own, with blanks between */
    char quantity;       /* of equal ones one can be converted into the other */
    double scale;        /* a size in base units is (value - offset) x scale; below 0: -scale / value, as in mpg */
    double offset;
};

extern const struct unit units[]; /* data/units.txt, sorted bytewise by code; made by cmake/tables.cmake */
extern const size_t unit_count;
const struct unit *unit_find(struct str code);

/* A unit as a language with letters of its own writes it. */
struct local_unit {
    const char *language, *symbol, *shown; /* symbol: of struct unit, and a code of it too */
};
/* What the symbol is on wikis of that language, and the other way round; NULL: there is none of its own. In `shown` a
 * straight quotation mark is as good as the Hebrew one. */
const char *local_unit_shown(struct str wiki, const char *symbol);
const struct unit *local_unit_find(struct str wiki, struct str shown);
const struct local_unit *local_unit_table(size_t *count); /* units_local.c */

/* Two values that the row of an option takes, for tests over all rows of a program's table. */
#ifndef TESTS_OPTION_VALUES_H
#define TESTS_OPTION_VALUES_H

#include "base/opts.h"

#include <inttypes.h>
#include <stdio.h>

/* Writes value 0 or 1 of a row that is not a flag into `out`, and returns it. */
static inline const char *option_value(const struct opt_row *row, int i, char out[40])
{
    const uint64_t count = (row->min > 0 ? row->min : 1) + (i == 0 ? 7 : 9);
    const char *second = row->choices ? strchr(row->choices, '|') + 1 : NULL;
    switch (row->type) {
    case OPT_REAL:
    case OPT_MILLIONTHS:
        snprintf(out, 40, "%s", i == 0 ? "0.25" : "0.5");
        break;
    case OPT_COUNT:
    case OPT_COUNT_OR_TIME:
    case OPT_NUMBERS:
    case OPT_SIZE:
        snprintf(out, 40, "%" PRIu64, count);
        break;
    case OPT_DURATION:
        snprintf(out, 40, "%" PRIu64 "s", count);
        break;
    case OPT_CHOICE:
    case OPT_SET:
        if (row->choice)
            snprintf(out, 40, "%s", row->choice((size_t)i).name);
        else
            snprintf(out, 40, "%.*s", (int)strcspn(i == 0 ? row->choices : second, "|"),
                     i == 0 ? row->choices : second);
        break;
    default:
        snprintf(out, 40, "%s", i == 0 ? "a" : "b");
    }
    return out;
}

#endif

/* Two values that the row of an option takes, for tests over all rows of a program's table; and one of these tests. */
#pragma once

#include "base/opts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

/* The first option of a verb that is not noted, alone, where it is given twice; NULL: there is none. `settings`:
 * [bytes], for opts_parse. */
static inline const char *option_not_noted(const struct opt_program *program, const char *verb, void *settings,
                                           size_t bytes)
{
    for (const struct opt_row *row = program->rows; row->name; row++) {
        char name[64], value[40];
        char *argv[] = {(char *)(uintptr_t)program->name, (char *)(uintptr_t)verb, name, value, name, value, NULL};
        struct opt_result parsed;
        struct error err;
        size_t at = 0;
        if (row->type == OPT_FLAG || row->type == OPT_PATHS || !opt_row_is_for(row, &(struct opt_verb){.name = verb}))
            continue;
        snprintf(name, sizeof name, "--%s", row->name);
        option_value(row, 0, value);
        memset(settings, 0, bytes);
        if (opts_parse(program, 6, argv, settings, &parsed, &err) < 0)
            return row->name;
        const char *noted = opts_repeated(program, &parsed, &at);
        const bool right = noted && strcmp(noted, row->name) == 0 && !opts_repeated(program, &parsed, &at);
        opts_release(program, settings, &parsed);
        if (!right)
            return row->name;
    }
    return NULL;
}

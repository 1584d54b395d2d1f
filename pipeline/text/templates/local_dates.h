/* How languages other than English write a date (dates_local.c). */
#pragma once

#include <stddef.h>

struct local_date {
    const char *language;
    const char *pattern;    /* $d, $m, $n, $y: the day, the name of the month and its number, the year */
    const char *months[12]; /* as they stand beside a day */
};

extern const struct local_date local_dates[]; /* sorted bytewise by language */
extern const size_t local_date_count;

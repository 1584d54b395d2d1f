/* Dates of {{#time:…}}: formats a time, in English.
 *
 * Source: the help page of MediaWiki's extension ParserFunctions. Letters: Y y n m M F xg j d z W N w D l a A g h G H i
 * s L t U c; "…" and \ quote characters; xn before a number has no effect. No clock: "now" is the time passed in. Days
 * before 1583 are in the Gregorian calendar too. */
#ifndef PIPELINE_TEXT_TEMPLATES_TIME_FORMAT_H
#define PIPELINE_TEXT_TEMPLATES_TIME_FORMAT_H

#include "base/str.h"

#include <stdbool.h>

struct moment {
    int year, month, day, hour, minute, second;
};

extern const char *const month_names[12]; /* in English */

/* "2026-02-03T04:05:06Z", "2026-02-03 04:05", "3 February 2026", "February 3, 2026", "Feb 2026", "2026"; missing parts
 * are the first day, or midnight. "", "now" and "today" are `now`. False: none of these. */
bool moment_read(struct str text, const struct moment *now, struct moment *moment);

/* Appends the text; false if the format contains an unknown letter. `names`: names of days and months may be shown,
 * which are English. */
bool moment_format(const struct moment *moment, struct str format, bool names, struct buf *out);

#endif

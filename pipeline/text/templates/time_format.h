/* Dates of {{#time:…}}. Comes in: a format, and a time. Goes out: its text in English.
 *
 * Source: the help page of MediaWiki's extension ParserFunctions. Letters: Y y n m M F xg j d z W N w D l a A g h G H i
 * s L t U c; "…" and \ take characters as they are; xn before a number means what the number does. No clock: "now" is
 * the time that is given. Days before 1583 are those of the Gregorian calendar too. */
#ifndef PIPELINE_TEXT_TEMPLATES_TIME_FORMAT_H
#define PIPELINE_TEXT_TEMPLATES_TIME_FORMAT_H

#include "base/str.h"

#include <stdbool.h>

struct moment {
    int year, month, day, hour, minute, second;
};

extern const char *const month_names[12]; /* in English */

/* "2026-02-03T04:05:06Z", "2026-02-03 04:05", "3 February 2026", "February 3, 2026", "Feb 2026", "2026"; what is not
 * said is the first day, or midnight. "", "now" and "today" are `now`. False: it is none of these. */
bool moment_read(struct str text, const struct moment *now, struct moment *moment);

/* Appends the text; false where the format holds a letter that we do not know. `names`: may names of days and months be
 * shown? Then they are English. */
bool moment_format(const struct moment *moment, struct str format, bool names, struct buf *out);

#endif

/* Dates of {{#time:…}}: formats a time, in the words of a language.
 *
 * Source: the help page of MediaWiki's extension ParserFunctions. Letters: Y y n m M F xg j d z W N w D l a A g h G H i
 * s L t U c o r e T O P Z I, xkY, xoY; "…" and \ quote characters; xr before a number makes it Roman, xn gives it
 * European digits. No clock: "now" is the time passed in, in UTC. Days before 1583 are Gregorian too. */
#pragma once

#include "base/str.h"
#include "pipeline/text/words/magic_words.h"

#include <stdbool.h>

struct moment {
    int year, month, day, hour, minute, second;
};

extern const char *const month_names[12]; /* in English */

/* What months and days are called in a language of MediaWiki: names with a | between them, weeks begin on Sunday. */
struct time_names {
    const char *code;
    const char *months, *genitives, *short_months, *days, *short_days;
};
extern const struct time_names time_names[]; /* by code; made by scripts/make_time_names.py */
extern const size_t time_names_count;

/* The names of the language, of its first fallback that has some, or English ones. */
const struct time_names *time_names_find(const struct magic *magic);

/* "2026-02-03T04:05:06Z", "2026-02-03 04:05", "2026/02/03", "20260203", "20260203040506", "3.2.2026", "2/3/2026" (the
 * month first), "3 February 2026", "February 3, 2026", "Feb 2026"; "3 May", "May", "2026", "4:05". Missing parts are
 * those of now; else the first day, and midnight. "", "now", "today", "yesterday" and "tomorrow" are of `now`. Steps
 * may follow, or stand alone: "+3 days -1 month", "next year". "@86400" are seconds. False: none of these. */
bool moment_read(struct str text, const struct moment *now, struct moment *moment);

/* Appends the text; false if the format asks for another calendar. `zero`: code point of the language's digit 0. */
bool moment_format(const struct moment *moment, struct str format, const struct time_names *names, uint32_t zero,
                   struct buf *out);

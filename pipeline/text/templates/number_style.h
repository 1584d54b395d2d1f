/* How the wikis write numbers: MediaWiki's separators, grouping and digits by language. Intermediate numbers are plain,
 * as numbers.h reads and writes them: "12,345.6". */
#pragma once

#include "pipeline/text/templates/numbers.h"

struct number_style {
    const char *codes;           /* of the languages, commas between */
    const char *decimal, *group; /* marks; "" as a group: none */
    unsigned least;              /* numbers with at least this many digits before the decimal mark are grouped */
    unsigned group_size;         /* size of the groups before the last one of three digits: 12,34,567 has twos */
    uint32_t zero;               /* code point of the digit 0 */
};

extern const struct number_style number_styles[]; /* data/number_styles.txt; the first: English */
extern const size_t number_style_count;

/* The style of a code, or of its part before '-'; English style if there is none. Never NULL. */
const struct number_style *number_style_find(struct str code);
/* "12,345.6" → "12.345,6" */
struct str number_localise(const struct number_style *style, struct str plain, char out[NUMBER_BYTES_MAX]);
/* A number typed on such a wiki, "12.345,6" or "12345.6" → "12345.6"; unchanged if it is not a number. */
struct str number_plain(const struct number_style *style, struct str typed, char out[NUMBER_BYTES_MAX]);

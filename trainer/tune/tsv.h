/* Tables of text as the field publishes them: a row is a line, tabs separate columns. Quotes, backslashes and blanks
 * are text. A UTF-8 mark at the start of the file and a CR before the LF of a line are dropped.
 *
 *     struct tsv tsv = tsv_begin(text);
 *     while (tsv_next(&tsv)) … tsv.columns[3] …
 *
 * Pure: the text must outlive it. */
#ifndef TRAINER_TUNE_TSV_H
#define TRAINER_TUNE_TSV_H

#include "base/str.h"

#include <stdint.h>

#define TSV_COLUMNS_MAX 64 /* later columns are dropped, except the last one of the row */

struct tsv {
    struct str rest; /* after the current row */
    uint64_t line;   /* of the row, from 1 */
    struct str columns[TSV_COLUMNS_MAX];
    uint32_t count;  /* columns of the row, dropped ones included */
    struct str last; /* the last one */
};

struct tsv tsv_begin(struct str text);
/* The next row; false after the last one. */
bool tsv_next(struct tsv *tsv);

#endif

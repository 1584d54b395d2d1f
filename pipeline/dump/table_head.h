/* Recognises a table (CSV, TSV) by its header and its first rows. Pure. */
#pragma once

#include "base/str.h"

#include <stdbool.h>

struct table_head {
    bool header;             /* it is a table with a header */
    char separator;          /* ',', ';', '|' or a tab */
    bool quotes;             /* fields may be quoted: of tabs only if the header is, or if the rows fit only then */
    bool stated;             /* a line "sep=;", as Excel takes it, precedes the header */
    size_t columns, longest; /* without a header: of rows that have as many fields, and quoted ones; 0: no table */
};

/* `text`: the beginning of a file, without a byte order mark and blanks around it. The first record must be names.
 * One-word names are enough if the second record has as many fields, or they are quoted, or every row has a separator
 * that no blank follows. Others ("Review text") must be short, all different and without a full stop at their end, and
 * the rows must look different: all as long, no name among the values of its column, and a column with far longer
 * values. A name may be empty, as that of pandas' index is. */
struct table_head table_head(struct str text);

/* Formats whose documents do not stand in lines, read as JSON lines: tables, JSON arrays, web archives of text. A
 * converter is a row of converters[] (converters.c). The result is read like the text of a compressed file. */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "pipeline/dump/table_head.h"
#include "pipeline/dump/unpack.h"

#include <stddef.h>
#include <stdint.h>

struct convert;

struct converter {
    const char *called; /* "CSV": of an input, in the line about it */
    const char *name;   /* with its article; for messages */
    const char *key;    /* "--text-key COLUMN", or "": the text stands under "text" */
    /* `head` is the beginning of the text, without a byte order mark and blanks around it. */
    bool (*recognise)(struct str head);
    /* Takes the next bytes, and all; appends to the output. At the end `end` completes it. ERR_INPUT with the byte. */
    int (*feed)(struct convert *convert, struct str in, struct error *err);
    int (*end)(struct convert *convert, struct error *err);
};

/* How one text is converted. */
struct conversion {
    const struct converter *converter; /* NULL: not at all */
    struct table_head table;           /* if it is one */
    const char *mark;                  /* the line between texts, if it has one */
    size_t step;                       /* bytes to take at a time, for tests; 0: the usual number */
};

/* Row i of the table; NULL after the last. */
const struct converter *converter_at(size_t i);

/* The conversion of a text by its beginning, as for recognise. */
struct conversion conversion_find(struct str head);
/* What the converted text is called: "CSV", or "TSV" where tabs divide it. */
const char *conversion_called(const struct conversion *conversion);

/* Converts what `next` gives, after `start` (copied). */
struct convert *convert_open(const struct conversion *conversion, const char *name, struct str start,
                             next_bytes_fn *next, void *context);
int64_t convert_read(struct convert *convert, void *out, size_t bytes, struct error *err);
void convert_close(struct convert *convert); /* NULL is fine */

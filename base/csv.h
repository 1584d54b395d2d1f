/* Tables as text, by RFC 4180 with any separator: the one reader of both programs. A record is a line, but quotation
 * marks around a field may hold line breaks and separators, and two of them inside are one. Lines end in LF or CR LF;
 * blank ones between records are skipped.
 *
 *     struct csv csv = {.separator = ';', .quotes = true};
 *     csv_byte(&csv, &calls, context, byte) … csv_end(&csv, &calls, context) */
#pragma once

#include <stdbool.h>

enum csv_state { CSV_FIELD, CSV_PLAIN, CSV_QUOTED, CSV_AFTER_QUOTE };

struct csv {
    char separator;
    bool quotes; /* false: quotation marks are text, as in tables whose fields hold no separator (TSV) */
    /* Zeroed at the beginning of a table. */
    enum csv_state state;
    bool in_record, cr; /* a record is open; a CR came before */
};

/* What a table consists of, in order: for each record { begin byte… end }… record. */
struct csv_calls {
    void (*begin)(void *context);           /* of a field */
    void (*byte)(void *context, char byte); /* of its text */
    void (*end)(void *context);
    void (*record)(void *context); /* the end of a record */
};

static inline void csv_close_field(struct csv *csv, const struct csv_calls *calls, void *context)
{
    calls->end(context);
    csv->state = CSV_FIELD;
}

static inline void csv_close_record(struct csv *csv, const struct csv_calls *calls, void *context)
{
    csv_close_field(csv, calls, context);
    calls->record(context);
    csv->in_record = false;
}

/* False: a byte follows the closing quotation mark of a field, which is then part of it. */
static inline bool csv_byte(struct csv *csv, const struct csv_calls *calls, void *context, char byte)
{
    const bool inside = csv->state == CSV_QUOTED;
    if (csv->cr && !inside && byte != '\n')
        calls->byte(context, '\r');
    csv->cr = false;
    if (!csv->in_record && (byte == '\n' || byte == '\r')) /* a blank line */
        return true;
    if (csv->state == CSV_FIELD) {
        calls->begin(context);
        csv->in_record = true;
        csv->state = csv->quotes && byte == '"' ? CSV_QUOTED : CSV_PLAIN;
        if (csv->state == CSV_QUOTED)
            return true;
    }
    if (inside) {
        if (byte == '"')
            csv->state = CSV_AFTER_QUOTE;
        else
            calls->byte(context, byte);
    } else if (byte == csv->separator) {
        csv_close_field(csv, calls, context);
    } else if (byte == '\n') {
        csv_close_record(csv, calls, context);
    } else if (byte == '\r') {
        csv->cr = true;
    } else {
        const bool after = csv->state == CSV_AFTER_QUOTE;
        csv->state = after && byte == '"' ? CSV_QUOTED : CSV_PLAIN;
        calls->byte(context, byte);
        return !after || byte == '"';
    }
    return true;
}

/* The end of the table. False: a quotation mark is not closed. */
static inline bool csv_end(struct csv *csv, const struct csv_calls *calls, void *context)
{
    if (csv->state == CSV_QUOTED)
        return false;
    if (csv->in_record && csv->state == CSV_FIELD) /* the separator was the last byte */
        calls->begin(context);
    if (csv->in_record)
        csv_close_record(csv, calls, context);
    return true;
}

/* Tables of the user: CSV (base/csv.h; comma, semicolon, tab or bar), or JSON lines, whose columns are the keys of the
 * first object. The first record of a CSV has the names of the columns. Read once, from beginning to end; a file or
 * "-", plain or packed by bzip2.
 *
 *     table_open → { table_column } → table_next … → table_close
 */
#pragma once

#include "base/csv.h"
#include "trainer/data/input.h"

#define TABLE_RECORD_BYTES_MAX (16u << 20)
#define TABLE_COLUMNS_MAX      4096u

struct table_field {
    size_t from, to; /* in `cells` */
};

struct table {
    const char *path; /* borrowed */
    bool json;
    char separator;    /* of a CSV; 0: it has one column */
    uint64_t line;     /* where the record begins, from 1 */
    struct str raw;    /* the record as it is in the file, without the end of its last line */
    const char *end;   /* "\n" or "\r\n": how lines end */
    bool mark;         /* the file begins with a UTF-8 mark */
    struct buf header; /* the first record of a CSV, like raw; empty: there is none */
    char **names;      /* [columns] */
    size_t columns;    /* of every row; of table_open_rows those of the last one that was read */
    struct str
        *fields; /* [columns] of the record, UTF-8, valid until the next call; JSON: "" where the key is missing */

    struct input in;
    struct csv csv;
    struct str rest;     /* read, and not taken yet */
    uint64_t next_line;  /* of rest.data[0] */
    uint64_t field_line; /* where the current field begins */
    bool loose;          /* table_open_rows */
    struct buf bytes, cells;
    struct table_field *ends; /* [field_room] */
    size_t field_count, field_room;
    bool whole, held; /* the record is complete; table_next has not given it yet */
};

/* Opens the table and reads the names of its columns. The caller calls table_close, on error too. ERR_INPUT: it is
 * empty, or no table; ERR_UNSAFE: as input_next, or a form that is not read, with the command that converts it. */
int table_open(struct table *table, const char *path, struct error *err);
/* Reads a record: 1, or 0 after the last. ERR_INPUT names the line: other columns than the header has, a quotation mark
 * that is not closed, a line that is not a JSON object. */
int table_next(struct table *table, struct error *err);
/* Opens a table as the field publishes them: tabs separate columns, quotation marks are text, the first record is a row
 * like others, and rows may have any number of columns. It has no names. */
int table_open_rows(struct table *table, const char *path, struct error *err);
/* After table_open of a CSV without names: its first record is a row, and the columns are called 1, 2, 3, … */
void table_without_names(struct table *table);
void table_close(struct table *table);

/* The place of a column; ERR_USAGE names the nearest column and all of them. `option`: "label", for the message. */
int table_column(const struct table *table, const char *option, const char *name, size_t *place, struct error *err);
/* "a, b, c", at most about 200 bytes; the caller mem_free's it. */
char *table_names(const struct table *table);

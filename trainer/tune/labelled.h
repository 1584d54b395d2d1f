/* A user's table of texts with labels, as samples: what classify trains on and what it is scored on. */
#pragma once

#include "trainer/tune/class_task.h"
#include "trainer/tune/columns.h"

/* The rows of one split; zeroed it is ready. */
struct labelled {
    struct samples samples;      /* labels: class, or the bits of a float */
    bool pairs;                  /* of two texts */
    uint64_t empty;              /* rows without text, which are kept */
    uint64_t unknown;            /* rows whose label the model does not have, which are left out */
    char first[LABEL_NAME_SIZE]; /* one of these labels */
    /* By row, until labelled_resolve: its labels, each ended by a NUL, from name_at to the next row's */
    struct buf names;
    size_t *name_at;
    size_t name_room;
    bool several;    /* labels in a row */
    uint64_t *texts; /* a hash of each row's texts, in the order of rows */
    size_t text_room;
};

struct labelled_options {
    const char *path;
    struct column_names columns;
    bool numbers; /* labels are numbers */
    bool several; /* cells hold any number of labels, until labelled_split in one text */
    bool quiet;   /* which columns were guessed is not said */
    const struct text *text;
    uint32_t length;
};

/* Reads a table into `rows`, and every tenth text, by its hash, into `held` unless that is NULL. The head is
 * HEAD_CLASS. Labels of classes are names until labelled_resolve. ERR_INPUT: a label
 * is empty, too long, or should be a number and is none; there are no rows. */
int labelled_read(const struct labelled_options *options, struct labelled *rows, struct labelled *held,
                  struct error *err);
/* The separator of cells of several labels: that of ; | and , by which they have the fewest different labels; ';' where
 * none occurs. */
char labelled_separator(const struct labelled *rows);
/* Cuts these cells into labels; an array of JSON has a label in each string. ERR_INPUT, naming `path`: one is too
 * long. */
int labelled_split(struct labelled *rows, char separator, const char *path, struct error *err);
/* The labels of such a cell, whatever its separator: bit i stands for names[i]. False: it has others, or
 * there are more than BITS_LABELS names. */
bool labelled_bits(struct str cell, const char *const *names, size_t count, uint32_t *bits);

/* The distinct labels of the rows in bytewise order, and how often each occurs; the caller mem_free's both arrays. The
 * names point into rows->names. */
size_t labelled_names(const struct labelled *rows, const char ***names, uint64_t **counts);
/* Makes numbers of the labels, bits if there are several; rows with labels that are not among the names are taken out
 * and counted. */
void labelled_resolve(struct labelled *rows, const char *const *names, size_t count);
/* How many of the texts of `some` are in `all`. */
uint64_t labelled_shared(const struct labelled *some, const struct labelled *all);
void labelled_release(struct labelled *rows);

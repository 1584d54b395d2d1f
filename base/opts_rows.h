/* Inside base/opts*.c only: what parsing, values and documents of the options share. */
#pragma once

#include "base/opts.h"

#define OPT_MILLION 1000000u

/* The row's field in the settings. Callers that got const settings must not write to it. */
static inline void *opt_field(const struct opt_row *row, const void *settings)
{
    return (char *)(uintptr_t)settings + row->field;
}

/* opts.c */
bool opt_listed(const char *list, struct str word); /* whether the word is in " a b c "; false for NULL */

/* opts_value.c: text → field */
int opt_value_read(const struct opt_row *row, const char *text, void *settings, struct error *err);
void opt_value_default(const struct opt_row *row, void *settings);
struct opt_paths *opt_paths_of(const struct opt_row *row, void *settings);
void opt_paths_add(struct opt_paths *paths, const char *item);
/* The i-th name among the row's choices; size 0 and data NULL after the last. */
struct str opt_choice_name(const struct opt_row *row, size_t i);
/* The value of the field of an OPT_CHOICE for its i-th name. */
int opt_choice_value(const struct opt_row *row, size_t i);
/* Sets the field of an OPT_CHOICE by a name; false: there is none of that name. */
bool opt_choice_find(const struct opt_row *row, struct str name, int *field);
/* All names, with `between` between them. */
void opt_add_choices(const struct opt_row *row, const char *between, struct buf *out);

/* opts_help.c */
void opt_help_program(const struct opt_program *program, bool in_short, struct buf *out);
void opt_help_verb(const struct opt_program *program, const struct opt_verb *verb, struct buf *out);
/* The text after the option's name: " FILE", " a|b|c", "" for a flag. */
void opt_value_name(const struct opt_row *row, struct buf *out);
/* The option's sentence; the choices, unless the value's name lists them; what each means; and the default. */
void opt_help_text(const struct opt_row *row, struct buf *out);

/* The value of a row that is neither a text nor a list of paths, as one would type it. */
void opt_value_text(const struct opt_row *row, const void *field, struct buf *out);

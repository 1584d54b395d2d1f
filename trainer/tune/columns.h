/* Which columns of a user's table have the texts and the label: those that options name, else the only sensible
 * choice. */
#pragma once

#include "trainer/tune/user_table.h"

#define COLUMN_NONE SIZE_MAX

/* Names as given, or NULL. */
struct column_names {
    const char *text, *text2, *label;
};

struct columns {
    size_t text, text2, label; /* COLUMN_NONE: there is none */
    bool guessed;              /* one of them */
};

/* Chooses. `labelled`: a label is needed; otherwise it may be missing, also one that is named. ERR_USAGE: a column that
 * does not exist, with the nearest; or several could be meant. */
int columns_choose(const struct table *table, const struct column_names *names, bool labelled, struct columns *columns,
                   struct error *err);
/* ERR_USAGE: the table does not say which column has `what`; the hint names the option. */
int columns_ask(const struct table *table, const char *option, const char *what, struct error *err);
/* Says which were guessed. */
void columns_say(const struct table *table, const struct columns *columns);

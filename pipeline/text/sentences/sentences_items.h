/* A list within one line: "1) … 2) … 3) …", "a. … b. …", "(i) … (ii) …", "• … • …". Splits a line into its items, or
 * gives the line itself if it is not a list.
 *
 * A line is a list if it begins with a number, a small Roman number or a small letter, then a bracket or a full stop,
 * and the next of them follows in the same form, after a blank but not after a comma or a colon or within brackets.
 * After "1." and "a." an item begins with a capital. Languages that write ordinals with a full stop have no lists of
 * the form "1. … 2. …".
 *
 * Linear: the search for each next number starts at its predecessor, and only the last number may be missing. */
#pragma once

#include "pipeline/text/words/languages.h"

#include <stdbool.h>

struct items {
    struct str rest;
    enum items_kind { ITEMS_NONE, ITEMS_NUMBERS, ITEMS_ROMANS, ITEMS_LETTERS, ITEMS_BULLETS } kind;
    const char *letters; /* those that follow, in their order */
    unsigned long number;
    bool opens;      /* "(1)" */
    char closing[4]; /* ")", ".", ".)" */
    struct str bullet;
};

struct items items_begin(const struct language *language, struct str line);
/* False: there are no further items. */
bool items_next(struct items *items, struct str *item);

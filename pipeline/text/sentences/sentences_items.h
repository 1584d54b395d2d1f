/* A list within one line: "1) … 2) … 3) …", "a. … b. …", "(1) … (2) …", "• … • …". Comes in: a line. Goes out: its
 * items, one after the other; the line itself where it is no list.
 *
 * A line is a list if it begins with a number or a small letter and a bracket or a full stop, and the next number or
 * letter stands in it in the same form, after a blank and not after a comma, a colon or within brackets. After "1." and
 * "a." an item begins with a capital; languages that write ordinals with a full stop have no lists of the form "1. … 2.
 * …".
 *
 * Linear: each next number is looked for from the item on, and only the last one may be missing. */
#ifndef PIPELINE_TEXT_SENTENCES_SENTENCES_ITEMS_H
#define PIPELINE_TEXT_SENTENCES_SENTENCES_ITEMS_H

#include "pipeline/text/words/languages.h"

#include <stdbool.h>

struct items {
    struct str rest;
    enum { ITEMS_NONE, ITEMS_NUMBERS, ITEMS_LETTERS, ITEMS_BULLETS } kind;
    const char *letters; /* those that follow, in their order */
    unsigned long number;
    bool opens;      /* "(1)" */
    char closing[4]; /* ")", ".", ".)" */
    struct str bullet;
};

struct items items_begin(const struct language *language, struct str line);
/* False: there are no more. */
bool items_next(struct items *items, struct str *item);

#endif

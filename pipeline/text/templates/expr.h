/* The arithmetic of {{#expr:…}} and {{#ifexpr:…}}: computes the value of an expression without markup, formatted as
 * MediaWiki does, or an error.
 *
 * Source: the help page of MediaWiki's extension ParserFunctions. Words are read in any case. From the strongest down:
 *
 *     + - (signs), e (powers of ten)
 *     not abs ceil trunc floor exp ln sqrt sin cos tan acos asin atan
 *     ^
 *     * / div mod fmod
 *     + -
 *     round
 *     = != <> < > <= >=
 *     and
 *     or
 *
 * Operators of equal strength are left-associative (2^3^2 = 64); a sign binds more tightly than a power (-2^2 = 4). `e`
 * alone and `pi` are numbers. A comma is an error, as in MediaWiki. Numbers are doubles, written with 14 digits; "mod",
 * "trunc" and comparisons give whole numbers. Halves are rounded away from zero, judged by 15 digits: 1.005 round 2 =
 * 1.01.
 *
 * The work is linear in the bytes, without recursion: at most EXPR_DEPTH_MAX values and operators are on the stacks; a
 * deeper expression is an error. Any thread may call; no state, no locale other than C's. */
#pragma once

#include "base/str.h"

#include <stdbool.h>

#define EXPR_DEPTH_MAX  100u /* MediaWiki's own bound */
#define EXPR_VALUE_SIZE 40u

struct expr {
    const char *error; /* NULL, or what is wrong: static text */
    bool is_empty;     /* no error, but nothing to compute; text is "" then */
    double number;     /* the value; 0 where it is empty or an error */
    char text[EXPR_VALUE_SIZE];
};

struct expr expr_read(struct str text);

/* The condition of {{#ifexpr:…}}: true for a value other than 0. */
bool expr_holds(const struct expr *expr);

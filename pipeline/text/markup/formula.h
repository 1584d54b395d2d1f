#pragma once

#include "base/str.h"

#include <stdbool.h>

struct formula_command {
    const char *name; /* without its backslash */
    enum {
        SHOWS_SIGN,
        SHOWS_NAME,
        SHOWS_BLANK,
        SHOWS_STYLE,
        SHOWS_SIDE,
        SHOWS_ACCENT,
        SHOWS_ROOT,
        SHOWS_FRACTION
    } kind;
    const char *text;
};
extern const struct formula_command formula_commands[]; /* data/formulas.txt, made by cmake/tables.cmake */
extern const size_t formula_command_count;

#define FORMULA_BYTES_MAX 256u /* a longer formula does not read as text */

/* Appends the text of <math>tex</math> if it is a line of letters and signs: x_i \le 2 → "xi ≤ 2", with superscripts
 * and subscripts on the line, as for <sup>. False if it is more than that (sums, matrices, unknown commands); then
 * nothing is appended. */
bool formula_add(struct str tex, struct buf *out);

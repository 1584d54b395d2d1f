#pragma once

#include "base/str.h"

#include <stdbool.h>

#define FORMULA_BYTES_MAX 256u /* a longer formula does not read as text */

/* Appends the text of <math>tex</math> if it is a line of letters and signs: x_i \le 2 → "xi ≤ 2", with superscripts
 * and subscripts on the line, as for <sup>. False if it is more than that (sums, matrices, unknown commands); then
 * nothing is appended. */
bool formula_add(struct str tex, struct buf *out);

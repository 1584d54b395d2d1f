#ifndef PIPELINE_TEXT_MARKUP_FORMULA_H
#define PIPELINE_TEXT_MARKUP_FORMULA_H

#include "base/str.h"

#include <stdbool.h>

#define FORMULA_BYTES_MAX 256u /* a longer formula does not read as text */

/* Appends what <math>tex</math> shows, where that is a line of letters and signs: x_i \le 2 → "xi ≤ 2", raised and
 * lowered signs in the line as they are for <sup>. False where it is more than that (sums, matrices, what we do not
 * know); then nothing is appended. */
bool formula_add(struct str tex, struct buf *out);

#endif

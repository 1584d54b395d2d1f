/* The one lowercase that depends on what stands around it: a capital sigma at the end of a word becomes U+03C2, any
 * other U+03C3 (Unicode, section 3.13, Final_Sigma, as Python's str.lower() has it). Google's program lowers whole
 * words between white space, so what stands after a full stop or a bracket counts; profile hf knows no context. */
#ifndef TOKENIZER_SIGMA_H
#define TOKENIZER_SIGMA_H

#include "base/str.h"
#include "tokenizer/unicode.h"

/* `text` with its capital sigmas lowered; where it has none, `text` itself, else a view into `scratch`. Looks through
 * what is deleted, and not beyond white space or an ideograph. Linear. */
struct str sigma_lower(const struct unicode *unicode, struct str text, struct buf *scratch);

#endif

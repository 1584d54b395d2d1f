/* The only lowercase mapping that depends on context: a capital sigma at the end of a word becomes U+03C2, any other
 * U+03C3 (Unicode, section 3.13, Final_Sigma, as Python's str.lower() has it). Google's program lowers whole words
 * between white space, so what follows a full stop or a bracket counts as well; profile hf ignores the context. */
#ifndef TOKENIZER_SIGMA_H
#define TOKENIZER_SIGMA_H

#include "base/str.h"
#include "tokenizer/unicode.h"

/* `text` with its capital sigmas lowered: `text` itself where it has none, else a view into `scratch`. Deleted
 * characters are skipped; white space and ideographs end the context. Linear. */
struct str sigma_lower(const struct unicode *unicode, struct str text, struct buf *scratch);

#endif

/* Words of running text, for bounds and figures: runs between blanks are words, and so is each ideograph or kana. */
#pragma once

#include "base/str.h"

/* The words of the text, counted up to `most`. */
uint64_t words_count(struct str text, uint64_t most);

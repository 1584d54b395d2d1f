/* The text of dsdata demo: short stories, put together from the sets and sentences of data/demo.txt. */
#pragma once

#include "base/str.h"
#include "pipeline/text/words/word_lists.h"

#include <stdint.h>

extern const struct words demo_lines; /* of data/demo.txt, in its order */

/* Appends story `number`, which depends on its number only, and a line end. False: data/demo.txt lacks a set or a word
 * that it names (a test writes enough stories to meet every sentence). */
bool demo_story(struct buf *out, uint32_t number);

/* The text of dsdata demo: short stories, put together from the sets and sentences of data/demo.txt. */
#ifndef PIPELINE_VERBS_DEMO_TEXT_H
#define PIPELINE_VERBS_DEMO_TEXT_H

#include "base/str.h"
#include "pipeline/text/words/word_lists.h"

#include <stdint.h>

extern const struct words demo_lines; /* of data/demo.txt, in its order */

/* Appends story `number` and a line end. It depends on its number only. False: data/demo.txt has no set of that name, or
 * no such word (a test writes enough stories to meet every sentence). */
bool demo_story(struct buf *out, uint32_t number);

#endif

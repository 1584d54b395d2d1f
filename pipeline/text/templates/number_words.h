/* Whole numbers in English words: 42 → forty-two. */
#ifndef PIPELINE_TEXT_TEMPLATES_NUMBER_WORDS_H
#define PIPELINE_TEXT_TEMPLATES_NUMBER_WORDS_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define NUMBER_WORDS_MAX 999999999999u /* larger ones have no words here */

/* Appends the words of number, at most NUMBER_WORDS_MAX. `with_and`: a hundred and five, else: one hundred five. */
void number_words_add(uint64_t number, bool with_and, struct buf *out);

#endif

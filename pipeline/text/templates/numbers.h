/* Numbers as English pages write them: 12345.60 → 12,345.60, -1 → −1. */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* True for a plain decimal number (a sign, digits with commas, a fraction). *value: its value; *precision: digits after
 * the point, or minus the number of zeros at the end of a whole number: 1300 → −2. */
bool number_read(struct str text, double *value, int *precision);

#define NUMBER_BYTES_MAX 96u
/* The number as typed, with a comma every three digits. */
struct str number_group(struct str digits, char out[NUMBER_BYTES_MAX]);
/* Rounded to `precision` digits after the point (before it if negative: −2 is hundreds), grouped. */
struct str number_format(double value, int precision, char out[NUMBER_BYTES_MAX]);

/* Whole numbers in English words: 42 → forty-two. */
#define NUMBER_WORDS_MAX 999999999999u /* larger ones have no words here */

/* Appends the words of number, at most NUMBER_WORDS_MAX. `with_and`: a hundred and five, else: one hundred five. */
void number_words_add(uint64_t number, bool with_and, struct buf *out);

/* Numbers as English pages write them: 12345.60 → 12,345.60, -1 → −1. */
#ifndef PIPELINE_TEXT_TEMPLATES_NUMBERS_H
#define PIPELINE_TEXT_TEMPLATES_NUMBERS_H

#include "base/str.h"

#include <stdbool.h>

/* Is it a plain decimal number (a sign, digits with commas, a fraction)? *value: its value; *precision: digits after
 * the point, or minus the number of zeros at the end of a whole number: 1300 → −2. */
bool number_read(struct str text, double *value, int *precision);

#define NUMBER_BYTES_MAX 96u
/* The number as typed, with a comma every three digits. */
struct str number_group(struct str digits, char out[NUMBER_BYTES_MAX]);
/* Rounded to `precision` digits after the point (before it if negative: −2 is hundreds), grouped. */
struct str number_format(double value, int precision, char out[NUMBER_BYTES_MAX]);

#endif

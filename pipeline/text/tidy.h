/* Mends the text around what was removed: "the lake (GAP; GAP) is" → "the lake is", "At GAP, it" → "At, it". Only
 * blanks, commas, semicolons and empty brackets next to a gap are touched: what a person typed stays as it is. */
#ifndef PIPELINE_TEXT_TIDY_H
#define PIPELINE_TEXT_TIDY_H

#include <stddef.h>
#include <stdint.h>

/* Stands in a paragraph where something was removed. No XML text can hold this byte. */
#define GAP '\x01'

/* Removes the gaps of text[0..size) in place and returns the new size. Reads every byte a bounded number of times; adds
 * the bytes read to *steps. */
size_t tidy(char *text, size_t size, uint64_t *steps);

#endif

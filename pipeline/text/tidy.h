/* Mends the text around what was removed: "the lake (GAP; GAP) is" → "the lake is", "At GAP, it" → "At, it". Only
 * blanks, commas, semicolons and empty brackets next to a gap are changed; everything else stays as it was typed. */
#ifndef PIPELINE_TEXT_TIDY_H
#define PIPELINE_TEXT_TIDY_H

#include <stddef.h>
#include <stdint.h>

/* Marks a place in a paragraph where something was removed. XML text cannot contain this byte. */
#define GAP '\x01'

/* Removes the gaps of text[0..size) in place and returns the new size. Reads every byte a bounded number of times; adds
 * the bytes read to *steps. */
size_t tidy(char *text, size_t size, uint64_t *steps);

#endif

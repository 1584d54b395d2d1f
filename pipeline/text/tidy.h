/* Mends the text around what was removed: "the lake (GAP; GAP) is" → "the lake is", "At GAP, it" → "At, it". Only
 * blanks, commas, semicolons and empty brackets next to a gap are changed; everything else stays as it was typed. Next
 * to what has no words for a reader either, only blanks and empty brackets are. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Marks a place in a paragraph where something was removed. XML text cannot contain these bytes. */
#define GAP        '\x01' /* words: of a template that the dump lacks, a formula */
#define GAP_SILENT '\x02' /* no words: a note, a comment, a picture */

static inline bool is_gap(char byte)
{
    return byte == GAP || byte == GAP_SILENT;
}

/* Removes the gaps of text[0..size) in place and returns the new size. Reads every byte a bounded number of times; adds
 * the bytes read to *steps. */
size_t tidy(char *text, size_t size, uint64_t *steps);

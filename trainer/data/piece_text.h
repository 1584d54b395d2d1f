/* How lines and pages show a piece inside a text: without the mark that says whether a blank is before it. */
#pragma once

#include <stdbool.h>
#include <string.h>

#define BLANK_MARK "\xC4\xA0" /* "Ġ": of a byte-level BPE, a blank */

/* No blank is before the piece. */
static inline bool piece_goes_on(const char *piece, bool byte_level)
{
    return byte_level ? strncmp(piece, BLANK_MARK, 2) != 0 : strncmp(piece, "##", 2) == 0;
}

/* The piece without its mark, unless it is nothing else. */
static inline const char *piece_bare(const char *piece, bool byte_level)
{
    return piece_goes_on(piece, byte_level) != byte_level && piece[2] ? piece + 2 : piece;
}

/* What a character means for a sentence: whether it ends one, may surround one, or shows that one continues. */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mark {
    MARK_DOT = 1,        /* .  which has other uses too */
    MARK_STRONG = 2,     /* ! ? …  end a sentence if a blank and no lower case follows */
    MARK_WIDE = 4,       /* 。 ؟ ।  end a sentence with or without a blank */
    MARK_OPENS = 8,      /* may precede a sentence: ( " ¿ */
    MARK_CLOSES = 16,    /* may follow its stop: ) " » */
    MARK_GOES_ON = 32,   /* no sentence begins with it: , ) & */
    MARK_DASH = 64,      /* no evidence; what follows it counts */
    MARK_HOLDS = 128,    /* 「 『 （ “  protect what follows from wide stops … */
    MARK_RELEASES = 256, /* … up to 」 』 ） ” */
};

#define MARKS_STOP (MARK_DOT | MARK_STRONG | MARK_WIDE)

/* The marks of a code point, of enum mark. */
unsigned marks_of(uint32_t code_point);

/* The position, from `at` on, of the next character that may be a stop, quote, hold or release; text.size if there is
 * none. */
size_t marks_next(struct str text, size_t at);

/* The code point at `at` and its size, both 0 at the end. */
uint32_t code_point_beyond_ascii(struct str text, size_t at, size_t *size);
static inline uint32_t code_point_at(struct str text, size_t at, size_t *size)
{
    *size = at < text.size;
    if (at < text.size && (unsigned char)text.data[at] >= 0x80)
        return code_point_beyond_ascii(text, at, size);
    return at < text.size ? (unsigned char)text.data[at] : 0;
}

/* The size of the blank at `at`, or before it; 0 if there is none. No-break blanks count. */
size_t wide_blank_at(struct str text, size_t at);
static inline size_t blank_at(struct str text, size_t at)
{
    if (at >= text.size)
        return 0;
    const unsigned char byte = (unsigned char)text.data[at];
    if (byte == 0xC2 || byte == 0xE2 || byte == 0xE3)
        return wide_blank_at(text, at);
    return byte == ' ' || byte == '\t';
}
static inline size_t blank_before(struct str text, size_t at)
{
    for (size_t size = 1; size <= 3 && size <= at; size++)
        if (blank_at((struct str){text.data, at}, at - size) == size)
            return size;
    return 0;
}

bool is_lower(uint32_t code_point);
bool is_upper(uint32_t code_point);

/* Verbs of saying, by which a sentence goes on after a quotation that ends with a mark: "…!" उसने कहा। Only for scripts
 * without case; elsewhere a small letter shows it. */

/* `text` follows a quotation, from its first word to the end of the line. True if that word is a verb of saying, or if
 * a clause of a few words ends with one, before a full stop: (Ram) said. One that goes on to say what ("said that …",
 * "said: …") is a sentence of its own, and so is "Nobody answered." `is_whole`: the sentence begins with the quotation;
 * where a verb precedes it, only the first word counts. */
bool saying_follows(struct str text, bool is_whole);

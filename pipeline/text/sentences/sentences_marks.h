/* What a character is to a sentence: does it end one, may it stand around one, does it show that one goes on? */
#ifndef PIPELINE_TEXT_SENTENCES_SENTENCES_MARKS_H
#define PIPELINE_TEXT_SENTENCES_SENTENCES_MARKS_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mark {
    MARK_DOT = 1,        /* .  which ends other things too */
    MARK_STRONG = 2,     /* ! ? …  end a sentence if a blank and no lower case follows */
    MARK_WIDE = 4,       /* 。 ؟ ।  end one, blank or not */
    MARK_OPENS = 8,      /* may stand in front of a sentence: ( " ¿ */
    MARK_CLOSES = 16,    /* may stand after its stop: ) " » */
    MARK_GOES_ON = 32,   /* no sentence begins so: , ) & */
    MARK_DASH = 64,      /* tells nothing; what stands after it does */
    MARK_HOLDS = 128,    /* 「 『 （ “  hold what wide stops would part … */
    MARK_RELEASES = 256, /* … up to 」 』 ） ” */
};

#define MARKS_STOP (MARK_DOT | MARK_STRONG | MARK_WIDE)

/* The marks of a code point, of enum mark. */
unsigned marks_of(uint32_t code_point);

/* Where the next character stands, from `at` on, that may be a stop, quote, hold or release; text.size if none does. */
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

/* Sizes of the blank that stands at `at`, or in front of it; 0 if none does. Those that keep words together count. */
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

static inline bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

#endif

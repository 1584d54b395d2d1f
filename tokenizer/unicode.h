/* What profile `hf` knows of a code point: one record, found by two look-ups. The tables (about 80 kB) are generated:
 * tokenizer/unicode_facts.txt says from which versions of Unicode, scripts/unicode_tables.py writes them. */
#ifndef TOKENIZER_UNICODE_H
#define TOKENIZER_UNICODE_H

#include <stdint.h>

enum letter_kind {
    LETTER_WORD,        /* part of a word */
    LETTER_SPACE,       /* ends a word */
    LETTER_DROP,        /* deleted: what stands on both sides joins */
    LETTER_PUNCTUATION, /* a word of its own */
    LETTER_IDEOGRAPH,   /* a word of its own: Chinese characters */
};

struct letter {
    int32_t lower;               /* lowercase is the code point plus this (U+0130 gets a U+0307 too) */
    uint16_t decomposition;      /* where in unicode_decompositions its full canonical decomposition is */
    uint8_t decomposition_count; /* 0: itself (Hangul syllables: by arithmetic) */
    uint8_t combining_class;     /* canonical combining class */
    uint8_t kind;                /* enum letter_kind */
    uint8_t mark;                /* 1: general category Mn */
};

#define UNICODE_BLOCK 64u /* code points per block */

extern const uint8_t unicode_block_of[0x110000 / UNICODE_BLOCK];
extern const uint16_t unicode_blocks[];
extern const struct letter unicode_letters[];
extern const uint32_t unicode_decompositions[];

/* code_point <= 0x10FFFF */
static inline const struct letter *unicode_letter(uint32_t code_point)
{
    const uint32_t block = unicode_block_of[code_point / UNICODE_BLOCK];
    return &unicode_letters[unicode_blocks[block * UNICODE_BLOCK + code_point % UNICODE_BLOCK]];
}

#endif

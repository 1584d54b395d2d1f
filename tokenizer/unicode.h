/* What a profile knows of a code point: one record, found by two look-ups. Profiles differ in a few hundred code
 * points, so they share blocks and records. The tables (about 160 kB) are generated: tokenizer/unicode_facts*.txt
 * say from which versions of Unicode, scripts/unicode_tables.py writes them. */
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

/* What a letter is for a capital sigma near it (tokenizer/sigma.h). */
enum sigma_context {
    SIGMA_NEITHER,
    SIGMA_CASED,
    SIGMA_IGNORABLE, /* looked through */
};

struct letter {
    int32_t lower;               /* lowercase is the code point plus this (U+0130 gets a U+0307 too) */
    uint16_t decomposition;      /* where in unicode_decompositions its full canonical decomposition is */
    uint8_t decomposition_count; /* 0: itself (Hangul syllables: by arithmetic) */
    uint8_t combining_class;     /* canonical combining class */
    uint8_t kind;                /* enum letter_kind */
    uint8_t mark;                /* 1: general category Mn */
    uint8_t sigma;               /* enum sigma_context */
};

#define UNICODE_BLOCK 64u /* code points per block */

/* A profile: which block stands at each place. */
struct unicode {
    uint16_t block_of[0x110000 / UNICODE_BLOCK];
};

extern const struct unicode unicode_hf, unicode_google;

/* Whose tokenizer to equal. */
enum profile {
    PROFILE_HF,     /* Hugging Face tokenizers 0.23: BertNormalizer, BertPreTokenizer, WordPiece, no added tokens */
    PROFILE_GOOGLE, /* Google's tokenization.py on Python 3.11 (Unicode 14) */
};

static inline const struct unicode *unicode_of(enum profile profile)
{
    return profile == PROFILE_GOOGLE ? &unicode_google : &unicode_hf;
}
extern const uint16_t unicode_blocks[];
extern const struct letter unicode_letters[];
extern const uint32_t unicode_decompositions[];

/* code_point <= 0x10FFFF */
static inline const struct letter *unicode_letter(const struct unicode *unicode, uint32_t code_point)
{
    const uint32_t block = unicode->block_of[code_point / UNICODE_BLOCK];
    return &unicode_letters[unicode_blocks[block * UNICODE_BLOCK + code_point % UNICODE_BLOCK]];
}

#endif

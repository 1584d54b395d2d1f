/* Cuts text into the words of a byte-level BPE, as a pattern says: a regular expression of published tokenizers, here
 * written by hand. All bytes of the text are in exactly one word. What is a letter or a number is from
 * tokenizer/bpe_facts.txt. */
#pragma once

#include "base/str.h"
#include "tokenizer/ascii.h"

#include <stdbool.h>
#include <stdint.h>

enum split_class { SPLIT_OTHER, SPLIT_LETTER, SPLIT_NUMBER, SPLIT_SPACE }; /* \p{L}, \p{N}, \s */
#define SPLIT_CLASS 3u /* of a code point's facts: these bits are its class */
#define SPLIT_WORD  4u /* \w */
#define SPLIT_LOOSE 8u /* NFC may change it, or what is before it */

/* Where the facts change: a code point times 16 plus its facts. */
extern const uint32_t split_changes[];
extern const size_t split_change_count;

/* first followed by second composes to both; in the order of first, then second. */
struct nfc_pair {
    uint32_t first, second, both;
};
extern const struct nfc_pair nfc_pairs[];
extern const size_t nfc_pair_count;

/* The facts of every code point: [0x110000], which the caller frees (mem_free). */
uint8_t *split_facts_open(void);

/* A published pattern. */
struct split_pattern {
    const char *regex;
    bool cl100k;        /* letters take one sign before them, signs the line ends after them; else as GPT-2 */
    bool any_case;      /* 'S is an ending as 's is */
    uint8_t digits_max; /* numbers have this many digits at most; 0: any number */
};

/* The pattern that is written like this in a tokenizer.json, or NULL; NULL gives that of ByteLevel, GPT-2's. */
const struct split_pattern *split_pattern_find(const char *regex);

/* The end of the word at `at`, which is before `end`. The text is well-formed UTF-8. */
const char *split_word(const struct split_pattern *pattern, const uint8_t *facts, const char *at, const char *end);

/* The code point at `at` of well-formed UTF-8, and its bytes in *size. */
static inline uint32_t split_decode(const char *at, unsigned *size)
{
    const unsigned char *const byte = (const unsigned char *)at;
    if (byte[0] < 0x80) {
        *size = 1;
        return byte[0];
    }
    if (byte[0] < 0xE0) {
        *size = 2;
        return (byte[0] & 0x1Fu) << 6 | (byte[1] & 0x3Fu);
    }
    if (byte[0] < 0xF0) {
        *size = 3;
        return (byte[0] & 0x0Fu) << 12 | (byte[1] & 0x3Fu) << 6 | (byte[2] & 0x3Fu);
    }
    *size = 4;
    return (byte[0] & 0x07u) << 18 | (byte[1] & 0x3Fu) << 12 | (byte[2] & 0x3Fu) << 6 | (byte[3] & 0x3Fu);
}

/* Classes of ASCII_BLOCK bytes; bit i stands for byte i. */
struct split_ascii {
    uint64_t letters, numbers, spaces;
    uint64_t blanks, quotes; /* of the spaces, of the signs */
    uint64_t rest;           /* NUL and all above 0x7F */
};

static inline struct split_ascii split_look(const char *block)
{
    struct split_ascii sets = {0};
#ifdef __SSE2__
    for (unsigned i = 0; i < ASCII_BLOCK; i += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(block + i));
        const __m128i blanks = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(' '));
        sets.letters |= ascii_bits(ascii_between(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), 26, 'z')) << i;
        sets.numbers |= ascii_bits(ascii_between(bytes, 10, '9')) << i;
        sets.spaces |= ascii_bits(_mm_or_si128(blanks, ascii_between(bytes, 5, '\r'))) << i;
        sets.blanks |= ascii_bits(blanks) << i;
        sets.quotes |= ascii_bits(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\''))) << i;
        sets.rest |= ascii_bits(_mm_or_si128(bytes, _mm_cmpeq_epi8(bytes, _mm_setzero_si128()))) << i;
    }
#else
    for (unsigned i = 0; i < ASCII_BLOCK; i++) {
        const char byte = block[i], small = (char)(byte | 0x20);
        const uint64_t bit = (uint64_t)1 << i;
        sets.letters |= small >= 'a' && small <= 'z' ? bit : 0;
        sets.numbers |= byte >= '0' && byte <= '9' ? bit : 0;
        sets.spaces |= byte == ' ' || (byte >= '\t' && byte <= '\r') ? bit : 0;
        sets.blanks |= byte == ' ' ? bit : 0;
        sets.quotes |= byte == '\'' ? bit : 0;
        sets.rest |= byte == 0 || (byte & 0x80) ? bit : 0;
    }
#endif
    return sets;
}

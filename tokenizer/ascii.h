/* Classifies 64 bytes of text at once: ASCII letters and digits, punctuation, and bytes that need a closer look. Bit i
 * stands for byte i; a blank is in no set. */
#pragma once

#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define ASCII_BLOCK 64u

struct ascii {
    uint64_t letters; /* 0-9 A-Z a-z */
    uint64_t marks;   /* ! to ~ except letters and digits: punctuation for BERT, each a word of its own */
    uint64_t others;  /* controls (tabs and line ends among them) and all above 0x7E */
};

/* Reference for ascii_look: classifies ASCII_BLOCK bytes one by one. */
static inline struct ascii ascii_look_plain(const char *block)
{
    struct ascii sets = {0};
    for (unsigned i = 0; i < ASCII_BLOCK; i++) {
        const char byte = block[i], small = (char)(byte | 0x20);
        const uint64_t bit = (uint64_t)1 << i;
        if ((byte >= '0' && byte <= '9') || (small >= 'a' && small <= 'z'))
            sets.letters |= bit;
        else if (byte >= '!' && byte <= '~')
            sets.marks |= bit;
        else if (byte != ' ')
            sets.others |= bit;
    }
    return sets;
}

#ifdef __SSE2__
/* For 16 bytes, 0xFF where a byte is one of the `count` that end with `last`. Shifting them so that `last` becomes 127
 * lets one signed compare find them. */
static inline __m128i ascii_between(__m128i bytes, char count, char last)
{
    return _mm_cmpgt_epi8(_mm_add_epi8(bytes, _mm_set1_epi8((char)(127 - last))), _mm_set1_epi8((char)(127 - count)));
}

static inline uint64_t ascii_bits(__m128i bytes)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(bytes);
}

static inline struct ascii ascii_look(const char *block)
{
    uint64_t letters = 0, seen = 0, blanks = 0;
    for (unsigned i = 0; i < ASCII_BLOCK; i += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(block + i));
        const __m128i letter = ascii_between(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), 26, 'z');
        letters |= ascii_bits(_mm_or_si128(letter, ascii_between(bytes, 10, '9'))) << i;
        seen |= ascii_bits(ascii_between(bytes, '~' - '!' + 1, '~')) << i;
        blanks |= ascii_bits(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(' '))) << i;
    }
    return (struct ascii){letters, seen & ~letters, ~(seen | blanks)};
}
#else
#define ascii_look ascii_look_plain
#endif

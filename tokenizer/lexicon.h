/* The words that a vocabulary is learned from, as rows of small numbers: each letter is its rank in the alphabet by
 * code point. Words of one letter are left out, since they cannot be split. */
#pragma once

#include "tokenizer/unicode.h"
#include "tokenizer/word_counts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALPHABET_MAX 1000u /* the most that --limit-alphabet allows */

#define LETTERS_NAMED 8u /* of those left out, the most frequent */

#define LEARNED_LETTERS_MAX 100u                   /* longer words are left out */
#define LEARNED_BYTES_MAX   COUNTED_WORD_BYTES_MAX /* the same where letters are bytes */

struct letter_count {
    uint64_t count;
    uint32_t code_point;
};

struct lexicon {
    uint32_t alphabet[ALPHABET_MAX + 1]; /* code points by rank, ascending; ranks 1 to alphabet_count */
    bool inside[ALPHABET_MAX + 1];       /* may be inside a word (not punctuation, not an ideograph) */
    bool bytes; /* letters are bytes; the alphabet has the letters that stand for them (bpe_letter), none of which is
                 * `inside` */
    size_t alphabet_count;
    size_t alphabet_pieces; /* one per letter, and one more for each that may be inside a word */
    uint16_t *letters;      /* [letter_count] the words one after the other, as ranks, each followed by a 0 */
    size_t letter_count;
    uint32_t *start; /* [word_count] where each word begins in `letters` */
    uint64_t *count; /* [word_count] how often it occurs */
    size_t word_count;
    uint64_t letters_left_out; /* distinct letters that did not fit into the alphabet; the most frequent of them: */
    struct letter_count left_out[LETTERS_NAMED];
    uint64_t words_left_out; /* distinct words with such a letter, too long, or too rare for letters_max */
};

/* The alphabet is the most frequent letters, at most `alphabet_max` (itself at most ALPHABET_MAX). Its pieces take
 * at most half of `pieces_max`, or up to all of it while the alphabet covers less than 99.9 % of the letters of the
 * words. Where the words have more than about `letters_max` letters, the rarest are left out. The result does not
 * depend on the order of the counts. */
void lexicon_init(struct lexicon *lexicon, const struct word_counts *counts, const struct unicode *unicode,
                  size_t alphabet_max, size_t pieces_max, size_t letters_max);
/* The same of bytes: the alphabet is all of them. */
void lexicon_init_bytes(struct lexicon *lexicon, const struct word_counts *counts, size_t letters_max);
uint16_t lexicon_rank_of_byte(const struct lexicon *lexicon, unsigned char byte); /* of a lexicon of bytes */
void lexicon_release(struct lexicon *lexicon);

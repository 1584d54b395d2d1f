/* How well a vocabulary does on counted words. */
#pragma once

#include "tokenizer/tokenizer.h"
#include "tokenizer/word_counts.h"

struct coverage {
    uint64_t words;   /* occurrences of words */
    uint64_t whole;   /* of these, words that are one piece */
    uint64_t unknown; /* words that become [UNK] */
    uint64_t pieces;  /* of all words; of an unknown one, 1 */
    uint64_t letters; /* of all words */
    uint64_t foreign; /* of these, letters that are not pieces by themselves */
};

void coverage_measure(const struct vocab *vocab, const struct tokenizer_options *options,
                      const struct word_counts *counts, struct coverage *coverage);

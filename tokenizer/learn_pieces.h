/* What the two learning algorithms share: each gets a lexicon and gives rows of its letters. learn.c writes the
 * specials and the letters, then these rows. */
#pragma once

#include "tokenizer/learn.h"
#include "tokenizer/lexicon.h"

/* A piece of two or more letters. */
struct learned_piece {
    uint64_t count;   /* the count it was chosen for */
    uint32_t example; /* a place in the lexicon's letters where it occurs */
    uint16_t letters; /* how many */
    bool inside;      /* it continues a word ("##") */
};

struct learned {
    struct learned_piece *pieces; /* [count] in the vocabulary's order; the caller frees it */
    size_t count, capacity;
    uint64_t threshold; /* no piece has a lower count */
};

/* Top-down, by a threshold (learn_greedy.c). The most frequent come first; of equal ones, those inside words, then
 * by letters. */
void learn_greedy(const struct lexicon *lexicon, size_t wanted, uint64_t min_frequency, struct learned *learned);

/* Bottom-up, by merging pairs (learn_bpe.c), in the order of the merges. */
void learn_bpe(const struct lexicon *lexicon, size_t wanted, uint64_t min_frequency, struct learned *learned);

void learned_add(struct learned *learned, struct learned_piece piece);

/* All of vocab_learn for a byte-level BPE (learn_bytes.c), in about bytes_max of memory. */
void learn_bytes(const struct word_counts *counts, const struct learn_options *options, size_t bytes_max,
                 struct vocab **vocab, struct learn_report *report);

/* What the two ways of learning have in common: a lexicon comes in, rows of its letters go out. learn.c begins with the
 * specials and the letters and writes the rows after them. */
#ifndef TOKENIZER_LEARN_PIECES_H
#define TOKENIZER_LEARN_PIECES_H

#include "tokenizer/lexicon.h"

/* A piece of two or more letters. */
struct learned_piece {
    uint64_t count;   /* what it was chosen for */
    uint32_t example; /* where in the lexicon's letters it occurs */
    uint8_t letters;  /* how many */
    bool inside;      /* goes on inside a word */
};

struct learned {
    struct learned_piece *pieces; /* [count] in the vocabulary's order; the caller's to free */
    size_t count, capacity;
    uint64_t threshold; /* no piece has a lower count */
};

/* Top-down, by a threshold (learn_greedy.c). Most frequent first; equal ones: inside words first, then by letters. */
void learn_greedy(const struct lexicon *lexicon, size_t wanted, uint64_t min_frequency, struct learned *learned);

/* Bottom-up, by merging pairs (learn_bpe.c). In the order of the merges. */
void learn_bpe(const struct lexicon *lexicon, size_t wanted, uint64_t min_frequency, struct learned *learned);

void learned_add(struct learned *learned, struct learned_piece piece);

#endif

/* Byte pair encoding of a lexicon's words, as Hugging Face's trainers do it. Every word is a row of pieces, at first
 * its letters. The most frequent pair of adjacent pieces is merged everywhere, again and again.
 *
 *     place      0   1   2   3   4            merging  ##a ##t   changes the pairs at the places beside it:
 *     letters    l   a   t   e   0            (l ##a) (##a ##t) (##t ##e)   →   (l ##at) (##at ##e)
 *     pieces     l  ##at     ##e
 *
 * Of equally frequent pairs, the one with the older left piece comes first, then the one with the older right piece.
 * Different merges that give the same letters give one piece. Runs of equal pieces are merged from the left. */
#pragma once

#include "tokenizer/learn_pieces.h"
#include "tokenizer/lexicon.h"
#include "tokenizer/pair_queue.h"

struct made {
    struct learned_piece piece;
    uint64_t occurrences; /* places where it occurs now, weighted by the words' counts */
};

struct merger {
    const struct lexicon *lexicon;
    struct pair_queue queue;
    struct place *places; /* [letter_count] parallel to the lexicon's letters */
    struct made *made;    /* [made_max] pieces by number, from the oldest; number 0 is unused */
    size_t made_count, made_max;
    uint32_t *slots; /* [1 << slot_bits] hash table from letters to numbers of merged pieces; 0 is empty */
    unsigned slot_bits;
};

/* The number of the first merged piece. Numbers before it are letters: 1 to A those of the alphabet and, unless these
 * are bytes, A + 1 to 2 A the same inside words. */
uint32_t merger_first(const struct lexicon *lexicon);

void merger_init(struct merger *merger, const struct lexicon *lexicon, size_t merged_max);
void merger_release(struct merger *merger);

struct merged {
    uint64_t count;
    uint32_t left, right, both; /* numbers of pieces */
};

/* Merges the first pair in order. False: no pair occurs min_frequency times, or there are merged_max pieces. */
bool merger_next(struct merger *merger, uint64_t min_frequency, struct merged *merged);

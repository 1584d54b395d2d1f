/* All pieces that a vocabulary could have, as a tree: a node is a row of letters that occurs at the start of a word, or
 * one that occurs inside words; the parent of a node is its longest proper beginning that is a node.
 *
 *     lexicon   ate rate late     start:  ate, late, rate        inside:  ate, te, e (each from several words)
 *
 * Only rows that are not always followed by the same letter are nodes (the tree is compressed): a beginning that goes
 * on in one way only occurs as often as the node it leads to, and the longer one is always the better piece. So there
 * are at most twice as many nodes as letters in the lexicon, and counting all pieces is one walk over the nodes. */
#ifndef TOKENIZER_CANDIDATES_H
#define TOKENIZER_CANDIDATES_H

#include "tokenizer/lexicon.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PIECE_LETTERS_MAX 50u

struct candidate {
    uint32_t parent;  /* always a later node; the root is its own parent */
    uint32_t example; /* where in the lexicon's letters it occurs */
    uint8_t letters;  /* how many; 0: the root */
    bool inside;      /* goes on inside a word */
};

struct candidates {
    struct candidate *nodes; /* [count] children before parents, the root last */
    size_t count, capacity;
    uint32_t *node_of; /* [lexicon->letter_count] the longest node that occurs there up to the word's end */
};

/* All rows that occur at least `count_min` times, each word as often as it counts. */
void candidates_init(struct candidates *candidates, const struct lexicon *lexicon, uint64_t count_min);
void candidates_release(struct candidates *candidates);

#endif

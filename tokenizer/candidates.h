/* All pieces that a vocabulary could have, as a tree. A node is a row of letters that occurs at the start of a word or
 * inside words; its parent is its longest proper prefix that is a node.
 *
 *     lexicon   ate rate late     start:  ate, late, rate        inside:  ate, te, e (each from several words)
 *
 * Only rows that are followed by more than one letter (or a word's end) are nodes: the tree is compressed. A prefix
 * that continues in one way only occurs as often as the longer row, which is always the better piece. So there are
 * at most twice as many nodes as letters in the lexicon, and one walk over the nodes counts all pieces. */
#pragma once

#include "tokenizer/lexicon.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PIECE_LETTERS_MAX 50u

struct candidate {
    uint32_t parent;  /* always a later node; the root is its own parent */
    uint32_t example; /* a place in the lexicon's letters where it occurs */
    uint8_t letters;  /* how many; 0: the root */
    bool inside;      /* it continues a word ("##") */
};

struct candidates {
    struct candidate *nodes; /* [count] children before parents, the root last */
    size_t count, capacity;
    uint32_t *node_of; /* the longest node that occurs at that place and ends within the word */
};

/* All rows that occur at least `count_min` times. A word counts as often as it occurs. */
void candidates_init(struct candidates *candidates, const struct lexicon *lexicon, uint64_t count_min);
void candidates_release(struct candidates *candidates);

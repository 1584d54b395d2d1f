/* What is wrong with a vocabulary: with the file, and with its pieces for a way of normalising. */
#ifndef TOKENIZER_VOCAB_CHECK_H
#define TOKENIZER_VOCAB_CHECK_H

#include "tokenizer/tokenizer.h"

#define VOCAB_SPECIALS 5

/* Lines are counted from 1. "first" ones hold where their count is not 0. */
struct vocab_defects {
    uint64_t lines;
    uint64_t crlf, first_crlf;             /* lines that end in CR LF: the CR is cut off */
    uint64_t spaced, first_spaced;         /* other white space at a line's end: cut off too */
    uint64_t empty, first_empty;           /* lines of nothing: ids that never come out */
    uint64_t duplicates, first_duplicate;  /* lines equal to a later one: ids that never come out */
    uint64_t ill_formed, first_ill_formed; /* lines that are not UTF-8 */
    bool byte_order_mark;                  /* it belongs to the first piece */
    bool no_final_newline;
    const char *missing[VOCAB_SPECIALS]; /* specials that are not there */
    size_t missing_count;
};

/* Reads the bytes of a vocab.txt, whatever they are. Lines end at LF. */
void vocab_inspect(struct str file, struct vocab_defects *defects);

struct vocab_unreachable {
    uint32_t pieces;      /* judged: all but those of no characters and those in square brackets */
    uint32_t unreachable; /* of these, pieces that no normalised word has */
    uint32_t first;       /* id of the first one */
};

/* Counts the pieces that normalising changes or cuts, which therefore can never come out: capitals where text is
 * lowered, accents where they are stripped, "..." always. */
void vocab_unreachable(const struct vocab *vocab, const struct tokenizer_options *options,
                       struct vocab_unreachable *found);

#endif

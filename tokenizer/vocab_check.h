/* What is wrong with a vocabulary: with the file, and with its pieces under given normalisation options. */
#pragma once

#include "tokenizer/tokenizer.h"

#define VOCAB_SPECIALS 5

/* Lines are counted from 1. Each "first" field is valid where its count is not 0. */
struct vocab_defects {
    uint64_t lines;
    uint64_t crlf, first_crlf;             /* lines that end in CR LF: the CR is trimmed */
    uint64_t spaced, first_spaced;         /* other white space at a line's end: trimmed too */
    uint64_t empty, first_empty;           /* empty lines: no text gives their ids */
    uint64_t duplicates, first_duplicate;  /* lines equal to a later one: no text gives their ids */
    uint64_t ill_formed, first_ill_formed; /* lines that are not UTF-8 */
    bool byte_order_mark;                  /* it belongs to the first piece */
    bool no_final_newline;
    const char *missing[VOCAB_SPECIALS]; /* specials that are missing */
    size_t missing_count;
};

/* Inspects the bytes of a vocab.txt, which may be anything. Lines end at LF. */
void vocab_inspect(struct str file, struct vocab_defects *defects);

struct vocab_unreachable {
    uint32_t pieces; /* pieces judged: all but the empty ones, those in square brackets, and added tokens of a BPE */
    uint32_t unreachable; /* of these, pieces that no normalised word contains */
    uint32_t helped;      /* of these, pieces that come out with the other options */
    uint32_t first;       /* id of the first of these, or of all if there are none */
};

/* Counts the pieces that normalisation changes or cuts, which no text can therefore give: capitals where text is
 * lowered, accents where they are stripped, "..." always. `other` (or NULL) are options that might help. Of a
 * byte-level BPE: pieces that the merges do not make, that are in no single word, or that NFC changes. */
void vocab_unreachable(const struct vocab *vocab, const struct tokenizer_options *options,
                       const struct tokenizer_options *other, struct vocab_unreachable *found);

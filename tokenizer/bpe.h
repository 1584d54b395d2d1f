/* Byte-level BPE: the rules of a tokenizer, and cutting one word by merges. Each byte of a word is a piece at first;
 * then the two neighbours whose merge has the lowest rank (of equal ones the leftmost) become one piece, until no
 * neighbours have a merge (Sennrich et al. 2016; tokenizers' models::BPE). A piece is written with a letter for each
 * byte, as in GPT-2's files: "Ġ" is a blank. */
#pragma once

#include "base/str.h"
#include "tokenizer/ids.h"
#include "tokenizer/bpe_words.h"
#include "tokenizer/vocab.h"

#include <stdbool.h>
#include <stdint.h>

struct bpe_merge {
    uint32_t left, right, both; /* ids; the rank is the place in the list */
};

/* What a file says beside the pieces; vocab->bpe, which vocab_close frees. */
struct bpe_rules {
    const struct split_pattern *pattern;
    bool prefix_space;     /* text that does not begin with a blank gets one */
    bool nfc;              /* text is composed first */
    bool ignore_merges;    /* a word that is a piece is not cut */
    bool fuse_unknown;     /* unknown bytes that follow each other are one piece */
    uint32_t unknown;      /* stands for a byte that has no piece, VOCAB_NONE: it is dropped */
    uint32_t of_byte[256]; /* the piece of each byte, VOCAB_NONE where there is none */
    struct bpe_merge *merges;
    size_t merge_count;
};

void bpe_rules_close(struct bpe_rules *rules); /* NULL is fine */

/* The bytes that a piece stands for, appended to `out`; false, and nothing, where a letter stands for no byte. */
bool bpe_bytes(struct str piece, struct buf *out);
/* The letter of a byte. */
uint32_t bpe_letter(unsigned char byte);

/* The merges as a table: immutable, shared by threads. `rules` and `vocab` are not needed after the call. */
struct bpe *bpe_open(const struct bpe_rules *rules, const struct vocab *vocab);
void bpe_close(struct bpe *bpe);

/* Scratch of one thread for long words; ready when zeroed. */
struct bpe_scratch {
    void *memory;
    size_t capacity; /* bytes */
};
void bpe_scratch_release(struct bpe_scratch *scratch);

/* Appends the ids of a word, not empty. Time n·log n, memory linear. */
void bpe_word(const struct bpe *bpe, struct bpe_scratch *scratch, struct str word, struct ids *out);

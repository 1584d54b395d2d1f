/* Learning a vocabulary from counted words. WordPiece, in one of two ways:
 *
 * greedy, top-down: rows of letters are taken in order of falling length. One that occurs at least `threshold` times
 * becomes a piece, and its occurrences are subtracted from its own prefixes. Then words are cut greedily with the
 * pieces found, and only what begins at such a cut is counted again. The threshold is searched so that the vocabulary
 * gets its size. (After the learner of TensorFlow Text, "WordPiece vocabulary generation"; Google's first learner was
 * never released.)
 *
 * bpe, bottom-up: the most frequent pair of adjacent pieces is merged, again and again (Hugging Face's
 * WordPieceTrainer), until the wanted number of pieces each occur in at least as many places as the last merged pair;
 * these pieces are the vocabulary. Of equally frequent pairs, the one with the older left piece comes first, then the
 * one with the older right piece. The oldest pieces are the letters by code point, those at word starts before the "##"
 * ones.
 *
 * Where the text gives too few such pieces, others that occur min_frequency times fill the vocabulary. Greedy takes
 * rows that lost all counts to longer pieces, the most frequent first; bpe takes the oldest merged pieces.
 *
 * Layout: [PAD] 0, [unused0] to [unused98] 1 to 99, [UNK] 100, [CLS] 101, [SEP] 102, [MASK] 103, further [unusedN]
 * where asked for; then single letters (and "##" letters) by code point; then longer pieces: greedy sorts them by
 * falling frequency, then by bytes; bpe keeps the order of the merges.
 *
 * Byte-level BPE: the words are those of GPT-2's pattern after NFC, without a blank before the text, as in ModernBERT.
 * Pairs of bytes are merged as above, by the same rule for ties, until the vocabulary is full or a pair occurs less
 * than min_frequency times; the bytes count as the oldest pieces, in the order of their letters (bpe_letter). These are
 * the merges of Hugging Face's BpeTrainer. Layout: five specials, the bytes, the pieces in the order of their merges.
 *
 * The result depends on the counts alone. */
#pragma once

#include "base/error.h"
#include "tokenizer/lexicon.h"
#include "tokenizer/vocab.h"
#include "tokenizer/word_counts.h"

#include <stddef.h>
#include <stdint.h>

#define LEARN_SPECIALS    104u /* pieces 0 to 103 */
#define LEARN_SIZE_MIN    200u
#define LEARN_BYTES_MIN   262u /* the same of a byte-level BPE: specials, bytes, one merge */
#define LEARN_COUNT_MIN   2u   /* a row that occurs once becomes no piece */
#define LEARN_LETTERS_MAX ALPHABET_MAX

enum learn_algorithm { LEARN_GREEDY, LEARN_BPE, LEARN_ALGORITHMS };
extern const char *const learn_names[]; /* [LEARN_ALGORITHMS] */

/* What the specials are called. */
enum special_names { NAMES_BERT, NAMES_ROBERTA, SPECIAL_NAMES };
extern const char *const special_names[]; /* [SPECIAL_NAMES] */

struct learn_options {
    enum vocab_kind kind;
    enum special_names names;       /* of a byte-level BPE */
    enum learn_algorithm algorithm; /* of WordPiece, as are unused, limit_alphabet and profile */
    uint32_t vocab_size;            /* LEARN_SIZE_MIN to VOCAB_PIECES_MAX */
    uint32_t unused;                /* further [unusedN], beyond the first 99 */
    uint64_t min_frequency;         /* how often a piece must occur; raised to LEARN_COUNT_MIN */
    uint32_t limit_alphabet;        /* most letters of the alphabet, at most LEARN_LETTERS_MAX; 0: LEARN_LETTERS_MAX */
    enum profile profile;           /* says which letters may stand inside a word */
    size_t bytes_max; /* approximate bound of memory besides the counts; 0: 256 MiB. The rarest words are left out to
                       * keep it */
};

/* ERR_USAGE: bytes, `unused` pieces and the specials fill all of vocab_size (>= LEARN_SIZE_MIN). */
int learn_check_room(enum vocab_kind kind, uint32_t vocab_size, uint32_t unused, struct error *err);

/* A byte-level BPE without merges, for counting its words. */
struct vocab *vocab_of_bytes(enum special_names names);

struct learn_report {
    uint32_t pieces;  /* in the vocabulary, specials included: vocab_size, or fewer where the text had no more */
    uint32_t letters; /* in the alphabet */
    uint64_t letters_left_out; /* letters too rare for the alphabet: words with them become [UNK]. The most frequent
                                * of them: */
    struct letter_count left_out[LETTERS_NAMED];
    uint64_t words;          /* distinct words learned from */
    uint64_t words_left_out; /* distinct words of two or more letters not learned from */
    uint64_t threshold;      /* count of the rarest piece or pair taken */
};

/* Opens the learned vocabulary; close it with vocab_close. `report` may be NULL. Too little text gives fewer pieces,
 * not an error. ERR_USAGE: the unused pieces leave no room for letters. */
int vocab_learn(const struct word_counts *counts, const struct learn_options *options, struct vocab **vocab,
                struct learn_report *report, struct error *err);

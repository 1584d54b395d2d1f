/* Learning a vocabulary from counted words, in one of two ways.
 *
 * greedy, top-down: a piece must pay for itself. Of all rows of letters the longest come first; one that occurs at
 * least
 * `threshold` times becomes a piece and takes its occurrences away from its own beginnings. Then words are cut greedily
 * by the pieces found, and only what begins at such a cut is counted again. The threshold is searched so that the
 * vocabulary gets its size. (After the learner of TensorFlow Text, "WordPiece vocabulary generation"; Google's first
 * learner was never released.)
 *
 * bpe, bottom-up: the two pieces that most often stand side by side become one, again and again (Hugging Face's
 * WordPieceTrainer), until so many pieces as are wanted still stand in as many places as the last pair did: these are
 * the vocabulary. Of equal pairs the one with the older left piece comes first, then the one with the older right
 * piece; the oldest are the letters by code point, those at word starts before "##" ones.
 *
 * Either way, where the text gives too few such pieces, others that occur min_frequency times fill the vocabulary up:
 * of greedy what longer pieces took all counts from, the most frequent first; of bpe the oldest.
 *
 * Layout: [PAD] 0, [unused0] to [unused98] 1 to 99, [UNK] 100, [CLS] 101, [SEP] 102, [MASK] 103, further [unusedN]
 * where asked for; then single letters (and "##" letters) by code point; then longer pieces: of greedy the most
 * frequent first, equal ones by bytes; of bpe in the order of their making. The result is a function of the counts
 * alone. */
#ifndef TOKENIZER_LEARN_H
#define TOKENIZER_LEARN_H

#include "base/error.h"
#include "tokenizer/lexicon.h"
#include "tokenizer/vocab.h"
#include "tokenizer/word_counts.h"

#include <stddef.h>
#include <stdint.h>

#define LEARN_SPECIALS    104u /* pieces 0 to 103 */
#define LEARN_SIZE_MIN    200u
#define LEARN_COUNT_MIN   2u /* what occurs once makes no piece */
#define LEARN_LETTERS_MAX ALPHABET_MAX

enum learn_algorithm { LEARN_GREEDY, LEARN_BPE };
extern const char *const learn_names[]; /* by enum learn_algorithm */

struct learn_options {
    enum learn_algorithm algorithm;
    uint32_t vocab_size;     /* LEARN_SIZE_MIN to VOCAB_PIECES_MAX */
    uint32_t unused;         /* [unusedN] beyond the first 99 */
    uint64_t min_frequency;  /* how often a piece must occur; less than LEARN_COUNT_MIN is that */
    uint32_t limit_alphabet; /* letters at most; 0: LEARN_LETTERS_MAX, which is the most */
    enum profile profile;    /* says which letters may stand inside a word */
    size_t bytes_max; /* memory to take besides the counts, about; 0: 256 MiB. The rarest words do not fit into less */
};

struct learn_report {
    uint32_t pieces;  /* in the vocabulary, specials included: vocab_size, or fewer where the text had no more */
    uint32_t letters; /* in the alphabet */
    uint64_t letters_left_out; /* too rare for the alphabet: words with them become [UNK]; the most frequent of them: */
    struct letter_count left_out[LETTERS_NAMED];
    uint64_t words;          /* distinct words learned from */
    uint64_t words_left_out; /* distinct words of two and more letters not learned from */
    uint64_t threshold;      /* how often the rarest piece or pair had to occur */
};

/* Opens the vocabulary learned; close it with vocab_close. `report` may be NULL. Too little text gives fewer pieces, no
 * error. ERR_USAGE: the unused pieces leave no room for letters. */
int vocab_learn(const struct word_counts *counts, const struct learn_options *options, struct vocab **vocab,
                struct learn_report *report, struct error *err);

#endif

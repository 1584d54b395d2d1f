/* Masks for masked LM are a function of names (Law 3), so `dsdata` stores them once on disk and `dstrain` can draw
 * fresh ones. The rule is BERT's (Devlin et al. 2019, section 3.1): of the chosen tokens, 80 % become [MASK], 10 %
 * stay, and 10 % become any piece of the vocabulary, special pieces included, as in Google's
 * create_pretraining_data.py; `dstrain` may choose other shares. Whole words: a word is a piece and the pieces after it
 * that continue it (tokenizer/word_starts.h); words are masked whole or not at all. Pure; any thread. */
#pragma once

#include "base/random.h"
#include "base/str.h"
#include "shards/sample.h"
#include "tokenizer/word_starts.h"

/* In millionths: that a chosen token becomes [MASK]; and if it does not, that it stays. */
struct mask_split {
    uint32_t mask, keep;
};
#define MASK_SPLIT_BERT                                                                                                \
    {                                                                                                                  \
        800000, 500000                                                                                                 \
    }

struct mask_rules {
    uint32_t vocab_size;
    uint32_t cls, sep, mask; /* ids */
    uint32_t millionths;     /* probability that a token is masked */
    uint32_t predictions;    /* P */
    struct mask_split split;
    const struct word_starts *words; /* whole words; NULL: each piece is masked by itself */
};

/* The number of masks of a sample of `tokens` tokens: min(P, max(1, tokens · probability rounded half to even)). */
uint32_t mask_count(uint32_t tokens, uint32_t millionths, uint32_t predictions);

/* Masks an unmasked sample: chooses mask_count(length) of the tokens other than [CLS] and [SEP] (all of them if there
 * are fewer), changes their ids, and fills masked, positions (ascending) and labels. Draw d of position i is word d of
 * random_at4(stream, index, i). Draw 0 chooses (the smallest are masked, ties by position); 1: [MASK] or not; 2: keep
 * or not; 3: which piece.
 *
 * Whole words are taken in the order of draw 0 of their first position. A word that would exceed mask_count is skipped,
 * so a sample may have fewer masks, even none. Each piece of a chosen word uses its own draws 1 to 3. A piece that
 * would continue a word but comes after [CLS] or [SEP] (its word was cut there) begins a word. */
void mask_sample(const struct random_stream *stream, uint32_t index, const struct mask_rules *rules,
                 struct sample *sample);

/* Replaces the masks of sample `index` of length `seq` by those of an epoch of a training with this seed, as a loader
 * does from the second epoch on. */
void mask_anew(uint64_t seed, uint64_t epoch, uint64_t index, uint32_t seq, const struct mask_rules *rules,
               struct sample *sample);

/* Removes the masks: ids are the originals, masked is 0. */
void mask_restore(struct sample *sample);

/* Masks for masked-LM, laid by name (Law 3), so `dsdata` lays them once on disk and `dstrain` may lay fresh ones.
 * The rule is BERT's (Devlin et al. 2019, section 3.1): of the chosen tokens 80 % become [MASK], 10 % stay, 10 % become
 * any piece of the vocabulary, special pieces included, as Google's create_pretraining_data.py does. Whole words: a
 * word is a piece and the pieces after it that continue it; words are taken whole or not at all. Pure; any thread. */
#ifndef SHARDS_MASKING_H
#define SHARDS_MASKING_H

#include "base/random.h"
#include "base/str.h"
#include "shards/sample.h"

struct mask_rules {
    uint32_t vocab_size;
    uint32_t cls, sep, mask; /* ids */
    uint32_t millionths;     /* probability */
    uint32_t predictions;    /* P */
    /* Whole words: bit id % 64 of continues[id / 64] says whether a piece continues the word before it. NULL: each
     * piece is masked by itself. */
    const uint64_t *continues;
};

/* Which of the pieces of a vocabulary continue a word: those that begin with "##". The caller frees it. */
uint64_t *mask_continues(const struct str *pieces, size_t count);

/* Masks of a sample of `tokens` tokens: min(P, max(1, tokens · probability rounded half to even)). */
uint32_t mask_count(uint32_t tokens, uint32_t millionths, uint32_t predictions);

/* Lays masks on an unmasked sample: chooses mask_count(length) of the tokens that are not [CLS] or [SEP] (all of them
 * if there are fewer), changes ids there, and fills masked, positions (rising) and labels. Draw d of position i is word
 * d of random_at4(stream, index, i): 0 chooses (the smallest win, ties by position), 1: [MASK] or not, 2: keep or not,
 * 3: which piece.
 *
 * Whole words: words come in the order of draw 0 of their first position; one that would pass mask_count is left out,
 * so a sample may have fewer masks, even none; each piece of a chosen word makes its own draws 1 to 3. A piece that
 * would continue a word but stands after [CLS] or [SEP] (its word was cut off there) is a word's beginning. */
void mask_sample(const struct random_stream *stream, uint32_t index, const struct mask_rules *rules,
                 struct sample *sample);

/* Lays the masks that sample `index` of length `seq` has in an epoch of a training with this seed, in place of those
 * that it has: what a loader does from the second epoch on. */
void mask_anew(uint64_t seed, uint64_t epoch, uint64_t index, uint32_t seq, const struct mask_rules *rules,
               struct sample *sample);

/* Takes the masks off again: ids are the originals, masked is 0. */
void mask_restore(struct sample *sample);

#endif

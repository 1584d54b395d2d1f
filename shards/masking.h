/* Masks for masked-LM, laid by name (Law 3), so `dsdata` lays them once on disk and `dstrain` may lay fresh ones.
 * The rule is BERT's (Devlin et al. 2019, section 3.1): of the chosen tokens 80 % become [MASK], 10 % stay, 10 % become
 * any piece of the vocabulary, special pieces included, as Google's create_pretraining_data.py does. Pure; any
 * thread. */
#ifndef SHARDS_MASKING_H
#define SHARDS_MASKING_H

#include "base/random.h"
#include "shards/sample.h"

struct mask_rules {
    uint32_t vocab_size;
    uint32_t cls, sep, mask; /* ids */
    uint32_t millionths;     /* probability */
    uint32_t predictions;    /* P */
};

/* Masks of a sample of `tokens` tokens: min(P, max(1, tokens · probability rounded half to even)). */
uint32_t mask_count(uint32_t tokens, uint32_t millionths, uint32_t predictions);

/* Lays masks on an unmasked sample: chooses mask_count(length) of the tokens that are not [CLS] or [SEP] (all of them
 * if there are fewer), changes ids there, and fills masked, positions (rising) and labels. Draw d of position i is word
 * d of random_at4(stream, index, i): 0 chooses (the smallest win, ties by position), 1: [MASK] or not, 2: keep or not,
 * 3: which piece. */
void mask_sample(const struct random_stream *stream, uint32_t index, const struct mask_rules *rules,
                 struct sample *sample);

/* Takes the masks off again: ids are the originals, masked is 0. */
void mask_restore(struct sample *sample);

#endif

/* The words of a text, as documents are compared by them: after NFKC and lower case, a run of letters and digits is a
 * word, and so is each ideograph or kana, as for --min-words. An n-gram is n words in a row; texts are compared by the
 * hashes of these. */
#pragma once

#include "base/str.h"

#define NEAR_WORDS 5 /* of an n-gram, for --near-duplicates (Broder 1997: "shingles") */

/* Memory of one thread. A zeroed one is ready. */
struct gram_scratch {
    struct buf word;  /* the word that is being read */
    struct buf runes; /* int32_t, code points while text is normalized */
    struct buf words; /* uint64_t, the hash of each word */
    struct buf grams; /* uint64_t, the hash of each n-gram */
};
void gram_scratch_release(struct gram_scratch *scratch);

/* The n-grams of well-formed UTF-8 in their order, with repetitions. Valid until the next call. */
struct grams {
    const uint64_t *hashes;
    size_t count; /* words - n + 1; 0 if there are fewer than n words */
};
struct grams grams_of(struct gram_scratch *scratch, struct str text, size_t n);

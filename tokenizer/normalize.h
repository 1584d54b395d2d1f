/* Normalisation of one run of text as BertNormalizer does it: deleted characters go; then, where accents are stripped,
 * canonical decomposition (NFD) without nonspacing marks; then lowercase, character by character. Google's program
 * lowers first, which is the same but for a capital sigma: sigma.h has lowered that before. */
#ifndef TOKENIZER_NORMALIZE_H
#define TOKENIZER_NORMALIZE_H

#include "base/str.h"
#include "tokenizer/unicode.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Scratch of one thread. A zeroed one with the profile's tables and the two flags set is ready to use; the memory is
 * kept from run to run. */
struct normalizer {
    const struct unicode *unicode;
    bool lower, strip;
    uint32_t *letters; /* [count] code points of the last run */
    size_t count, capacity;
    uint32_t *sorted; /* [sorted_capacity] for long rows of combining marks */
    size_t sorted_capacity;
};

/* Puts the code points of `run` into normalizer->letters. The run holds no white space and no ideograph among other
 * characters (words.c cuts there); ill-formed UTF-8 is dropped. Time and memory are linear in the run. */
void normalize_run(struct normalizer *normalizer, struct str run);

void normalizer_release(struct normalizer *normalizer);

#endif

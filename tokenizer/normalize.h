/* Normalisation of one run of text as BertNormalizer does it: some characters are deleted; then, where accents are
 * stripped, canonical decomposition (NFD) without nonspacing marks; then lowercase, character by character. Google's
 * program lowers first, which differs only for a capital sigma; sigma_lower has lowered that before. */
#pragma once

#include "base/str.h"
#include "tokenizer/unicode.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Scratch of one thread. Ready to use when zeroed, with the profile's tables and the two flags set. The memory is kept
 * from run to run. */
struct normalizer {
    const struct unicode *unicode;
    bool lower, strip;
    uint32_t *letters; /* [count] code points of the last run */
    size_t count, capacity;
    uint32_t *sorted; /* [sorted_capacity] for long rows of combining marks */
    size_t sorted_capacity;
};

/* Puts the code points of `run` into normalizer->letters. A run holds no white space, and an ideograph only as a run of
 * its own (words.c cuts there). Ill-formed UTF-8 is dropped. Time and memory are linear in the run. */
void normalize_run(struct normalizer *normalizer, struct str run);

/* Puts the canonical decomposition (NFD) of well-formed UTF-8 into normalizer->letters, each with its combining class
 * above its code point. */
#define NORMALIZER_CLASS_SHIFT 24
#define NORMALIZER_CODE_POINT  0x1FFFFFu
void normalize_nfd(struct normalizer *normalizer, struct str text);

void normalizer_release(struct normalizer *normalizer);

/* The only lowercase mapping that depends on context: a capital sigma at the end of a word becomes U+03C2, any other
 * U+03C3 (Unicode, section 3.13, Final_Sigma, as Python's str.lower() has it). Google's program lowers whole words
 * between white space, so what follows a full stop or a bracket counts as well; profile hf ignores the context.
 * Returns `text` itself where it has no capital sigma, else a view into `scratch`. Deleted characters are skipped;
 * white space and ideographs end the context. Linear. */
struct str sigma_lower(const struct unicode *unicode, struct str text, struct buf *scratch);

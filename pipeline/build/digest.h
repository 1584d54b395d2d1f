/* The pure middle part of a build: a group of pages → encoded samples of every length and split, and counts. The result
 * depends only on the group's bytes and name, the recipe and the vocabulary. */
#pragma once

#include "pipeline/input/article.h"
#include "pipeline/build/dataset_recipe.h"
#include "pipeline/input/feed.h"
#include "pipeline/store/spill.h"
#include "tokenizer/tokenizer.h"

/* The result of one group. The set of hashes has an entry per document: a sample_key, with the hash as its key. */
struct digested {
    struct counts counts;
    struct missing missing;       /* in kept pages */
    struct buf samples[SETS_MAX]; /* per set: sample_key and record, alternating */
};

struct repeats;

struct digest_options {
    const struct dataset_recipe *recipe;
    const struct inputs *inputs;
    const struct tokenizer *tokenizer;
    const struct vocab *vocab;
    const struct repeats *repeats; /* to be dropped; or NULL */
    bool only_notes; /* only what finds repeated documents: the sets of repeats.h. Vocabulary and tokenizer may be NULL.
                      * Else hashes of documents are in the set after those of samples */
};

struct digest_job {
    struct feed_job feed; /* first: see feed.h */
    struct digested digested;
};
/* The work of a feed whose jobs are such: all but its end. */
struct feed_work digest_work(const struct digest_options *options);
/* Digests the job's group into job->digested, which it resets first. `digest` is scratch of one thread. */
void digest_run_job(const void *context, void *digest, void *job);

/* Bytes of a key and record of length number `i`. */
size_t digest_entry_bytes(const struct dataset_recipe *recipe, size_t i, uint32_t vocab_size);

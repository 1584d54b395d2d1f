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

void digested_reset(struct digested *digested);
void digested_release(struct digested *digested);

struct repeats;

struct digest_options {
    const struct dataset_recipe *recipe;
    const struct tokenizer *tokenizer;
    const struct vocab *vocab;
    const struct repeats *repeats; /* to be dropped; or NULL */
    bool only_notes; /* only what finds repeated documents: the sets of repeats.h. Vocabulary and tokenizer may be NULL.
                      * Else hashes of documents are in the set after those of samples */
};

/* Scratch of one thread. */
struct digest;
struct digest *digest_open(const struct digest_options *options);
/* Digests a group into *digested (reset first). `article` holds the options of the group's input. */
void digest_group(struct digest *digest, const struct article_options *article, struct group *group,
                  struct digested *digested);
void digest_close(struct digest *digest);

/* For a feed whose work is to digest: the job, and functions of struct feed_work. The worker is a struct digest, and
 * its options are a struct digest_options. */
struct digest_job {
    struct feed_job feed; /* first: see feed.h */
    struct digested digested;
};
void digest_job_release(void *job);
void *digest_worker_open(const void *options);
void digest_worker_close(void *digest);

/* Bytes of a key and record of length number `i`. */
size_t digest_entry_bytes(const struct dataset_recipe *recipe, size_t i, uint32_t vocab_size);

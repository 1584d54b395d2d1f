/* A dataset directory as a reader sees it: the samples of one sequence length and split, numbered 0 to samples - 1 in
 * the order of shards and records. Every shard is mapped and compared with the manifest when it is opened. Records are
 * checked when they are read. */
#pragma once

#include "shards/manifest.h"
#include "shards/reader.h"
#include "tokenizer/word_starts.h"

struct dataset {
    char *directory; /* owned */
    struct manifest manifest;
    const struct manifest_length *length; /* into manifest */
    struct shard_layout layout;
    struct shard *shards;      /* [length->shards] */
    uint64_t samples;          /* 0: an empty split */
    struct word_starts *words; /* for mask_rules: NULL where the manifest's masking is by token */
};

/* seq 0: the shortest. Errors: those of manifest_read; ERR_MISMATCH: a length that the dataset does not have, or a
 * shard or vocabulary that differs from the manifest; ERR_VERIFY: a missing or damaged file. On error nothing is
 * held. */
int dataset_open(struct dataset *dataset, const char *directory, uint32_t seq, enum split split, struct error *err);
/* Opens the vocabulary of a dataset, after comparing it with the manifest: the same errors. The caller closes it:
 * vocab_close. */
int dataset_vocab(struct vocab **vocab, const char *directory, const struct manifest *manifest, struct error *err);
void dataset_close(struct dataset *dataset); /* safe on a zeroed one */

/* Reads sample i < samples into arrays made for dataset->layout (sample_make). O(1). Any thread, each with its own
 * sample. */
int dataset_sample(const struct dataset *dataset, uint64_t i, struct sample *sample, struct error *err);

/* Tells the kernel that the shard which holds sample i is read next. */
void dataset_prefetch(const struct dataset *dataset, uint64_t i);

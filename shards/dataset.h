/* A dataset directory as a reader sees it: the samples of one sequence length and split, numbered 0 to samples - 1 in
 * the order of shards and records. Every shard is mapped and compared with the manifest when it is opened; records are
 * checked when they are read. */
#ifndef SHARDS_DATASET_H
#define SHARDS_DATASET_H

#include "shards/manifest.h"
#include "shards/reader.h"

struct dataset {
    char *directory; /* owned */
    struct manifest manifest;
    const struct manifest_length *length; /* into manifest */
    struct shard_layout layout;
    struct shard *shards; /* [length->shards] */
    uint64_t samples;     /* 0: an empty split */
    uint64_t *continues;  /* for mask_rules: NULL where the manifest's masking is by token */
};

/* seq 0: the shortest. Errors: those of manifest_read; a length that the dataset has not, or a shard or vocabulary that
 * is not the manifest's: ERR_MISMATCH; a missing or damaged file: ERR_VERIFY. On error nothing is held. */
int dataset_open(struct dataset *dataset, const char *directory, uint32_t seq, enum split split, struct error *err);
void dataset_close(struct dataset *dataset); /* safe on a zeroed one */

/* Sample i < samples into arrays made for dataset->layout (sample_make). O(1); any thread, each its own sample. */
int dataset_sample(const struct dataset *dataset, uint64_t i, struct sample *sample, struct error *err);

/* Tells the kernel that the shard which holds sample i is read next. */
void dataset_prefetch(const struct dataset *dataset, uint64_t i);

#endif

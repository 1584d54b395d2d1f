/* What a build will need, by arithmetic from the sizes of its inputs: threads and ring depth that fit into --memory,
 * spill buckets, disk, samples, time. Estimates are for English Wikipedia; they never decide a byte. */
#ifndef PIPELINE_RESOURCE_PLAN_H
#define PIPELINE_RESOURCE_PLAN_H

#include "base/error.h"
#include "pipeline/dataset_recipe.h"
#include "pipeline/inputs.h"

struct resource_plan {
    size_t threads, depth;             /* of the belt */
    uint64_t memory;                   /* the bound, bytes */
    uint64_t room_bytes;               /* what the program itself leaves of it */
    uint64_t load_bytes_max;           /* of one load of the seal */
    uint64_t xml_bytes;                /* estimated: the inputs, decompressed */
    uint64_t samples[OPT_NUMBERS_MAX]; /* estimated, per length */
    uint64_t dataset_bytes;            /* estimated: the shards */
    uint64_t old_bytes;   /* of the dataset that --fresh replaces: it stays until the new one is complete */
    uint64_t spool_bytes; /* of standard input, where it lies on disk */
    uint64_t disk_bytes;  /* estimated: the most that is needed while building, the last two among it */
    uint32_t bucket_bits[SETS_MAX];
};

/* Threads and depth alone, for extract and vocab: no recipe. `inputs`: what decoding them takes is left to them.
 * ERR_USAGE where --memory is too small, with the least that does. */
int resource_plan_threads(const struct dsdata_settings *settings, const struct inputs *inputs,
                          struct resource_plan *plan, struct error *err);
/* All of it but old_bytes and spool_bytes, which are 0. ERR_USAGE also where there would be too many shards. */
int resource_plan_make(const struct dsdata_settings *settings, const struct inputs *inputs,
                       const struct dataset_recipe *recipe, uint32_t vocab_size, struct resource_plan *plan,
                       struct error *err);

#endif

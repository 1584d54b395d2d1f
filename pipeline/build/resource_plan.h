/* What a build will need, computed from the sizes of its inputs: threads and ring depth that fit into --memory, spill
 * buckets, disk, samples, time. The estimates are for English; they never affect a byte. */
#pragma once

#include "base/error.h"
#include "pipeline/build/dataset_recipe.h"
#include "pipeline/input/inputs.h"

struct resource_plan {
    size_t threads, depth;             /* of the belt */
    uint64_t memory;                   /* the bound, bytes */
    uint64_t room_bytes;               /* of that, what the program and the decoding of inputs leave */
    uint64_t load_bytes_max;           /* of one load of the seal */
    uint64_t xml_bytes;                /* estimated: the inputs, decompressed */
    uint64_t samples[OPT_NUMBERS_MAX]; /* estimated, per length */
    uint64_t dataset_bytes;            /* estimated: the shards */
    uint64_t old_bytes;             /* of the dataset that --fresh replaces: it stays until the new one is complete */
    uint64_t spool_bytes;           /* of standard input, if it is stored on disk */
    uint64_t disk_bytes;            /* estimated: the most needed during the build, with old_bytes and spool_bytes */
    uint32_t bucket_bits[SETS_MAX]; /* a set has 2^bits spills */
};

/* Threads and depth only, for extract and vocab: no recipe. `inputs`: memory for decoding them is reserved. ERR_USAGE:
 * --memory is too small; the hint has the least that suffices. */
int resource_plan_threads(const struct dsdata_settings *settings, const struct inputs *inputs,
                          struct resource_plan *plan, struct error *err);
/* Everything except old_bytes and spool_bytes, which are set to 0. ERR_USAGE also if there would be too many shards. */
int resource_plan_make(const struct dsdata_settings *settings, const struct inputs *inputs,
                       const struct dataset_recipe *recipe, uint32_t vocab_size, struct resource_plan *plan,
                       struct error *err);

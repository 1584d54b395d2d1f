/* The last step of a build: spills → shards. Every set (a length and a split) is a total order by key, then by name; it is
 * cut into shards of equal count. Buckets are loaded and sorted in parallel and written in order, so the shuffle is global
 * and memory bounded. Sealing changes nothing but files with final names, each whole at once, so it may be repeated. */
#ifndef PIPELINE_STORE_SEAL_H
#define PIPELINE_STORE_SEAL_H

#include "pipeline/store/spill.h"
#include "shards/manifest.h"

/* What spill_sync said of the spills of an extent. */
struct seal_extent {
    uint64_t extent;
    const uint64_t *bytes;
};

struct seal_options {
    const char *directory;        /* the dataset's */
    const struct spill_set *sets; /* set i is manifest->lengths[i] */
    const struct seal_extent *extents;
    size_t extent_count;
    uint32_t share, shares;    /* which of how many equal shares of the shards of each set to make */
    size_t key_bytes;          /* of an entry before its record */
    struct manifest *manifest; /* lengths with samples and shards; the hashes of this share are filled here */
    uint64_t load_bytes_max;   /* what one load may hold; two are in memory at a time */
    size_t threads;
    void (*progress)(void *context, uint64_t records); /* after each load; may be NULL */
    void *context;
};

/* ERR_STOPPED when a stop was asked for; ERR_VERIFY when a spill does not hold what the manifest counts. */
int seal(const struct seal_options *options, struct error *err);

#endif

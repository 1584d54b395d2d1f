/* The last step of a build: spills → shards. Every set (a length and a split) is a total order by key, then by name; it
 * is cut into shards of equal count. Buckets are loaded, sorted and written in parallel, so the shuffle is global and
 * memory bounded. Sealing changes nothing but files with final names, each whole at once, so it may be repeated. */
#ifndef PIPELINE_STORE_SEAL_H
#define PIPELINE_STORE_SEAL_H

#include "pipeline/store/load.h"
#include "shards/manifest.h"

#define SEAL_LOADS_MAX 5 /* in memory at a time */

struct seal_options {
    struct spills spills;      /* set i is manifest->lengths[i] */
    uint32_t share, shares;    /* which of how many equal shares of the shards of each set to make */
    size_t key_bytes;          /* of an entry before its record */
    struct manifest *manifest; /* lengths with samples and shards; the hashes of this share are filled here */
    uint64_t load_bytes_max;   /* what one load may hold */
    size_t threads;
    void (*progress)(void *context, uint64_t records); /* as they are written, by one thread at a time; may be NULL */
    void *context;
};

/* ERR_STOPPED when a stop was asked for; ERR_VERIFY when a spill does not hold what the manifest counts. */
int seal(const struct seal_options *options, struct error *err);

#endif

/* The last step of a build: spills → shards. Each set (a length and a split) is sorted by key, then by name, and cut
 * into shards of equal count. Buckets are loaded, sorted and written in parallel, so the shuffle is global and memory
 * bounded. Sealing only creates files with final names, each atomically, so it can be repeated. */
#pragma once

#include "pipeline/store/load.h"
#include "shards/manifest.h"

#define SEAL_LOADS_MAX 5 /* in memory at once */

struct seal_options {
    struct spills spills;      /* set i is manifest->lengths[i] */
    uint32_t share, shares;    /* make share number `share` of `shares` equal shares of each set's shards */
    size_t key_bytes;          /* of an entry before its record */
    struct manifest *manifest; /* lengths with samples and shards; the hashes of this share are filled in here */
    uint64_t load_bytes_max;   /* the most that one load may hold */
    size_t threads;
    void (*progress)(void *context, uint64_t records); /* called as records are written, by one thread at a time; may be
                                                        * NULL */
    void *context;
};

/* ERR_STOPPED: a stop was requested; ERR_VERIFY: a spill does not hold what the manifest counts. */
int seal(const struct seal_options *options, struct error *err);

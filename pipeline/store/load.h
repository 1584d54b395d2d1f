/* A range of keys of one bucket that fits into memory: read from the spills of all extents, and sorted. */
#pragma once

#include "pipeline/store/spill.h"

/* The spills of one extent, as reported by spill_sync. */
struct seal_extent {
    uint64_t extent;
    const uint64_t *bytes;
};

/* The spills of a build. */
struct spills {
    const char *directory;        /* the dataset's */
    const struct spill_set *sets; /* [set_count] */
    size_t set_count;
    const struct seal_extent *extents;
    size_t extent_count;
};
uint64_t spills_bytes(const struct spills *spills, size_t set, uint32_t bucket); /* of a bucket, over all extents */

struct keyed {
    uint64_t key;
    const char *entry; /* into the load's entries */
};

struct load {
    size_t set;
    uint32_t bucket;
    uint64_t first, last; /* keys */

    const struct keyed *sorted; /* [count] by key, then by name (sample_key) */
    size_t count;

    struct buf entries;
    struct keyed *keys; /* [2 * capacity] of the entries, and scratch of the same size */
    size_t capacity;
};

/* Reads the spilled entries whose keys belong to the load, at most bytes_max at first, and sorts them. The load needs
 * set, bucket and keys, and is otherwise zeroed or from a previous call, whose memory is reused. ERR_VERIFY: a spill is
 * shorter than it should be. */
int load_read(struct load *load, const struct spills *spills, uint64_t bytes_max, struct error *err);
void load_release(struct load *load);

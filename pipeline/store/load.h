/* A run of keys of one bucket that fits into memory: comes in from the spills of all extents, goes out in order. */
#ifndef PIPELINE_STORE_LOAD_H
#define PIPELINE_STORE_LOAD_H

#include "pipeline/store/spill.h"

/* What spill_sync said of the spills of an extent. */
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
    const char *entry; /* in the load's entries */
};

struct load {
    size_t set;
    uint32_t bucket;
    uint64_t first, last; /* keys */

    const struct keyed *sorted; /* [count]: by key, then by name (sample_key) */
    size_t count;

    struct buf entries;
    struct keyed *keys; /* [2 * capacity]: of entries, and room for as many */
    size_t capacity;
};

/* Reads what the spills hold of the load's keys, at most bytes_max at first, and sorts it. A zeroed load with set,
 * bucket and keys filled in will do; its memory is used again. ERR_VERIFY: a spill is shorter than was said. */
int load_read(struct load *load, const struct spills *spills, uint64_t bytes_max, struct error *err);
void load_release(struct load *load);

#endif

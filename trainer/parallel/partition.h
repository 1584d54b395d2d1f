/* Which process holds what with --zero. The chunks of every bucket (buckets.h) are divided into consecutive runs, one
 * for each process, with numbers of elements as equal as chunks allow. Process r holds run r of every bucket, its
 * slice. So all exchanges are balanced, and the exchange of a bucket can begin as soon as the bucket is final. The
 * memory of a process's slices is packed: one slice after another, in the order of buckets.
 *
 *     flat memory   │ bucket 2: 0 0 1 1 2 2 │ bucket 1: 0 1 1 2 │ bucket 0: 0 0 1 2 2 │
 *     process 1     │ slice 0 │ slice 1 │ slice 2 │
 *
 * A slice may be empty. Pure: all processes compute the same slices. */
#ifndef TRAINER_PARALLEL_PARTITION_H
#define TRAINER_PARALLEL_PARTITION_H

#include "trainer/parallel/buckets.h"
#include "trainer/backend/ops_args.h"

#include <stdint.h>

#define SLICE_ALIGN 16 /* elements, 64 bytes; the order of sums over a chunk may depend on alignment */

struct slice {
    size_t from, to;           /* elements of flat memory, including the gaps after its tensors */
    struct chunk_range chunks; /* the same as chunks of the table */
    size_t held_from;          /* `from` rounded down to SLICE_ALIGN */
    size_t place;              /* element e of flat memory is element place + e - held_from of packed memory */
};

struct partition {
    struct buckets buckets;
    uint32_t size;
    struct slice *items; /* [buckets.count, size] */
    size_t *counts;      /* [buckets.count, size] elements of each */
    size_t *held;        /* [size] elements of each process's packed memory */
};

/* `most` and `parts` as in buckets_init. */
void partition_init(struct partition *partition, const struct params *params, uint64_t most, bool parts, uint32_t size);
void partition_release(struct partition *partition); /* safe on a zeroed one */

static inline const struct slice *partition_slice(const struct partition *partition, size_t bucket, uint32_t rank)
{
    return &partition->items[bucket * partition->size + rank];
}

#endif

/* Divides flat gradients into buckets for the sum over processes, in the order in which a backward pass finishes them:
 * the heads, each layer from the last to the first, the embeddings. A bucket that would exceed the maximum size is
 * split at borders of chunks. Buckets depend only on the table of parameters, so all processes compute the same
 * ones.
 *
 * Which process holds what with --zero. The chunks of every bucket are divided into consecutive runs, one
 * for each process, with numbers of elements as equal as chunks allow. Process r holds run r of every bucket, its
 * slice. So all exchanges are balanced, and the exchange of a bucket can begin as soon as the bucket is final. The
 * memory of a process's slices is packed: one slice after another, in the order of buckets.
 *
 *     flat memory   │ bucket 2: 0 0 1 1 2 2 │ bucket 1: 0 1 1 2 │ bucket 0: 0 0 1 2 2 │
 *     process 1     │ slice 0 │ slice 1 │ slice 2 │
 *
 * A slice may be empty. Pure: all processes compute the same slices. */
#pragma once

#include "trainer/model/params.h"

#define BUCKET_BYTES_MAX ((size_t)32 << 20) /* of float gradients: 2^23 elements */

struct bucket {
    size_t from, to;             /* elements of flat memory; gaps belong to the tensor before them */
    size_t chunk_from, chunk_to; /* chunks of the table */
    size_t group;                /* 0: the heads; then the layers, from the last to the first, or their parts; then the
                                  * embeddings */
};

struct buckets {
    struct bucket *items; /* from the end of flat memory down to 0, without a gap */
    size_t count;
};

/* `most`: maximum of elements per bucket, raised to at least a chunk and a 256th of all; 0: BUCKET_BYTES_MAX. `parts`:
 * each of the parts in which a layer becomes final (struct gradient_listener) is a group of its own if the layer
 * exceeds the maximum. */
void buckets_init(struct buckets *buckets, const struct params *params, uint64_t most, bool parts);
void buckets_release(struct buckets *buckets); /* safe on a zeroed one */

/* Times of a bucket. */
struct bucket_times {
    uint64_t bytes;       /* of one sum, in the type in which it is sent */
    uint64_t sums;        /* number of sums so far */
    double taken, waited; /* total seconds in the library, and waited for in gradient_sum_finish */
};
/* Logs a row for each bucket of gradients that is summed over processes: its bytes, how long its sums took, and how
 * long the process waited for them. */
void buckets_say_times(const struct bucket_times *buckets, size_t count);

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

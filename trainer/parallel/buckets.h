/* Divides flat gradients into buckets for the sum over processes, in the order in which a backward pass finishes them:
 * the heads, each layer from the last to the first, the embeddings. A bucket that would exceed the maximum size is
 * split at borders of chunks. Buckets depend only on the table of parameters, so all processes compute the same
 * ones. */
#ifndef TRAINER_PARALLEL_BUCKETS_H
#define TRAINER_PARALLEL_BUCKETS_H

#include "trainer/model/params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif

/* Which process holds what with --zero. The chunks of every bucket (buckets.h) are divided into consecutive runs, one
 * for each process, with numbers of elements as equal as chunks allow. Process r holds run r of every bucket, its
 * piece. So all exchanges are balanced, and the exchange of a bucket can begin as soon as the bucket is final. The
 * memory of a process's pieces is packed: one piece after another, in the order of buckets.
 *
 *     flat memory   │ bucket 2: 0 0 1 1 2 2 │ bucket 1: 0 1 1 2 │ bucket 0: 0 0 1 2 2 │
 *     process 1     │ piece 0 │ piece 1 │ piece 2 │
 *
 * A piece may be empty. Pure: all processes compute the same pieces. */
#ifndef TRAINER_PARALLEL_PIECES_H
#define TRAINER_PARALLEL_PIECES_H

#include "trainer/parallel/buckets.h"
#include "trainer/backend/ops_args.h"

#include <stdint.h>

#define PIECE_ALIGN 16 /* elements, 64 bytes; the order of sums over a chunk may depend on alignment */

struct piece {
    size_t from, to;           /* elements of flat memory, including the gaps after its tensors */
    struct chunk_range chunks; /* the same as chunks of the table */
    size_t held_from;          /* `from` rounded down to PIECE_ALIGN */
    size_t place;              /* element e of flat memory is element place + e - held_from of packed memory */
};

struct pieces {
    struct buckets buckets;
    uint32_t size;
    struct piece *items; /* [buckets.count, size] */
    size_t *counts;      /* [buckets.count, size] elements of each */
    size_t *held;        /* [size] elements of each process's packed memory */
};

/* `most` and `parts` as in buckets_init. */
void pieces_init(struct pieces *pieces, const struct params *params, uint64_t most, bool parts, uint32_t size);
void pieces_release(struct pieces *pieces); /* safe on a zeroed one */

static inline const struct piece *piece_of(const struct pieces *pieces, size_t bucket, uint32_t rank)
{
    return &pieces->items[bucket * pieces->size + rank];
}

#endif

/* How gloo 0.5 moves bytes: allreduce.cc (ring), broadcast.cc, allgatherv.cc, alltoallv.cc. */
#include "trainer/comm/work.h"

#include <assert.h>

#define RING_SEGMENT_BYTES ((uint64_t)1 << 20) /* gloo's kMaxSegmentSize */

static uint64_t up(uint64_t n, uint64_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

/* The ring cuts the array into `size` blocks, each a whole number of segments; the last ones may be short or empty. */
static uint64_t ring_block(uint64_t bytes, size_t element, uint32_t size, uint32_t block)
{
    const uint64_t longest = RING_SEGMENT_BYTES / element * element;
    const uint64_t least = (bytes + longest - 1) / longest;
    const uint64_t segments = up(least > 2 * (uint64_t)size ? least : 2 * (uint64_t)size, size);
    const uint64_t segment = up((bytes + segments - 1) / segments, element);
    const uint64_t each = segments / size * segment, begin = each * block;
    return begin >= bytes ? 0 : bytes - begin < each ? bytes - begin : each;
}

/* A process passes on every block but its own while sums are formed, and every block but its predecessor's while the
 * sums are distributed: 2 (size - 1) / size of the array where the blocks are equal. */
static uint64_t ring_sum(uint64_t bytes, size_t element, uint32_t rank, uint32_t size)
{
    return 2 * bytes - ring_block(bytes, element, size, rank) -
           ring_block(bytes, element, size, (rank + size - 1) % size);
}

/* In round i, process v (counted from the root) sends to v + 2^i if v < 2^i. */
static uint64_t tree_broadcast(uint64_t bytes, uint32_t root, uint32_t rank, uint32_t size)
{
    const uint32_t place = (rank + size - root) % size;
    uint64_t sent = 0;
    for (uint64_t step = 1; step < size; step *= 2)
        if (place < step && place + step < size)
            sent += bytes;
    return sent;
}

static uint64_t all_but(const size_t *counts, uint32_t size, uint32_t one)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < size; i++)
        sum += i == one ? 0 : counts[i];
    return sum;
}

size_t comm_part(size_t count, uint32_t rank, uint32_t size)
{
    return count / size + (rank < count % size ? 1 : 0);
}

/* An all-to-all of the parts, then an all-gather of their sums. */
static uint64_t sum_of_parts(size_t count, size_t element, uint32_t rank, uint32_t size)
{
    return (2 * count - comm_part(count, rank, size) - comm_part(count, (rank + 1) % size, size)) * element;
}

uint64_t comm_wire_bytes(const struct comm_work *work, uint32_t rank, uint32_t size)
{
    assert(rank < size);
    const size_t element = comm_type_bytes(work->type);
    if (size == 1)
        return 0;
    switch (work->operation) {
    case COMM_BARRIER:
        return 0;
    case COMM_SUM:
    case COMM_MAX:
        if (work->type == COMM_BF16)
            return sum_of_parts(work->count, element, rank, size);
        return ring_sum(work->count * element, element, rank, size);
    case COMM_BROADCAST:
        return tree_broadcast(work->count * element, work->root, rank, size);
    case COMM_ALL_GATHER: /* a ring: a process passes on all parts but that of the next one */
        return all_but(work->out_counts, size, (rank + 1) % size) * element;
    case COMM_ALL_TO_ALL:
    case COMM_REDUCE_SCATTER:
        return all_but(work->in_counts, size, rank) * element;
    }
    return 0;
}

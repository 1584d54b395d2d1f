/* In: a place in an epoch. Out: the sample there. Never change an order: runs are resumed by it. */
#include "shards/order.h"

#include "base/hash.h"
#include "base/permute.h"
#include "shards/format.h"

#include <assert.h>

enum part { SHARD_ORDER = 1, RECORD_ORDER = 2, LEFT_OVER_ORDER = 3 };

/* Little-endian machine (format.h), so the words are the same bytes everywhere. */
static uint64_t key(const struct order *order, uint64_t epoch, enum part part, uint64_t shard)
{
    const uint64_t name[4] = {order->seed, epoch, part, shard};
    return hash64(name, sizeof(name));
}

uint64_t order_sample(const struct order *order, uint64_t epoch, uint64_t n)
{
    const uint64_t samples = order->samples, shards = order->shards;
    assert(shards >= 1 && shards <= samples && n < samples);
    if (!order->shuffled)
        return n;
    /* Places [0, shards · each) are the same number of records of every shard; then come the `samples mod shards` ones
     * that the first shards hold more. A shard's own permutation runs over all its records, so which record of a longer
     * shard is left over changes from epoch to epoch. */
    const uint64_t each = samples / shards, longer = samples % shards;
    uint64_t shard, place;
    if (n < shards * each) {
        shard = permute(n / each, shards, key(order, epoch, SHARD_ORDER, 0));
        place = n % each;
    } else {
        shard = permute(n - shards * each, longer, key(order, epoch, LEFT_OVER_ORDER, 0));
        place = each;
    }
    const uint64_t records = shard_records(samples, shards, shard);
    return shard_first(samples, shards, shard) + permute(place, records, key(order, epoch, RECORD_ORDER, shard));
}

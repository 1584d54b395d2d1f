/* Maps a place in an epoch to a sample. Never change the order: resumed runs depend on it. */
#include "shards/order.h"

#include "base/hash.h"
#include "base/random.h"
#include "shards/format.h"

#include <assert.h>

enum part { SHARD_ORDER = 1, RECORD_ORDER = 2, LEFT_OVER_ORDER = 3 };

/* The machine is little-endian (format.h), so these words have the same bytes everywhere. */
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
    /* Places [0, shards · each) take the same number of records from every shard. Then come the `samples mod shards`
     * extra records of the first shards. A shard's own permutation covers all its records, so which record of a longer
     * shard comes last changes from epoch to epoch. */
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

/* A keyed permutation of positions. Four Feistel rounds suffice for large halves (Luby and Rackoff). With halves of two
 * bits, eight rounds still favour some orders by a percent, which a test detects, and twelve do not. The order of
 * training samples depends on every constant here: never change one. */
#include "base/permute.h"

#include "base/random.h"

#include <assert.h>

#define ROUNDS 12

struct network {
    uint64_t n;
    uint32_t key[2];
    unsigned half_bits; /* 1 to 32 */
    uint32_t half_mask;
};

static struct network network_of(uint64_t n, uint64_t key)
{
    unsigned bits = 64 - (unsigned)__builtin_clzll((n - 1) | 1); /* of the largest position, n - 1 */
    bits += bits & 1;
    return (struct network){
        .n = n,
        .key = {(uint32_t)key, (uint32_t)(key >> 32)},
        .half_bits = bits / 2,
        .half_mask = (uint32_t)(((uint64_t)1 << (bits / 2)) - 1),
    };
}

static uint32_t round_bits(const struct network *net, uint32_t round, uint32_t half)
{
    const uint32_t counter[4] = {half, round, (uint32_t)net->n, (uint32_t)(net->n >> 32)};
    uint32_t out[4];
    philox4x32(counter, net->key, out);
    return out[0] & net->half_mask;
}

/* A round maps (left, right) to (right, left ^ f(right)), which is a permutation for any f. */
static uint64_t rounds_of(const struct network *net, uint64_t x)
{
    uint32_t left = (uint32_t)(x >> net->half_bits), right = (uint32_t)x & net->half_mask;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t next = left ^ round_bits(net, round, right);
        left = right;
        right = next;
    }
    return (uint64_t)left << net->half_bits | right;
}

/* The network permutes [0, 4^half_bits), which may reach beyond n. What falls there is mapped again (cycle walking).
 * That ends, because the cycle that starts at i < n comes back to i, and takes fewer than four steps on average. */
uint64_t permute(uint64_t i, uint64_t n, uint64_t key)
{
    assert(i < n);
    const struct network net = network_of(n, key);
    do
        i = rounds_of(&net, i);
    while (i >= n);
    return i;
}

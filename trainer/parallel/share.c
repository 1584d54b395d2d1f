/* In: the number of units and the weights of all processes. Out: the borders of their shares. Integers only, so that
 * every process computes the same ones. */
#include "trainer/parallel/share.h"

#include <assert.h>

#include "base/mem.h"

void share_divide(uint64_t units, const uint64_t *weights, uint32_t ranks, uint64_t *borders)
{
    __extension__ typedef unsigned __int128 wide; /* a product has up to 64 + 40 bits */
    uint64_t *rest = mem_array(ranks, sizeof *rest), sum = 0, left = units;
    for (uint32_t r = 0; r < ranks; r++) {
        assert(weights[r] <= SHARE_WEIGHT_MAX);
        sum += weights[r];
    }
    assert(sum > 0);
    for (uint32_t r = 0; r < ranks; r++) {
        const wide product = (wide)units * weights[r];
        borders[r + 1] = (uint64_t)(product / sum);
        rest[r] = (uint64_t)(product % sum);
        left -= borders[r + 1];
    }
    assert(left < ranks);
    for (; left > 0; left--) { /* fewer units than ranks are left */
        uint32_t most = 0;
        for (uint32_t r = 1; r < ranks; r++)
            if (rest[r] > rest[most])
                most = r;
        borders[most + 1]++;
        rest[most] = 0;
    }
    borders[0] = 0;
    for (uint32_t r = 0; r < ranks; r++)
        borders[r + 1] += borders[r];
    assert(borders[ranks] == units);
    mem_free(rest);
}

#include "trainer/data/mixture.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void share_out(uint64_t units, const uint64_t *weights, uint32_t count, uint64_t *shares)
{
    SCOPED(mem_free_at) uint64_t *lost = mem_array(count, sizeof *lost);
    uint64_t sum = 0, left = units;
    for (uint32_t i = 0; i < count; i++)
        sum += weights[i];
    assert(sum > 0);
    for (uint32_t i = 0; i < count; i++) {
        const unsigned __int128 product = (unsigned __int128)units * weights[i]; /* up to 64 + 50 bits */
        shares[i] = (uint64_t)(product / sum);
        lost[i] = (uint64_t)(product % sum);
        left -= shares[i];
    }
    assert(left < count); /* each lost less than one to rounding */
    for (; left > 0; left--) {
        uint32_t most = 0;
        for (uint32_t i = 1; i < count; i++)
            most = lost[i] > lost[most] ? i : most;
        shares[most]++;
        lost[most] = 0;
    }
}

bool mixture_weights(const uint64_t *asked, uint32_t datasets, uint32_t *weights)
{
    uint64_t shares[MIXTURE_MAX], divisor = 0, sum = 0;
    assert(datasets >= 1 && datasets <= MIXTURE_MAX);
    for (uint32_t d = 0; d < datasets; d++) {
        assert(asked[d] >= 1 && asked[d] < (uint64_t)1 << 50);
        shares[d] = asked[d];
        divisor = common_divisor(asked[d], divisor);
        sum += asked[d];
    }
    if (sum / divisor > MIXTURE_PERIOD) {
        share_out(MIXTURE_PERIOD, asked, datasets, shares);
        divisor = 0;
        for (uint32_t d = 0; d < datasets; d++) {
            if (shares[d] == 0)
                return false;
            divisor = common_divisor(shares[d], divisor);
        }
    }
    for (uint32_t d = 0; d < datasets; d++)
        weights[d] = (uint32_t)(shares[d] / divisor);
    return true;
}

/* The dataset of the n-th sample, n from 1. Both sides of each comparison are multiplied by M = 2k - 2, and of the
 * first one by W too, so that they are integers; they stay below 2^46. */
static uint32_t next_dataset(const struct mixture *mixture, const uint32_t *had, uint32_t n)
{
    const uint64_t m = 2 * (uint64_t)mixture->datasets - 2;
    uint32_t next = MIXTURE_MAX;
    for (uint32_t d = 0; d < mixture->datasets; d++) {
        const uint64_t weight = mixture->weights[d];
        if (m * weight * n < mixture->period * (m * had[d] + 1))
            continue; /* not due */
        if (next == MIXTURE_MAX || (m * had[d] + m - 1) * mixture->weights[next] < (m * had[next] + m - 1) * weight)
            next = d;
    }
    assert(next < MIXTURE_MAX);
    return next;
}

void mixture_init(struct mixture *mixture, const uint32_t *weights, uint32_t datasets)
{
    uint32_t had[MIXTURE_MAX] = {0};
    assert(datasets >= 2 && datasets <= MIXTURE_MAX);
    *mixture = (struct mixture){.datasets = datasets};
    memcpy(mixture->weights, weights, datasets * sizeof *weights);
    for (uint32_t d = 0; d < datasets; d++)
        mixture->period += weights[d];
    assert(mixture->period <= MIXTURE_PERIOD);
    mixture->slots = mem_array(mixture->period, sizeof *mixture->slots);
    for (uint32_t n = 0; n < mixture->period; n++) {
        const uint32_t d = next_dataset(mixture, had, n + 1);
        mixture->slots[n] = (struct mixture_slot){d, had[d]++};
    }
    for (uint32_t d = 0; d < datasets; d++)
        assert(had[d] ==
               weights[d]); /* a period has what the weights say, or look-ups in later periods would be wrong */
}

void mixture_release(struct mixture *mixture)
{
    mem_free(mixture->slots);
    *mixture = (struct mixture){0};
}

struct mixture_place mixture_at(const struct mixture *mixture, uint64_t i)
{
    const struct mixture_slot *slot = &mixture->slots[i % mixture->period];
    return (struct mixture_place){
        .dataset = slot->dataset,
        .sample = i / mixture->period * mixture->weights[slot->dataset] + slot->sample,
    };
}

uint64_t mixture_count(const struct mixture *mixture, uint32_t dataset, uint64_t n)
{
    uint64_t count = n / mixture->period * mixture->weights[dataset];
    for (uint32_t slot = 0; slot < n % mixture->period; slot++)
        count += mixture->slots[slot].dataset == dataset;
    return count;
}

/* In: a sample. Out: the same with masks, or without them. Which tokens: those with the smallest keys. The count-th
 * smallest is found by quickselect over keys that hold their position in the low bits, so no two are equal; one pass in
 * the order of positions then lays the masks. */
#include "shards/masking.h"

#include <assert.h>
#include <string.h>

enum { CHANCE_MASK = 800000, CHANCE_KEEP = 500000 }; /* millionths */
enum { WORD_KEY, WORD_MASK, WORD_KEEP, WORD_PIECE }; /* of random_at4 */

uint32_t mask_count(uint32_t tokens, uint32_t millionths, uint32_t predictions)
{
    const uint64_t product = (uint64_t)tokens * millionths, rest = product % MILLION;
    uint64_t count = product / MILLION;
    count += rest > MILLION / 2 || (rest == MILLION / 2 && count % 2 == 1);
    if (count < 1)
        count = 1;
    return count < predictions ? (uint32_t)count : predictions;
}

/* The k-th smallest (from 0) of n different keys, which it moves around. Keys are random, so the middle one is a fair
 * pivot (Hoare's FIND, CACM 1961). */
static uint64_t kth_smallest(uint64_t *keys, size_t n, size_t k)
{
    size_t from = 0, to = n - 1;
    assert(k < n);
    while (from < to) {
        const uint64_t pivot = keys[from + (to - from) / 2];
        size_t i = from, j = to;
        for (;;) {
            while (keys[i] < pivot)
                i++;
            while (keys[j] > pivot)
                j--;
            if (i >= j)
                break;
            const uint64_t swapped = keys[i];
            keys[i++] = keys[j];
            keys[j--] = swapped;
        }
        /* Everything up to i - 1 is at most the pivot, everything from j + 1 on at least; keys are different. */
        if (k < i)
            to = i - 1;
        else if (k > j)
            from = j + 1;
        else
            return keys[k];
    }
    return keys[k];
}

/* What the model sees in place of `id`. */
static uint32_t masked_id(const struct mask_rules *rules, const uint32_t words[4], uint32_t id)
{
    if (random_chance(words[WORD_MASK], CHANCE_MASK))
        return rules->mask;
    return random_chance(words[WORD_KEEP], CHANCE_KEEP) ? id : random_below(words[WORD_PIECE], rules->vocab_size);
}

void mask_sample(const struct random_stream *stream, uint32_t index, const struct mask_rules *rules,
                 struct sample *sample)
{
    uint64_t keys[SHARD_SEQ_MAX], selected[SHARD_SEQ_MAX];
    uint32_t words[4];
    size_t candidates = 0;
    assert(sample->masked == 0 && sample->length <= SHARD_SEQ_MAX);
    for (uint32_t i = 0; i < sample->length; i++)
        if (sample->ids[i] != rules->cls && sample->ids[i] != rules->sep)
            keys[candidates++] = (uint64_t)random_at(stream, index, i) << 32 | i;
    uint32_t count = mask_count(sample->length, rules->millionths, rules->predictions);
    if (count > candidates)
        count = (uint32_t)candidates;
    if (count == 0)
        return;
    memcpy(selected, keys, candidates * sizeof(*keys));
    const uint64_t last = kth_smallest(selected, candidates, count - 1);
    for (size_t c = 0; c < candidates; c++)
        if (keys[c] <= last) {
            const uint32_t position = (uint32_t)keys[c];
            random_at4(stream, index, position, words);
            sample->positions[sample->masked] = position;
            sample->labels[sample->masked++] = sample->ids[position];
            sample->ids[position] = masked_id(rules, words, sample->ids[position]);
        }
    assert(sample->masked == count);
}

void mask_restore(struct sample *sample)
{
    for (uint32_t i = 0; i < sample->masked; i++)
        sample->ids[sample->positions[i]] = sample->labels[i];
    sample->masked = 0;
}

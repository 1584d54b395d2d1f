/* In: a sample. Out: the same with masks, or without them. Which tokens: those with the smallest keys, which hold their
 * position in the low bits, so no two are equal. Single pieces: the count-th smallest key is found by quickselect.
 * Whole words: keys leave a heap one after the other until enough is masked. One pass in the order of positions then
 * lays the masks. */
#include "shards/masking.h"

#include "base/mem.h"

#include <assert.h>
#include <stdbool.h>
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

/* The tokens that may be masked, as words: the keys of their first positions, and how many tokens each has. */
struct words {
    size_t count;
    uint32_t tokens; /* of all words */
    uint64_t keys[SHARD_SEQ_MAX];
    uint16_t sizes[SHARD_SEQ_MAX]; /* by first position */
};

uint64_t *mask_continues(const struct str *pieces, size_t count)
{
    uint64_t *bits = mem_clear(count / 64 + 1, sizeof *bits);
    for (size_t id = 0; id < count; id++)
        bits[id / 64] |= (uint64_t)str_starts(pieces[id], STR("##")) << id % 64;
    return bits;
}

static bool continues(const struct mask_rules *rules, uint32_t id)
{
    return rules->continues && (rules->continues[id / 64] >> id % 64 & 1);
}

static void find_words(const struct random_stream *stream, uint32_t index, const struct mask_rules *rules,
                       const struct sample *sample, struct words *words)
{
    words->count = words->tokens = 0;
    for (uint32_t i = 0, open = 0; i < sample->length; i++) { /* open: the tokens of the last word so far */
        if (sample->ids[i] == rules->cls || sample->ids[i] == rules->sep) {
            open = 0;
            continue;
        }
        if (open == 0 || !continues(rules, sample->ids[i])) {
            words->keys[words->count++] = (uint64_t)random_at(stream, index, i) << 32 | i;
            open = 0;
        }
        words->sizes[(uint32_t)words->keys[words->count - 1]] = (uint16_t)++open;
        words->tokens++;
    }
}

/* Marks the `count` pieces with the smallest keys. */
static void choose_pieces(const struct words *words, uint32_t count, bool *chosen)
{
    uint64_t moved[SHARD_SEQ_MAX];
    memcpy(moved, words->keys, words->count * sizeof *moved);
    const uint64_t last = kth_smallest(moved, words->count, count - 1);
    for (size_t c = 0; c < words->count; c++)
        chosen[(uint32_t)words->keys[c]] = words->keys[c] <= last;
}

/* Lets the key at `place` of a heap of n keys (the smallest on top) sink to where it belongs. */
static void sink(uint64_t *keys, size_t n, size_t place)
{
    const uint64_t key = keys[place];
    for (size_t child; (child = 2 * place + 1) < n; place = child) {
        child += child + 1 < n && keys[child + 1] < keys[child];
        if (keys[child] > key)
            break;
        keys[place] = keys[child];
    }
    keys[place] = key;
}

/* Marks words by rising keys, those that still fit, until `count` tokens are marked. */
static void choose_words(struct words *words, uint32_t count, bool *chosen)
{
    uint64_t *keys = words->keys;
    for (size_t place = words->count / 2; place-- > 0;)
        sink(keys, words->count, place);
    for (size_t left = words->count; left > 0 && count > 0; sink(keys, left, 0)) {
        const uint32_t first = (uint32_t)keys[0], size = words->sizes[first];
        keys[0] = keys[--left];
        if (size > count)
            continue;
        memset(chosen + first, true, size);
        count -= size;
    }
}

void mask_sample(const struct random_stream *stream, uint32_t index, const struct mask_rules *rules,
                 struct sample *sample)
{
    struct words words;
    bool chosen[SHARD_SEQ_MAX];
    uint32_t draws[4];
    assert(sample->masked == 0 && sample->length <= SHARD_SEQ_MAX);
    find_words(stream, index, rules, sample, &words);
    uint32_t count = mask_count(sample->length, rules->millionths, rules->predictions);
    if (count > words.tokens)
        count = words.tokens;
    if (count == 0)
        return;
    memset(chosen, false, sample->length);
    if (rules->continues)
        choose_words(&words, count, chosen);
    else
        choose_pieces(&words, count, chosen);
    for (uint32_t position = 0; position < sample->length; position++)
        if (chosen[position]) {
            random_at4(stream, index, position, draws);
            sample->positions[sample->masked] = position;
            sample->labels[sample->masked++] = sample->ids[position];
            sample->ids[position] = masked_id(rules, draws, sample->ids[position]);
        }
    assert(sample->masked == count || (rules->continues && sample->masked < count));
}

void mask_restore(struct sample *sample)
{
    for (uint32_t i = 0; i < sample->masked; i++)
        sample->ids[sample->positions[i]] = sample->labels[i];
    sample->masked = 0;
}

/* In: a sample. Out: the same with masks, or without them. Which tokens: those with the smallest keys, which hold their
 * position in the low bits, so no two are equal. Single pieces: the count-th smallest key is found by quickselect among
 * those that are small enough to come into question. Whole words: keys leave a heap one after the other until enough is
 * masked. One pass in the order of positions then lays the masks. */
#include "shards/masking.h"

#include "base/mem.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum { CHANCE_MASK = 800000, CHANCE_KEEP = 500000 }; /* millionths */
enum { WORD_KEY, WORD_MASK, WORD_KEEP, WORD_PIECE }; /* of random_at4 */

/* The draws of all positions of a sample. */
struct draws {
    uint32_t words[4][SHARD_SEQ_MAX];
};

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

/* What the model sees at `position` in place of `id`. */
static uint32_t masked_id(const struct mask_rules *rules, const struct draws *draws, uint32_t position, uint32_t id)
{
    if (random_chance(draws->words[WORD_MASK][position], CHANCE_MASK))
        return rules->mask;
    return random_chance(draws->words[WORD_KEEP][position], CHANCE_KEEP)
               ? id
               : random_below(draws->words[WORD_PIECE][position], rules->vocab_size);
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
    return rules->continues[id / 64] >> id % 64 & 1;
}

static uint64_t key_of(const struct draws *draws, uint32_t position)
{
    return (uint64_t)draws->words[WORD_KEY][position] << 32 | position;
}

/* Every piece is a word. */
static void find_pieces(const struct draws *draws, const struct mask_rules *rules, const struct sample *sample,
                        struct words *words)
{
    size_t count = 0;
    for (uint32_t i = 0; i < sample->length; i++) { /* no branch: it would be guessed wrongly */
        words->keys[count] = key_of(draws, i);
        count += sample->ids[i] != rules->cls && sample->ids[i] != rules->sep;
    }
    words->count = words->tokens = (uint32_t)count;
}

static void find_words(const struct draws *draws, const struct mask_rules *rules, const struct sample *sample,
                       struct words *words)
{
    words->count = words->tokens = 0;
    for (uint32_t i = 0, open = 0; i < sample->length; i++) { /* open: the tokens of the last word so far */
        if (sample->ids[i] == rules->cls || sample->ids[i] == rules->sep) {
            open = 0;
            continue;
        }
        if (open == 0 || !continues(rules, sample->ids[i])) {
            words->keys[words->count++] = key_of(draws, i);
            open = 0;
        }
        words->sizes[(uint32_t)words->keys[words->count - 1]] = (uint16_t)++open;
        words->tokens++;
    }
}

/* The keys up to a bound that mostly lets a few more than `count` through. */
static size_t small_keys(const struct words *words, uint32_t count, uint64_t *small)
{
    const uint64_t wanted = count + count / 4 + 8;
    const uint64_t bound = wanted >= words->count ? UINT64_MAX : UINT64_MAX / words->count * wanted;
    size_t found = 0;
    for (size_t c = 0; c < words->count; c++) {
        small[found] = words->keys[c];
        found += words->keys[c] <= bound;
    }
    return found;
}

/* The positions of the `count` pieces with the smallest keys, rising. Returns how many: `count`. */
static uint32_t choose_pieces(struct words *words, uint32_t count, uint32_t *positions)
{
    uint64_t moved[SHARD_SEQ_MAX];
    size_t candidates = small_keys(words, count, moved);
    if (candidates < count) {
        candidates = words->count;
        memcpy(moved, words->keys, candidates * sizeof *moved);
    }
    const uint64_t last = kth_smallest(moved, candidates, count - 1);
    uint32_t found = 0;
    for (size_t c = 0; found < count; c++) {
        positions[found] = (uint32_t)words->keys[c];
        found += words->keys[c] <= last;
    }
    return found;
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

/* The positions of words by rising keys, those that still fit, until there are `count`; then in their order. */
static uint32_t choose_words(struct words *words, uint32_t count, uint32_t *positions)
{
    uint64_t *keys = words->keys;
    bool chosen[SHARD_SEQ_MAX] = {false};
    uint32_t end = 0, found = 0;
    for (size_t place = words->count / 2; place-- > 0;)
        sink(keys, words->count, place);
    for (size_t left = words->count; left > 0 && count > 0; sink(keys, left, 0)) {
        const uint32_t first = (uint32_t)keys[0], size = words->sizes[first];
        keys[0] = keys[--left];
        if (size > count)
            continue;
        memset(chosen + first, true, size);
        count -= size;
        end = first + size > end ? first + size : end;
    }
    for (uint32_t position = 0; position < end; position++)
        if (chosen[position])
            positions[found++] = position;
    return found;
}

void mask_sample(const struct random_stream *stream, uint32_t index, const struct mask_rules *rules,
                 struct sample *sample)
{
    struct words words;
    struct draws draws;
    uint32_t *const rows[4] = {draws.words[0], draws.words[1], draws.words[2], draws.words[3]};
    assert(sample->masked == 0 && sample->length <= SHARD_SEQ_MAX);
    random_row(stream, index, 0, sample->length, rows);
    (rules->continues ? find_words : find_pieces)(&draws, rules, sample, &words);
    uint32_t count = mask_count(sample->length, rules->millionths, rules->predictions);
    if (count > words.tokens)
        count = words.tokens;
    if (count == 0)
        return;
    sample->masked = (rules->continues ? choose_words : choose_pieces)(&words, count, sample->positions);
    for (uint32_t m = 0; m < sample->masked; m++) {
        uint32_t *id = &sample->ids[sample->positions[m]];
        sample->labels[m] = *id;
        *id = masked_id(rules, &draws, sample->positions[m], *id);
    }
    assert(sample->masked == count || rules->continues);
}

void mask_restore(struct sample *sample)
{
    for (uint32_t i = 0; i < sample->masked; i++)
        sample->ids[sample->positions[i]] = sample->labels[i];
    sample->masked = 0;
}

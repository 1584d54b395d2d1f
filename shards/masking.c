/* Masks a sample, or removes its masks. The tokens with the smallest keys are chosen. A key holds its position in the
 * low bits, so no two keys are equal. For single pieces, a histogram of the small keys finds the count-th smallest.
 * Whole words leave a heap in the order of their keys until enough tokens are masked. One pass in the order of
 * positions then writes the masks. */
#include "shards/masking.h"

#include <assert.h>

#define BAR_BITS 7
#define BARS     (1u << BAR_BITS)

enum { WORD_KEY, WORD_MASK, WORD_KEEP, WORD_PIECE }; /* words of random_at4 */

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

/* The k-th smallest (from 0) of n different keys, all at most `bound`. The keys are random, so a histogram of their
 * upper bits leaves one or two to choose from. */
static uint64_t kth_smallest(const uint64_t *keys, size_t n, size_t k, uint64_t bound)
{
    uint16_t bars[BARS] = {0};
    uint64_t own[SHARD_SEQ_MAX]; /* the keys of the histogram bar that holds it */
    const unsigned shift = 64 - BAR_BITS - (unsigned)__builtin_clzll(bound);
    size_t bar = 0, found = 0;
    assert(k < n);
    for (size_t i = 0; i < n; i++)
        bars[keys[i] >> shift]++;
    for (; k >= bars[bar]; bar++)
        k -= bars[bar];
    for (size_t i = 0; i < n; i++) {
        own[found] = keys[i];
        found += keys[i] >> shift == bar;
    }
    for (size_t i = 0; i <= k; i++)
        for (size_t j = i + 1; j < found; j++) {
            const uint64_t larger = own[i] > own[j] ? own[i] : own[j];
            own[i] = own[i] > own[j] ? own[j] : own[i];
            own[j] = larger;
        }
    return own[k];
}

/* What the model sees at `position` in place of `id`. */
static uint32_t masked_id(const struct mask_rules *rules, const struct draws *draws, uint32_t position, uint32_t id)
{
    if (random_chance(draws->words[WORD_MASK][position], rules->split.mask))
        return rules->mask;
    return random_chance(draws->words[WORD_KEEP][position], rules->split.keep)
               ? id
               : random_below(draws->words[WORD_PIECE][position], rules->vocab_size);
}

/* The words that may be masked: the key of each word's first position, and its number of tokens. */
struct words {
    size_t count;
    uint64_t keys[SHARD_SEQ_MAX];
    uint16_t sizes[SHARD_SEQ_MAX]; /* by first position */
};

static uint64_t key_of(const struct draws *draws, uint32_t position)
{
    return (uint64_t)draws->words[WORD_KEY][position] << 32 | position;
}

static void find_words(const struct draws *draws, const struct mask_rules *rules, const struct sample *sample,
                       struct words *words)
{
    bool starts[SHARD_SEQ_MAX];
    word_starts_mark(rules->words, sample->ids, sample->length, starts);
    words->count = 0;
    for (uint32_t i = 0, open = 0; i < sample->length; i++) { /* open: tokens of the current word so far; 0: no word */
        if (sample->ids[i] == rules->cls || sample->ids[i] == rules->sep) {
            open = 0;
            continue;
        }
        if (open == 0 || starts[i]) {
            words->keys[words->count++] = key_of(draws, i);
            open = 0;
        }
        words->sizes[(uint32_t)words->keys[words->count - 1]] = (uint16_t)++open;
    }
}

/* The keys, in the order of their positions, of the pieces that may be masked and whose upper half is at most
 * `bound`. */
static size_t small_keys(const struct draws *draws, const struct mask_rules *rules, const struct sample *sample,
                         uint32_t bound, uint64_t *keys)
{
    uint16_t small[SHARD_SEQ_MAX];
    size_t count = 0, found = 0;
    for (uint32_t i = 0; i < sample->length; i++) { /* branch-free: a branch would be mispredicted */
        small[count] = (uint16_t)i;
        count += draws->words[WORD_KEY][i] <= bound;
    }
    for (size_t c = 0; c < count; c++) {
        const uint32_t id = sample->ids[small[c]];
        keys[found] = key_of(draws, small[c]);
        found += (size_t)(id != rules->cls) & (size_t)(id != rules->sep);
    }
    return found;
}

/* Stores the positions of the `count` pieces with the smallest keys, ascending. Returns their number, which is smaller
 * where there are fewer pieces. */
static uint32_t choose_pieces(const struct draws *draws, const struct mask_rules *rules, struct sample *sample,
                              uint32_t count)
{
    uint64_t keys[SHARD_SEQ_MAX];
    const uint32_t wanted = count + count / 4 + 8; /* mostly lets a few more than `count` pass */
    uint32_t bound = wanted >= sample->length ? UINT32_MAX : UINT32_MAX / sample->length * wanted;
    size_t candidates = small_keys(draws, rules, sample, bound, keys);
    if (candidates < count) {
        bound = UINT32_MAX;
        candidates = small_keys(draws, rules, sample, bound, keys);
    }
    if (count > candidates)
        count = (uint32_t)candidates;
    if (count == 0)
        return 0;
    const uint64_t last = kth_smallest(keys, candidates, count - 1, (uint64_t)bound << 32 | UINT32_MAX);
    uint32_t found = 0;
    for (size_t c = 0; found < count; c++) {
        sample->positions[found] = (uint32_t)keys[c];
        found += keys[c] <= last;
    }
    return count;
}

/* Sifts the key at `place` down a heap of n keys with the smallest on top. */
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

/* Chooses words by ascending keys, skipping those that no longer fit, until there are `count` tokens; then sorts their
 * positions. */
static uint32_t choose_words(const struct draws *draws, const struct mask_rules *rules, struct sample *sample,
                             uint32_t count)
{
    struct words words;
    find_words(draws, rules, sample, &words);
    uint64_t *keys = words.keys;
    bool chosen[SHARD_SEQ_MAX] = {false};
    uint32_t end = 0, found = 0;
    for (size_t place = words.count / 2; place-- > 0;)
        sink(keys, words.count, place);
    for (size_t left = words.count; left > 0 && count > 0; sink(keys, left, 0)) {
        const uint32_t first = (uint32_t)keys[0], size = words.sizes[first];
        keys[0] = keys[--left];
        if (size > count)
            continue;
        memset(chosen + first, true, size);
        count -= size;
        end = first + size > end ? first + size : end;
    }
    for (uint32_t position = 0; position < end; position++)
        if (chosen[position])
            sample->positions[found++] = position;
    return found;
}

void mask_sample(const struct random_stream *stream, uint32_t index, const struct mask_rules *rules,
                 struct sample *sample)
{
    struct draws draws;
    uint32_t *const rows[4] = {draws.words[0], draws.words[1], draws.words[2], draws.words[3]};
    assert(sample->masked == 0 && sample->length <= SHARD_SEQ_MAX);
    random_row(stream, index, 0, sample->length, rows);
    const uint32_t count = mask_count(sample->length, rules->millionths, rules->predictions);
    sample->masked = (rules->words ? choose_words : choose_pieces)(&draws, rules, sample, count);
    for (uint32_t m = 0; m < sample->masked; m++) {
        uint32_t *id = &sample->ids[sample->positions[m]];
        sample->labels[m] = *id;
        *id = masked_id(rules, &draws, sample->positions[m], *id);
    }
}

void mask_anew(uint64_t seed, uint64_t epoch, uint64_t index, uint32_t seq, const struct mask_rules *rules,
               struct sample *sample)
{
    const struct random_stream stream = random_stream(seed, RANDOM_FRESH, 0, epoch, index >> 32, seq, 0);
    mask_restore(sample);
    mask_sample(&stream, (uint32_t)index, rules, sample);
}

void mask_restore(struct sample *sample)
{
    for (uint32_t i = 0; i < sample->masked; i++) {
        assert(sample->positions[i] < sample->length);
        sample->ids[sample->positions[i]] = sample->labels[i];
    }
    sample->masked = 0;
}

#include "pipeline/clean/near.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/random.h"

#include <assert.h>
#include <pthread.h>

#define BILLION        1000000000ull
#define BANDS_WANTED   13u
#define CANDIDATES_MAX 1000u /* documents of one band that are compared; the band takes no more */

/* ---- rules ---- */

/* The bands of `rows` values that make 1 - (1 - s^rows)^bands at least 99 %. In whole billionths, so that every machine
 * finds the same. */
static uint32_t bands_for(uint64_t similarity, uint32_t rows)
{
    uint64_t equal = BILLION, miss = BILLION;
    for (uint32_t i = 0; i < rows; i++)
        equal = equal * similarity / BILLION;
    uint32_t bands = 0;
    while (bands <= NEAR_BANDS_MAX && miss > BILLION / 100) {
        miss = miss * (BILLION - equal) / BILLION;
        bands++;
    }
    return bands;
}

struct near_rules near_rules(uint32_t millionths)
{
    assert(millionths >= NEAR_LEAST && millionths <= MILLION);
    const uint64_t near_by = millionths + 50000ull, half_way = (millionths + MILLION) / 2;
    const uint64_t above = near_by < half_way ? near_by : half_way;
    struct near_rules rules = {.rows = 1, .bands = bands_for(above * 1000, 1)};
    for (uint32_t rows = 2; rows <= NEAR_VALUES; rows++) {
        const uint32_t bands = bands_for(above * 1000, rows);
        if (bands > BANDS_WANTED || rows * bands > NEAR_VALUES)
            break;
        rules.rows = rows;
        rules.bands = bands;
    }
    const uint64_t least = millionths - 20000ull;
    rules.equal = (uint32_t)((MILLION + (NEAR_VALUES - 1) * least + MILLION - 1) / MILLION);
    return rules;
}

/* ---- sketch ---- */

#define ROUNDS (2 * NEAR_VALUES)

static uint64_t round_keys[ROUNDS];
static pthread_once_t round_keys_once = PTHREAD_ONCE_INIT;

static void make_round_keys(void)
{
    const struct random_stream stream = random_stream(0, RANDOM_SKETCH, 0, 0, 0, 0, 0);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t words[4];
        random_at4(&stream, i, 0, words);
        round_keys[i] = (uint64_t)words[1] << 32 | words[0];
    }
}

/* 64 bits of the hash of an n-gram in a round: the finalizer of MurmurHash3. */
static uint64_t hash_in_round(uint64_t gram, uint64_t key)
{
    uint64_t x = gram ^ key;
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCDull;
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53ull;
    return x ^ x >> 33;
}

/* Round i of the first 256 gives each n-gram to the value that its hash names; round 256 + i gives all to value i, so
 * that none stays empty. A value of an earlier round is less than any of a later one. */
static void fill_values(struct grams grams, uint64_t values[NEAR_VALUES])
{
    size_t empty = NEAR_VALUES;
    for (size_t i = 0; i < NEAR_VALUES; i++)
        values[i] = UINT64_MAX;
    for (uint64_t round = 0; empty > 0; round++) {
        assert(round < ROUNDS);
        for (size_t i = 0; i < grams.count; i++) {
            const uint64_t hash = hash_in_round(grams.hashes[i], round_keys[round]);
            const size_t at = round < NEAR_VALUES ? hash >> 56 : round - NEAR_VALUES;
            const uint64_t value = round << 32 | (uint32_t)hash;
            empty -= values[at] == UINT64_MAX;
            values[at] = value < values[at] ? value : values[at];
        }
    }
}

size_t near_sketch_bytes(const struct near_rules *rules)
{
    return offsetof(struct near_sketch, bands) + rules->bands * sizeof(uint32_t);
}

void near_sketch_make(const struct near_rules *rules, struct grams grams, struct near_sketch *sketch)
{
    uint64_t values[NEAR_VALUES];
    assert(grams.count > 0 && rules->bands <= NEAR_BANDS_MAX && rules->rows * rules->bands <= NEAR_VALUES);
    pthread_once(&round_keys_once, make_round_keys);
    fill_values(grams, values);
    for (size_t i = 0; i < NEAR_VALUES; i++)
        sketch->values[i] = (uint8_t)values[i];
    for (uint32_t band = 0; band < rules->bands; band++)
        sketch->bands[band] = (uint32_t)hash64(values + (size_t)band * rules->rows, rules->rows * sizeof *values);
}

/* ---- index ---- */

/* A table for each band, by open addressing: the numbers of documents, and 8 bits of the band's hash. Four thirds of
 * the documents have room in each. */
struct near_index {
    struct near_rules rules;
    near_read *read;
    void *context;
    uint64_t slots;    /* of a table */
    uint32_t *numbers; /* [bands] [slots] number + 1; 0: free */
    uint8_t *tags;     /* the same */
};

static uint64_t slots_for(uint64_t count)
{
    return count + count / 3 + 16;
}

uint64_t near_index_bytes(const struct near_rules *rules, uint64_t count)
{
    return rules->bands * slots_for(count) * (sizeof(uint32_t) + sizeof(uint8_t));
}

struct near_index *near_index_open(const struct near_rules *rules, uint32_t count, near_read *read, void *context)
{
    struct near_index *index = mem_clear(1, sizeof *index);
    *index = (struct near_index){.rules = *rules, .read = read, .context = context, .slots = slots_for(count)};
    index->numbers = mem_clear(rules->bands * index->slots, sizeof *index->numbers);
    index->tags = mem_clear(rules->bands * index->slots, sizeof *index->tags);
    return index;
}

void near_index_close(struct near_index *index)
{
    if (!index)
        return;
    mem_free(index->numbers);
    mem_free(index->tags);
    mem_free(index);
}

static uint32_t count_equal(const uint8_t *a, const uint8_t *b)
{
    uint32_t equal = 0;
    for (size_t i = 0; i < NEAR_VALUES; i++)
        equal += a[i] == b[i];
    return equal;
}

/* Looks for a similar document in the table of one band. 1: found. 0: *free is where this one can be added, or
 * UINT64_MAX where the band has enough. */
static int find(const struct near_index *index, uint32_t band, const struct near_sketch *sketch, uint64_t *free,
                struct error *err)
{
    const uint64_t first = band * index->slots;
    const uint8_t tag = (uint8_t)sketch->bands[band];
    uint64_t at = (uint64_t)sketch->bands[band] * index->slots >> 32;
    uint32_t seen = 0;
    for (; index->numbers[first + at] != 0; at = at + 1 < index->slots ? at + 1 : 0) {
        uint8_t values[NEAR_VALUES];
        if (index->tags[first + at] != tag)
            continue;
        TRY(index->read(index->context, index->numbers[first + at] - 1, values, err));
        if (count_equal(values, sketch->values) >= index->rules.equal)
            return 1;
        if (++seen == CANDIDATES_MAX) {
            *free = UINT64_MAX;
            return 0;
        }
    }
    *free = first + at;
    return 0;
}

int near_index_add(struct near_index *index, uint32_t number, const struct near_sketch *sketch, struct error *err)
{
    uint64_t free[NEAR_BANDS_MAX];
    for (uint32_t band = 0; band < index->rules.bands; band++) {
        const int found = find(index, band, sketch, &free[band], err);
        if (found != 0)
            return found;
    }
    for (uint32_t band = 0; band < index->rules.bands; band++)
        if (free[band] != UINT64_MAX) {
            index->numbers[free[band]] = number + 1;
            index->tags[free[band]] = (uint8_t)sketch->bands[band];
        }
    return 0;
}

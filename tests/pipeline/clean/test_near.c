/* Words and n-grams; the rules of near duplicates for each P; similar documents are found, others are not. */
#include "pipeline/clean/near.h"
#include "tests/unit.h"

static size_t count_common(const char *a, const char *b, size_t n, size_t *count_a, size_t *count_b)
{
    struct gram_scratch scratch = {0}, other = {0};
    const struct grams x = grams_of(&scratch, str_of(a), n), y = grams_of(&other, str_of(b), n);
    size_t common = 0;
    for (size_t i = 0; i < x.count && i < y.count; i++)
        common += x.hashes[i] == y.hashes[i];
    *count_a = x.count;
    *count_b = y.count;
    gram_scratch_release(&scratch);
    gram_scratch_release(&other);
    return common;
}

/* Both texts have the same words, so many. */
static void assert_same_words(const char *a, const char *b, size_t words)
{
    size_t count_a, count_b;
    assert_int_equal(count_common(a, b, 1, &count_a, &count_b), words);
    assert_int_equal(count_a, words);
    assert_int_equal(count_b, words);
}

TEST(words_are_runs_of_letters_and_digits)
{
    assert_same_words("Hello, World!\n", "hello world", 2);
    assert_same_words("it's 42nd_street", "IT S 42ND Street", 4);
    assert_same_words("CAFÉ", "cafe\u0301", 1);                    /* NFC */
    assert_same_words("\ufb01ne \u2163 x\u00b2", "fine iv x2", 3); /* NFKC */
    assert_same_words("Привет, МИР", "привет мир", 2);
    assert_same_words("山の run", "山 の run", 3);
    assert_same_words("run山川9", "run 山 川 9", 4);
    assert_same_words(" ,.\n-- ", "", 0);
    assert_same_words("\ufdfa", "صلى الله عليه وسلم", 4); /* the longest decomposition */
}

TEST(n_grams_are_words_in_a_row)
{
    size_t a, b;
    assert_int_equal(count_common("a b c d e f", "a b c d e", NEAR_WORDS, &a, &b), 1);
    assert_int_equal(a, 2);
    assert_int_equal(b, 1);
    count_common("a b c d", "", NEAR_WORDS, &a, &b);
    assert_int_equal(a, 0);
}

TEST(rules_are_those_of_the_table)
{
    static const struct {
        uint32_t p, rows, bands, equal;
    } table[] = {{300000, 1, 11, 73},   {500000, 2, 13, 124}, {700000, 4, 13, 175},  {800000, 7, 12, 200},
                 {900000, 21, 12, 226}, {950000, 32, 8, 239}, {1000000, 256, 1, 251}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct near_rules rules = near_rules(table[i].p);
        assert_int_equal(rules.rows, table[i].rows);
        assert_int_equal(rules.bands, table[i].bands);
        assert_int_equal(rules.equal, table[i].equal);
    }
    for (uint32_t p = NEAR_LEAST; p <= 1000000; p += 1000) {
        const struct near_rules rules = near_rules(p);
        assert_true(rules.bands <= NEAR_BANDS_MAX && rules.rows * rules.bands <= NEAR_VALUES);
    }
}

enum { DOCUMENTS = 400, GRAMS = 120 };
static struct near_sketch sketches[DOCUMENTS];

static int read_values(void *context, uint32_t number, uint8_t values[NEAR_VALUES], struct error *err)
{
    (void)context;
    (void)err;
    memcpy(values, sketches[number].values, NEAR_VALUES);
    return 0;
}

/* Documents of GRAMS n-grams, of which `changed` differ from those of the one half a row before. How many are found. */
static size_t found_among(const struct near_rules *rules, size_t changed)
{
    struct near_index *index = near_index_open(rules, DOCUMENTS, read_values, NULL);
    size_t found = 0;
    for (uint32_t i = 0; i < DOCUMENTS; i++) {
        uint64_t hashes[GRAMS];
        for (uint64_t k = 0; k < GRAMS; k++) {
            const uint64_t of = k < changed ? i : i % (DOCUMENTS / 2);
            hashes[k] = (of * GRAMS + k + 1) * 0x9E3779B97F4A7C15ull;
        }
        near_sketch_make(rules, (struct grams){hashes, GRAMS}, &sketches[i]);
        struct error err = {0};
        const int similar = near_index_add(index, i, &sketches[i], &err);
        assert_true(similar >= 0 && (similar == 0 || i >= DOCUMENTS / 2));
        found += similar == 1;
    }
    near_index_close(index);
    return found;
}

/* J = (GRAMS - changed) / (GRAMS + changed). */
TEST(similar_documents_are_found)
{
    const struct near_rules rules = near_rules(800000);
    assert_int_equal(found_among(&rules, 0), DOCUMENTS / 2);
    assert_true(found_among(&rules, 9) >= DOCUMENTS / 2 * 97 / 100); /* 0.86 */
    assert_true(found_among(&rules, 22) <= DOCUMENTS / 2 * 2 / 100); /* 0.69 */
    assert_int_equal(found_among(&rules, 60), 0);
}

/* J = (GRAMS - changed) / (GRAMS + changed) with documents of one origin that have other numbers and no change. */
static void make_document(const struct near_rules *rules, uint64_t changed, uint32_t number)
{
    uint64_t hashes[GRAMS];
    for (uint64_t k = 0; k < GRAMS; k++)
        hashes[k] = ((k < changed ? number + 1 : 0) * GRAMS + k + 1) * 0x9E3779B97F4A7C15ull;
    near_sketch_make(rules, (struct grams){hashes, GRAMS}, &sketches[number]);
}

/* Many that are not similar enough share bands with the one that is, and stand before it. */
TEST(all_candidates_are_compared)
{
    enum { OTHERS = 120 };
    const struct near_rules rules = near_rules(800000);
    struct near_index *index = near_index_open(&rules, OTHERS + 2, read_values, NULL);
    struct error err = {0};
    for (uint32_t i = 0; i < OTHERS + 2; i++) {
        make_document(&rules, i < OTHERS ? 21 : i == OTHERS ? 2 : 0, i); /* 0.70, 0.97 to the last */
        assert_int_equal(near_index_add(index, i, &sketches[i], &err), i > OTHERS);
    }
    near_index_close(index);
}

TEST(a_sketch_does_not_depend_on_order_or_repetition)
{
    const struct near_rules rules = near_rules(500000);
    const uint64_t few[] = {11, 22, 33}, again[] = {33, 11, 22, 11, 33};
    struct near_sketch a = {0}, b = {0};
    near_sketch_make(&rules, (struct grams){few, 3}, &a);
    near_sketch_make(&rules, (struct grams){again, 5}, &b);
    assert_memory_equal(&a, &b, near_sketch_bytes(&rules));
}

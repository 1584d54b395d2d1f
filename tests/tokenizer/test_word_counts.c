/* Counting words: exact while they fit into memory; beyond that, bounded and the same for the same calls. */
#include "tests/needs_faults.h"
#include "tests/tokenizer/help.h"

static uint64_t count_of(const struct word_counts *counts, const char *word)
{
    for (size_t i = 0; i < word_counts_size(counts); i++) {
        uint64_t n;
        if (str_equal(word_counts_word(counts, i, &n), str_of(word)))
            return n;
    }
    return 0;
}

TEST(counts_are_exact)
{
    SCOPED(word_counts_close_at) struct word_counts *counts = word_counts_open(64 << 20);
    char word[32];
    for (uint32_t round = 0; round < 3; round++)
        for (uint32_t i = 0; i < 50000; i++) {
            snprintf(word, sizeof word, "w%u", i);
            word_counts_add(counts, str_of(word), i);
        }
    assert_int_equal(word_counts_size(counts), 49999); /* w0 was added 0 times */
    assert_int_equal(word_counts_forgotten(counts), 0);
    for (size_t i = 0; i < word_counts_size(counts); i++) {
        uint64_t n;
        const struct str text = word_counts_word(counts, i, &n);
        snprintf(word, sizeof word, "w%zu", i + 1);
        assert_true(str_equal(text, str_of(word)));
        assert_true(n == 3 * (i + 1));
    }
    word_counts_reset(counts);
    assert_int_equal(word_counts_size(counts), 0);
    word_counts_add(counts, STR("w7"), 1);
    assert_int_equal(count_of(counts, "w7"), 1);
    word_counts_close(NULL);
}

TEST(counts_have_64_bits_and_words_any_bytes)
{
    SCOPED(word_counts_close_at) struct word_counts *counts = word_counts_open(0);
    char long_word[COUNTED_WORD_BYTES_MAX + 1];
    memset(long_word, 'a', sizeof long_word);
    word_counts_add(counts, STR("a\0b"), UINT64_C(1) << 40);
    word_counts_add(counts, STR("a\0b"), UINT64_C(1) << 40);
    word_counts_add(counts, STR("a\0c"), 1);
    word_counts_add(counts, STR(""), 1);
    word_counts_add(counts, (struct str){long_word, sizeof long_word}, 1);
    assert_int_equal(word_counts_size(counts), 2);
    word_counts_add(counts, (struct str){long_word, sizeof long_word - 1}, 1);
    assert_int_equal(word_counts_size(counts), 3);
    uint64_t n;
    assert_int_equal(word_counts_word(counts, 0, &n).size, 3);
    assert_true(n == UINT64_C(1) << 41);
}

TEST(merging_adds)
{
    SCOPED(word_counts_close_at) struct word_counts *a = word_counts_open(1 << 20), *b = word_counts_open(1 << 20);
    word_counts_add(a, STR("x"), 1);
    word_counts_add(a, STR("y"), 2);
    word_counts_add(b, STR("y"), 3);
    word_counts_add(b, STR("z"), 4);
    word_counts_merge(a, b);
    assert_int_equal(word_counts_size(a), 3);
    assert_int_equal(count_of(a, "x"), 1);
    assert_int_equal(count_of(a, "y"), 5);
    assert_int_equal(count_of(a, "z"), 4);
}

/* A million different words in 256 KiB: the frequent ones stay, all others are accounted for. */
TEST(memory_is_bounded)
{
    SCOPED(word_counts_close_at) struct word_counts *counts = word_counts_open(256 << 10);
    const uint64_t calls = mem_calls();
    uint64_t sum = 0;
    char word[32];
    for (uint32_t i = 0; i < 1000000; i++) {
        snprintf(word, sizeof word, "rare%u", i);
        word_counts_add(counts, str_of(word), 1);
        snprintf(word, sizeof word, "often%u", i % 100);
        word_counts_add(counts, str_of(word), 1);
    }
    assert_true(word_counts_size(counts) < 4000);
    assert_true(mem_calls() - calls < 2000); /* one scratch table each time memory is freed, and a few doublings */
    for (unsigned i = 0; i < 100; i++) {
        snprintf(word, sizeof word, "often%u", i);
        assert_int_equal(count_of(counts, word), 10000);
    }
    for (size_t i = 0; i < word_counts_size(counts); i++) {
        uint64_t n;
        word_counts_word(counts, i, &n);
        sum += n;
    }
    assert_int_equal(sum + word_counts_forgotten(counts), 2000000);
}

/* No word is rare and they do not fit into memory: all counts are dropped, several times. */
TEST(memory_is_bounded_where_no_word_is_rare)
{
    SCOPED(word_counts_close_at) struct word_counts *counts = word_counts_open(256 << 10);
    uint64_t sum = 0;
    char word[32];
    for (uint32_t i = 0; i < 50000; i++) {
        snprintf(word, sizeof word, "word%u", i);
        word_counts_add(counts, str_of(word), 1000000);
    }
    assert_true(word_counts_size(counts) < 10000);
    for (size_t i = 0; i < word_counts_size(counts); i++) {
        uint64_t n;
        word_counts_word(counts, i, &n);
        sum += n;
    }
    assert_true(sum + word_counts_forgotten(counts) == UINT64_C(50000) * 1000000);

    /* A merge keeps the totals of words dropped before. */
    SCOPED(word_counts_close_at) struct word_counts *all = word_counts_open(256 << 10);
    const uint64_t forgotten = word_counts_forgotten(counts);
    assert_true(forgotten > 0);
    for (uint64_t times = 1; times <= 2; times++) {
        word_counts_merge(all, counts);
        assert_true(word_counts_forgotten(all) >= times * forgotten);
    }
}

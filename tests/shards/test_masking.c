/* Masks: how many, where, and what the model sees there. */
#include "tests/shards/tiny.h"

#include "shards/masking.h"

static const struct mask_rules rules = {
    .vocab_size = 1000, .cls = 101, .sep = 102, .mask = 103, .millionths = 150000, .predictions = 20};

/* [CLS] 60 pieces [SEP] 65 pieces [SEP], ids of their own at each position. */
static void fill(struct sample *sample, uint32_t length, uint32_t index)
{
    sample->length = length;
    sample->a_length = length / 2;
    sample->masked = 0;
    for (uint32_t i = 0; i < length; i++)
        sample->ids[i] = 200 + (i * 5 + index) % 800;
    sample->ids[0] = rules.cls;
    sample->ids[sample->a_length - 1] = sample->ids[length - 1] = rules.sep;
}

static void counts_round_half_to_even(void **state)
{
    (void)state;
    static const uint32_t vectors[][2] = {{1, 1},   {3, 1},   {10, 2},   {30, 4},   {50, 8},
                                          {70, 10}, {90, 14}, {110, 16}, {128, 19}, {512, 77}};
    for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++)
        assert_int_equal(mask_count(vectors[i][0], 150000, 1000), vectors[i][1]);
    assert_int_equal(mask_count(512, 150000, 20), 20);
    assert_int_equal(mask_count(100, 0, 20), 1);
    assert_int_equal(mask_count(4096, 1000000, 4096), 4096);
}

static void masks_are_in_their_places(void **state)
{
    (void)state;
    const struct shard_layout layout = shard_layout_make(128, 20, 1000);
    const struct random_stream stream = random_stream(12345, RANDOM_MASK, 1, 2, 3, 128, 0);
    struct sample sample = sample_make(&layout), before = sample_make(&layout);
    for (uint32_t n = 0; n < 500; n++) {
        const uint32_t length = 5 + n % 124;
        fill(&sample, length, n);
        fill(&before, length, n);
        mask_sample(&stream, n, &rules, &sample);
        const uint32_t count = mask_count(length, 150000, 20);
        assert_int_equal(sample.masked, count < length - 3 ? count : length - 3);
        for (uint32_t i = 0; i < sample.masked; i++) {
            const uint32_t position = sample.positions[i];
            assert_true(i == 0 || sample.positions[i - 1] < position);
            assert_int_equal(sample.labels[i], before.ids[position]);
            assert_true(sample.labels[i] != rules.cls && sample.labels[i] != rules.sep);
        }
        mask_restore(&sample);
        assert_same_sample(&sample, &before);
    }
    sample_release(&sample);
    sample_release(&before);
}

/* The same draws, chosen the slow way. */
static void the_smallest_keys_win(void **state)
{
    (void)state;
    const struct shard_layout layout = shard_layout_make(128, 20, 1000);
    const struct random_stream stream = random_stream(5, RANDOM_MASK, 0, 0, 0, 128, 1);
    struct sample sample = sample_make(&layout), before = sample_make(&layout);
    for (uint32_t n = 0; n < 200; n++) {
        fill(&sample, 20 + n % 100, n);
        fill(&before, 20 + n % 100, n);
        mask_sample(&stream, n, &rules, &sample);
        uint32_t next = 0;
        for (uint32_t i = 0; i < before.length; i++) {
            uint32_t smaller = 0;
            if (before.ids[i] == rules.cls || before.ids[i] == rules.sep)
                continue;
            for (uint32_t j = 0; j < before.length; j++)
                smaller += before.ids[j] != rules.cls && before.ids[j] != rules.sep &&
                           random_at(&stream, n, j) < random_at(&stream, n, i);
            if (smaller < sample.masked)
                assert_int_equal(sample.positions[next++], i);
        }
        assert_int_equal(next, sample.masked);
    }
    sample_release(&sample);
    sample_release(&before);
}

static void everything_may_be_masked(void **state)
{
    (void)state;
    const struct shard_layout layout = shard_layout_make(16, 16, 1000);
    const struct random_stream stream = random_stream(5, RANDOM_MASK, 0, 0, 0, 16, 0);
    struct mask_rules all = rules;
    struct sample sample = sample_make(&layout);
    all.millionths = 1000000;
    all.predictions = 16;
    fill(&sample, 16, 0);
    mask_sample(&stream, 0, &all, &sample);
    assert_int_equal(sample.masked, 13);
    mask_restore(&sample);
    sample.length = sample.a_length = 1; /* nothing but [CLS] */
    mask_sample(&stream, 0, &all, &sample);
    assert_int_equal(sample.masked, 0);
    sample_release(&sample);
}

static double chi_square(const unsigned *seen, const double *expected, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (seen[i] - expected[i]) * (seen[i] - expected[i]) / expected[i];
    return sum;
}

/* With a fixed seed these are facts, not chances; the bounds are the 99.9 % points of chi-square. */
static void shares_are_as_the_paper_says(void **state)
{
    (void)state;
    enum { SAMPLES = 20000, LENGTH = 128 };
    const struct shard_layout layout = shard_layout_make(128, 20, 1000);
    const struct random_stream stream = random_stream(12345, RANDOM_MASK, 0, 0, 0, 128, 0);
    struct sample sample = sample_make(&layout);
    unsigned kinds[3] = {0}, places[LENGTH - 3] = {0}, pieces[10] = {0}, total = 0;
    for (uint32_t n = 0; n < SAMPLES; n++) {
        fill(&sample, LENGTH, n);
        mask_sample(&stream, n, &rules, &sample);
        for (uint32_t i = 0; i < sample.masked; i++, total++) {
            const uint32_t position = sample.positions[i], id = sample.ids[position];
            const bool kept = id == sample.labels[i];
            kinds[id == rules.mask ? 0 : kept ? 1 : 2]++;
            places[position - 1 - (position >= LENGTH / 2)]++;
            if (id != rules.mask && !kept)
                pieces[id / 100]++;
        }
    }
    assert_int_equal(total, SAMPLES * 19);
    /* A random piece is the original or [MASK] once in 1,000 each. */
    const double t = total;
    const double kinds_expected[3] = {t * (0.8 + 0.1 / 1000), t * (0.1 + 0.1 / 1000), t * 0.1 * 998 / 1000};
    double places_expected[LENGTH - 3], pieces_expected[10];
    for (int i = 0; i < LENGTH - 3; i++)
        places_expected[i] = t / (LENGTH - 3);
    for (int i = 0; i < 10; i++)
        pieces_expected[i] = kinds[2] / 10.0;
    assert_true(chi_square(kinds, kinds_expected, 3) < 13.8);
    assert_true(chi_square(places, places_expected, LENGTH - 3) < 179.6); /* 124 degrees of freedom */
    assert_true(chi_square(pieces, pieces_expected, 10) < 27.9);
    sample_release(&sample);
}

/* Datasets depend on these draws: a change here needs another text_version. */
static void the_masks_never_change(void **state)
{
    (void)state;
    const struct shard_layout layout = shard_layout_make(32, 5, 1000);
    const struct random_stream stream = random_stream(12345, RANDOM_MASK, 1, 2, 3, 32, 0);
    static const uint32_t positions[5] = {2, 12, 14, 20, 22}, ids[5] = {210, 103, 103, 770, 103};
    struct sample sample = sample_make(&layout);
    fill(&sample, 32, 0);
    mask_sample(&stream, 1, &rules, &sample);
    assert_int_equal(sample.masked, 5);
    for (int i = 0; i < 5; i++) { /* one is kept, one is a random piece */
        assert_int_equal(sample.positions[i], positions[i]);
        assert_int_equal(sample.ids[positions[i]], ids[i]);
    }
    sample_release(&sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_round_half_to_even),    cmocka_unit_test(masks_are_in_their_places),
        cmocka_unit_test(the_smallest_keys_win),        cmocka_unit_test(everything_may_be_masked),
        cmocka_unit_test(shares_are_as_the_paper_says), cmocka_unit_test(the_masks_never_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

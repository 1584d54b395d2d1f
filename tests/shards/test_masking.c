/* Masks: their number, their positions, and the ids that replace the masked ones. Which ones a seed gives is compared
 * with reference/instances.c in flow/reference.py. */
#include "tests/shards/tiny.h"

#include <math.h>

#include "shards/masking.h"

static const struct mask_rules rules = {.vocab_size = 1000,
                                        .cls = 101,
                                        .sep = 102,
                                        .mask = 103,
                                        .millionths = 150000,
                                        .predictions = 20,
                                        .split = MASK_SPLIT_BERT};

/* [CLS] 60 pieces [SEP] 65 pieces [SEP], a different id at each position. */
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
    assert_int_equal(mask_count(8192, 1000000, 8192), 8192);
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
    sample.length = sample.a_length = 1; /* [CLS] only */
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

/* With a fixed seed the result never varies; the bounds are the 99.9 % points of chi-square. */
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
    /* A random piece is the original with probability 1/1,000, and [MASK] with the same. */
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

/* Other shares than BERT's, among them those where one kind is all. */
static void shares_may_be_others(void **state)
{
    (void)state;
    static const struct mask_split splits[] = {{1000000, 0}, {0, 1000000}, {0, 0}, {250000, 900000}};
    static const double wanted[][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0.25, 0.675, 0.075}};
    const struct shard_layout layout = shard_layout_make(128, 20, 1000);
    const struct random_stream stream = random_stream(12345, RANDOM_MASK, 0, 0, 0, 128, 0);
    struct sample sample = sample_make(&layout);
    for (size_t s = 0; s < sizeof splits / sizeof *splits; s++) {
        struct mask_rules own = rules;
        double kinds[3] = {0}, total = 0;
        own.split = splits[s];
        for (uint32_t n = 0; n < 2000; n++) {
            fill(&sample, 128, n);
            mask_sample(&stream, n, &own, &sample);
            for (uint32_t i = 0; i < sample.masked; i++, total++) {
                const uint32_t id = sample.ids[sample.positions[i]];
                kinds[id == rules.mask ? 0 : id == sample.labels[i] ? 1 : 2]++;
            }
        }
        for (int kind = 0; kind < 3; kind++) /* a random piece may be [MASK] or the token itself */
            if (fabs(kinds[kind] / total - wanted[s][kind]) > (s < 2 ? 0 : 0.01))
                fail_msg("split %zu, kind %d: %g", s, kind, kinds[kind] / total);
    }
    sample_release(&sample);
}

/* ---- whole words: in this vocabulary the pieces from 800 on continue a word ---- */

static uint64_t continues_from_800[16];

static struct mask_rules word_rules(void)
{
    struct mask_rules words = rules;
    for (unsigned id = 800; id < 1000; id++)
        continues_from_800[id / 64] |= (uint64_t)1 << id % 64;
    words.continues = continues_from_800;
    return words;
}

/* As fill, with words of 1 to `longest` pieces at random; fixed: all words have `longest` pieces. */
static void fill_words(struct sample *sample, uint32_t length, uint32_t index, uint32_t longest, bool fixed)
{
    const struct random_stream stream = random_stream(99, RANDOM_MASK, 0, 0, 0, length, 0);
    fill(sample, length, index);
    for (uint32_t i = 1, left = 0; i < length; i++) {
        if (sample->ids[i] == rules.sep)
            left = 0;
        else if (left > 0)
            sample->ids[i] = 800 + (index + i) % 200;
        else
            sample->ids[i] = 200 + (index + i) % 600;
        if (left > 0)
            left--;
        else if (sample->ids[i] != rules.sep)
            left = fixed ? longest - 1 : random_below(random_at(&stream, index, i), longest);
    }
}

static void pieces_that_continue_words_are_found(void **state)
{
    (void)state;
    struct str pieces[130];
    for (size_t i = 0; i < 130; i++)
        pieces[i] = i % 3 == 1 ? STR("##ing") : STR("ing");
    pieces[0] = STR("##");
    pieces[2] = STR("#");
    pieces[5] = STR("");
    pieces[6] = STR("a##");
    uint64_t *bits = mask_continues(pieces, 130);
    for (size_t i = 0; i < 130; i++)
        assert_int_equal(bits[i / 64] >> i % 64 & 1, i % 3 == 1 || i == 0);
    mem_free(bits);
}

static void a_word_that_does_not_fit_stays(void **state)
{
    (void)state;
    const struct shard_layout layout = shard_layout_make(16, 4, 1000);
    const struct random_stream stream = random_stream(5, RANDOM_MASK, 0, 0, 0, 16, 0);
    const struct mask_rules words = word_rules();
    struct sample sample = sample_make(&layout);
    fill_words(&sample, 16, 0, 20, true); /* two words of 6 and 7 pieces; 2 masks */
    mask_sample(&stream, 0, &words, &sample);
    assert_int_equal(sample.masked, 0);
    sample.length = sample.a_length = 1;
    mask_sample(&stream, 0, &words, &sample);
    assert_int_equal(sample.masked, 0);
    sample_release(&sample);
}

/* Where all words have one piece, masking by word equals masking by token. */
static void words_of_one_piece_are_pieces(void **state)
{
    (void)state;
    const struct shard_layout layout = shard_layout_make(128, 20, 1000);
    const struct random_stream stream = random_stream(6, RANDOM_MASK, 0, 0, 0, 128, 0);
    const struct mask_rules words = word_rules();
    struct sample a = sample_make(&layout), b = sample_make(&layout);
    for (uint32_t n = 0; n < 200; n++) {
        fill_words(&a, 5 + n % 124, n, 1, true);
        fill_words(&b, 5 + n % 124, n, 1, true);
        mask_sample(&stream, n, &rules, &a);
        mask_sample(&stream, n, &words, &b);
        assert_same_sample(&a, &b);
    }
    sample_release(&a);
    sample_release(&b);
}

/* With words of two pieces, each word is masked equally often, and each piece has its own draw for its replacement. */
static void shares_of_whole_words(void **state)
{
    (void)state;
    enum { SAMPLES = 20000, LENGTH = 127, WORDS = 62 };
    const struct shard_layout layout = shard_layout_make(128, 20, 1000);
    const struct random_stream stream = random_stream(12345, RANDOM_MASK, 0, 0, 0, 128, 0);
    const struct mask_rules words = word_rules();
    struct sample sample = sample_make(&layout);
    unsigned kinds[9] = {0}, places[LENGTH] = {0}, total = 0;
    for (uint32_t n = 0; n < SAMPLES; n++) {
        fill(&sample, LENGTH, n);
        sample.a_length = 64; /* 31 words in each segment */
        for (uint32_t i = 1; i < LENGTH - 1; i++)
            sample.ids[i] = (i < 64) == (i % 2 == 1) ? 200 + (n + i) % 600 : 800 + (n + i) % 200;
        sample.ids[63] = rules.sep;
        mask_sample(&stream, n, &words, &sample);
        assert_int_equal(sample.masked, 18); /* the 19th piece would be half a word */
        for (uint32_t i = 0; i < sample.masked; i += 2, total++) {
            unsigned kind[2];
            assert_int_equal(sample.positions[i + 1], sample.positions[i] + 1);
            for (uint32_t k = 0; k < 2; k++) {
                const uint32_t id = sample.ids[sample.positions[i + k]];
                kind[k] = id == rules.mask ? 0 : id == sample.labels[i + k] ? 1 : 2;
            }
            kinds[3 * kind[0] + kind[1]]++;
            places[sample.positions[i]]++;
        }
    }
    const double share[3] = {0.8 + 0.1 / 1000, 0.1 + 0.1 / 1000, 0.1 * 998 / 1000};
    double kinds_expected[9], places_expected[WORDS];
    unsigned by_word[WORDS], word = 0;
    for (int i = 0; i < 9; i++)
        kinds_expected[i] = total * share[i / 3] * share[i % 3];
    for (int i = 1; i < LENGTH - 1; i += i == 61 ? 3 : 2) /* 3 skips [SEP] */
        by_word[word++] = places[i];
    assert_int_equal(word, WORDS);
    for (int i = 0; i < WORDS; i++)
        places_expected[i] = (double)total / WORDS;
    assert_true(chi_square(kinds, kinds_expected, 9) < 26.1);
    assert_true(chi_square(by_word, places_expected, WORDS) < 100.9); /* 61 degrees of freedom */
    sample_release(&sample);
}

/* Datasets depend on these draws: a change needs another text_version. */
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
    static const uint32_t word_positions[5] = {13, 14, 22, 23, 24}, word_ids[5] = {496, 103, 103, 103, 103};
    const struct mask_rules words = word_rules();
    fill_words(&sample, 32, 0, 3, true);
    mask_sample(&stream, 1, &words, &sample);
    assert_int_equal(sample.masked, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(sample.positions[i], word_positions[i]);
        assert_int_equal(sample.ids[word_positions[i]], word_ids[i]);
    }
    sample_release(&sample);
}

/* Otherwise the masks of an epoch would equal the stored ones of some window. */
static void fresh_masks_are_not_drawn_as_stored_ones_are(void **state)
{
    (void)state;
    const struct shard_layout layout = shard_layout_make(128, 20, 1000);
    struct sample fresh = sample_make(&layout), stored = sample_make(&layout);
    for (uint64_t epoch = 0; epoch < 4; epoch++) {
        const struct random_stream stream = random_stream(42, RANDOM_MASK, 0, epoch, 0, 128, 0);
        fill(&fresh, 128, 0);
        fill(&stored, 128, 0);
        mask_anew(42, epoch, 7, 128, &rules, &fresh);
        mask_sample(&stream, 7, &rules, &stored);
        assert_int_equal(fresh.masked, stored.masked);
        assert_memory_not_equal(fresh.positions, stored.positions, stored.masked * sizeof *stored.positions);
    }
    sample_release(&fresh);
    sample_release(&stored);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_round_half_to_even),
        cmocka_unit_test(masks_are_in_their_places),
        cmocka_unit_test(everything_may_be_masked),
        cmocka_unit_test(shares_are_as_the_paper_says),
        cmocka_unit_test(shares_may_be_others),
        cmocka_unit_test(pieces_that_continue_words_are_found),
        cmocka_unit_test(a_word_that_does_not_fit_stays),
        cmocka_unit_test(words_of_one_piece_are_pieces),
        cmocka_unit_test(shares_of_whole_words),
        cmocka_unit_test(the_masks_never_change),
        cmocka_unit_test(fresh_masks_are_not_drawn_as_stored_ones_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

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

TEST(counts_round_half_to_even)
{
    static const uint32_t vectors[][2] = {{1, 1},   {3, 1},   {10, 2},   {30, 4},   {50, 8},
                                          {70, 10}, {90, 14}, {110, 16}, {128, 19}, {512, 77}};
    for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++)
        assert_int_equal(mask_count(vectors[i][0], 150000, 1000), vectors[i][1]);
    assert_int_equal(mask_count(512, 150000, 20), 20);
    assert_int_equal(mask_count(100, 0, 20), 1);
    assert_int_equal(mask_count(8192, 1000000, 8192), 8192);
}

TEST(masks_are_in_their_places)
{
    const struct shard_layout layout = shard_layout_make(128, 20, 1000);
    const struct random_stream stream = random_stream(12345, RANDOM_MASK, 1, 2, 3, 128, 0);
    SCOPED(sample_release) struct sample sample = sample_make(&layout), before = sample_make(&layout);
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
}

TEST(everything_may_be_masked)
{
    const struct shard_layout layout = shard_layout_make(16, 16, 1000);
    const struct random_stream stream = random_stream(5, RANDOM_MASK, 0, 0, 0, 16, 0);
    struct mask_rules all = rules;
    SCOPED(sample_release) struct sample sample = sample_make(&layout);
    all.millionths = 1000000;
    all.predictions = 16;
    fill(&sample, 16, 0);
    mask_sample(&stream, 0, &all, &sample);
    assert_int_equal(sample.masked, 13);
    mask_restore(&sample);
    sample.length = sample.a_length = 1; /* [CLS] only */
    mask_sample(&stream, 0, &all, &sample);
    assert_int_equal(sample.masked, 0);
}

/* Other shares than BERT's, among them those where one kind is all. */
TEST(shares_may_be_others)
{
    static const struct mask_split splits[] = {{1000000, 0}, {0, 1000000}, {0, 0}, {250000, 900000}};
    static const double wanted[][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0.25, 0.675, 0.075}};
    const struct shard_layout layout = shard_layout_make(128, 20, 1000);
    const struct random_stream stream = random_stream(12345, RANDOM_MASK, 0, 0, 0, 128, 0);
    SCOPED(sample_release) struct sample sample = sample_make(&layout);
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
}

/* ---- whole words: in this vocabulary the pieces from 800 on continue a word ---- */

static struct word_starts *continues_from_800;

static struct mask_rules word_rules(void)
{
    struct mask_rules words = rules;
    struct str pieces[1000];
    for (unsigned id = 0; id < 1000; id++)
        pieces[id] = id < 800 ? STR("a##") : STR("##a");
    struct vocab *vocab = vocab_make(VOCAB_WORDPIECE, pieces, 1000, (const uint32_t[ROLES]){0});
    word_starts_close(continues_from_800);
    words.words = continues_from_800 = word_starts_open(vocab);
    vocab_close(vocab);
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

TEST(a_word_that_does_not_fit_stays)
{
    const struct shard_layout layout = shard_layout_make(16, 4, 1000);
    const struct random_stream stream = random_stream(5, RANDOM_MASK, 0, 0, 0, 16, 0);
    const struct mask_rules words = word_rules();
    SCOPED(sample_release) struct sample sample = sample_make(&layout);
    fill_words(&sample, 16, 0, 20, true); /* two words of 6 and 7 pieces; 2 masks */
    mask_sample(&stream, 0, &words, &sample);
    assert_int_equal(sample.masked, 0);
    sample.length = sample.a_length = 1;
    mask_sample(&stream, 0, &words, &sample);
    assert_int_equal(sample.masked, 0);
}

/* Where all words have one piece, masking by word equals masking by token. */
TEST(words_of_one_piece_are_pieces)
{
    const struct shard_layout layout = shard_layout_make(128, 20, 1000);
    const struct random_stream stream = random_stream(6, RANDOM_MASK, 0, 0, 0, 128, 0);
    const struct mask_rules words = word_rules();
    SCOPED(sample_release) struct sample a = sample_make(&layout), b = sample_make(&layout);
    for (uint32_t n = 0; n < 200; n++) {
        fill_words(&a, 5 + n % 124, n, 1, true);
        fill_words(&b, 5 + n % 124, n, 1, true);
        mask_sample(&stream, n, &rules, &a);
        mask_sample(&stream, n, &words, &b);
        assert_same_sample(&a, &b);
    }
}

/* Datasets depend on these draws: a change needs another text_version. */
TEST(the_masks_never_change)
{
    const struct shard_layout layout = shard_layout_make(32, 5, 1000);
    const struct random_stream stream = random_stream(12345, RANDOM_MASK, 1, 2, 3, 32, 0);
    static const uint32_t positions[5] = {2, 12, 14, 20, 22}, ids[5] = {210, 103, 103, 770, 103};
    SCOPED(sample_release) struct sample sample = sample_make(&layout);
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
}

/* Otherwise the masks of an epoch would equal the stored ones of some window. */
TEST(fresh_masks_are_not_drawn_as_stored_ones_are)
{
    const struct shard_layout layout = shard_layout_make(128, 20, 1000);
    SCOPED(sample_release) struct sample fresh = sample_make(&layout), stored = sample_make(&layout);
    for (uint64_t epoch = 0; epoch < 4; epoch++) {
        const struct random_stream stream = random_stream(42, RANDOM_MASK, 0, epoch, 0, 128, 0);
        fill(&fresh, 128, 0);
        fill(&stored, 128, 0);
        mask_anew(42, epoch, 7, 128, &rules, &fresh);
        mask_sample(&stream, 7, &rules, &stored);
        assert_int_equal(fresh.masked, stored.masked);
        assert_memory_not_equal(fresh.positions, stored.positions, stored.masked * sizeof *stored.positions);
    }
}

/* Mixtures of datasets: which dataset each sample comes from, and which sample of it. */
#include "tests/shards/tiny.h"

#include "base/random.h"
#include "trainer/data/loader.h"
#include "trainer/data/mixture_source.h"
#include "trainer/data/shard_source.h"
#include "trainer/task/pretraining.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static const struct {
    uint32_t count;
    uint64_t asked[MIXTURE_MAX];
} mixtures[] = {
    {2, {7, 3}},
    {2, {1, 1}},
    {2, {1, 999999}},
    {2, {500000, 499999}},
    {3, {1, 1, 1}},
    {3, {600, 300, 100}},
    {4, {97, 1, 1, 1}},
    {6, {50, 10, 10, 10, 10, 10}},
    {9, {400, 75, 75, 75, 75, 75, 75, 75, 75}},
    {16, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
    {16, {1000, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
};

/* In two periods, every prefix keeps the proportions, the samples of each dataset come once and in order, and the
 * direct computation for a position agrees with counting. */
static void check(const uint32_t *weights, uint32_t count)
{
    struct mixture mixture;
    uint64_t had[MIXTURE_MAX] = {0};
    mixture_init(&mixture, weights, count);
    const int64_t period = mixture.period, m = 2 * (int64_t)count - 2;
    for (int64_t n = 0; n < 2 * period; n++) {
        const struct mixture_place place = mixture_at(&mixture, (uint64_t)n);
        if (place.dataset >= count || place.sample != had[place.dataset])
            fail_msg("place %ld: sample %lu of dataset %u", (long)n, (unsigned long)place.sample, place.dataset);
        had[place.dataset]++;
        for (uint32_t d = 0; d < count; d++)
            if (llabs(m * ((int64_t)had[d] * period - (n + 1) * weights[d])) > (m - 1) * period)
                fail_msg("%u datasets, weight %u of %ld: %lu of the first %ld", count, weights[d], (long)period,
                         (unsigned long)had[d], (long)n + 1);
    }
    for (uint32_t d = 0; d < count; d++) {
        assert_int_equal(had[d], 2 * weights[d]);
        assert_int_equal(mixture_count(&mixture, d, 2 * (uint64_t)period), 2 * weights[d]);
    }
    /* Positions far away repeat the same period. */
    const uint64_t far = (uint64_t)1 << 40;
    for (uint64_t n = far * mixture.period; n < far * mixture.period + 50; n++) {
        const struct mixture_place place = mixture_at(&mixture, n);
        assert_int_equal(place.sample, mixture_count(&mixture, place.dataset, n));
        assert_int_equal(mixture_count(&mixture, place.dataset, n + 1), place.sample + 1);
    }
    mixture_release(&mixture);
}

TEST(proportions_hold_at_every_prefix)
{
    uint32_t weights[MIXTURE_MAX], draws = 0;
    for (size_t i = 0; i < LENGTH(mixtures); i++) {
        assert_true(mixture_weights(mixtures[i].asked, mixtures[i].count, weights));
        check(weights, mixtures[i].count);
    }
    const struct random_stream stream = random_stream(7, RANDOM_ORDER, 0, 0, 0, 0, 0);
    for (uint32_t round = 0; round < 300; round++) {
        uint64_t asked[MIXTURE_MAX];
        const uint32_t count = 2 + random_below(random_at(&stream, 0, draws++), MIXTURE_MAX - 1);
        for (uint32_t d = 0; d < count; d++)
            asked[d] = 1 + random_below(random_at(&stream, 0, draws++), d == 0 ? 500 : 30);
        assert_true(mixture_weights(asked, count, weights));
        check(weights, count);
    }
}

TEST(two_datasets_alternate_as_a_line_is_drawn)
{
    struct mixture mixture;
    const uint32_t weights[] = {7, 3};
    char order[11] = "";
    mixture_init(&mixture, weights, 2);
    for (uint64_t i = 0; i < 10; i++)
        order[i] = (char)('A' + (int)mixture_at(&mixture, i).dataset);
    assert_string_equal(order, "ABAAABAABA");
    mixture_release(&mixture);
}

TEST(weights_are_converted_to_integers)
{
    uint32_t weights[3];
    assert_true(mixture_weights((const uint64_t[]){700000000, 300000000}, 2, weights));
    assert_int_equal(weights[0], 7);
    assert_int_equal(weights[1], 3);
    assert_true(mixture_weights((const uint64_t[]){333333333, 333333333, 333333333}, 3, weights));
    assert_int_equal(weights[2], 1);
    /* A third as Python prints it is not exactly a third: millionths, the largest remainder first. */
    assert_true(mixture_weights((const uint64_t[]){333333333, 666666667}, 2, weights));
    assert_int_equal(weights[0], 333333);
    assert_int_equal(weights[1], 666667);
    assert_true(mixture_weights((const uint64_t[]){2513345679, 812345678}, 2, weights));
    assert_int_equal((uint64_t)weights[0] * MIXTURE_PERIOD / (weights[0] + weights[1]), 755736);
    assert_true(mixture_weights((const uint64_t[]){1000000003, 1}, 2, weights) == false);
    assert_true(mixture_weights((const uint64_t[]){1, 1000000}, 2, weights)); /* the sum is one more than a period */
    assert_int_equal(weights[0] + weights[1], MIXTURE_PERIOD);
    /* The first of equal remainders is rounded up. */
    assert_true(mixture_weights((const uint64_t[]){494587, 494587, 2078006}, 3, weights));
    assert_int_equal(weights[0], 161252);
    assert_int_equal(weights[1], 161251);
    assert_true(mixture_weights((const uint64_t[]){12345}, 1, weights));
    assert_int_equal(weights[0], 1);
}

/* ---- sources ---- */

static struct error *const err = &tiny_err;

struct fixture {
    struct dataset a, b;
    struct shard_reading readings[2];
    struct mixed_sources mixed;
};

static void open_both(struct fixture *f, enum mask_policy masks)
{
    for (uint32_t d = 0; d < 2; d++) {
        f->readings[d] = (struct shard_reading){
            .dataset = d == 0 ? &f->a : &f->b,
            .shuffled = true,
            .masks = masks,
            .seed = 42 | (uint64_t)d << 32,
        };
        f->mixed.sources[d] = shard_source(&f->readings[d]);
    }
}

TEST(each_dataset_walks_its_own_epochs)
{
    struct fixture *f = *state;
    open_both(f, MASKS_AUTO);
    const struct source source = mixture_source(&f->mixed);
    SCOPED(sequence_release) struct sequence mixed = sequence_make(&source.room), own = sequence_make(&source.room);
    uint64_t next[2] = {0};
    uint32_t seen[2][64] = {{0}};
    assert_int_equal(source.samples, f->a.samples + f->b.samples);
    const double a = (double)f->a.length->tokens / (double)f->a.samples;
    const double b = (double)f->b.length->tokens / (double)f->b.samples;
    assert_true(fabs((double)source.tokens / (double)source.samples - (0.7 * a + 0.3 * b)) < 0.1 && a != b);
    for (uint64_t k = 0; k < 200; k++) {
        const uint32_t d = source.part(source.context, k);
        const struct source *one = &f->mixed.sources[d];
        assert_ok(source.fetch(source.context, k, &mixed, err));
        assert_ok(one->fetch(one->context, next[d], &own, err));
        assert_int_equal(mixed.length, own.length);
        assert_memory_equal(mixed.ids, own.ids, own.length * sizeof *own.ids);
        assert_int_equal(source.number(source.context, k), one->number(one->context, next[d]));
        seen[d][source.number(source.context, k)]++;
        if (++next[d] % one->samples == 0) /* the end of an epoch of this dataset: every sample once more */
            for (uint64_t i = 0; i < one->samples; i++)
                assert_int_equal(seen[d][i], next[d] / one->samples);
    }
    assert_int_equal(next[0], 140);
}

/* Both have the same records and differ only by their random stream. */
TEST(no_two_datasets_share_their_masks)
{
    struct fixture *f = *state;
    open_both(f, MASKS_FRESH);
    f->readings[1].dataset = &f->a;
    f->readings[0].shuffled = f->readings[1].shuffled = false;
    f->mixed.sources[1] = shard_source(&f->readings[1]);
    SCOPED(sequence_release)
    struct sequence a = sequence_make(&f->mixed.sources[0].room), b = sequence_make(&f->mixed.sources[0].room);
    int different = 0;
    for (uint64_t k = 0; k < f->a.samples; k++) {
        assert_ok(f->mixed.sources[0].fetch(f->mixed.sources[0].context, k, &a, err));
        assert_ok(f->mixed.sources[1].fetch(f->mixed.sources[1].context, k, &b, err));
        assert_int_equal(a.length, b.length);
        different += memcmp(a.ids, b.ids, a.length * sizeof *a.ids) != 0;
    }
    assert_true(different > (int)f->a.samples / 2);
}

TEST(evaluations_take_every_dataset)
{
    struct fixture *f = *state;
    open_both(f, MASKS_STORED);
    struct chained_sources chain = {.count = 3, .sources = {f->mixed.sources[0], {0}, f->mixed.sources[1]}};
    struct source source = chained_source(&chain, 1000);
    const uint64_t a = f->a.samples, b = f->b.samples;
    assert_int_equal(source.samples, a + b);
    assert_int_equal(source.parts, 3);
    assert_int_equal(source.borders[1], a);
    assert_int_equal(source.borders[2], a);
    assert_int_equal(source.part(source.context, a - 1), 0);
    assert_int_equal(source.part(source.context, a), 2);
    assert_int_equal(source.part(source.context, a + b), 0); /* starts over */
    assert_int_equal(source.number(source.context, a), f->mixed.sources[1].number(f->mixed.sources[1].context, 0));
    source = chained_source(&chain, (a + b) / 2);
    assert_in_range(source.samples, (a + b) / 2 - 1, (a + b) / 2);
    assert_int_equal(source.borders[1], a * ((a + b) / 2) / (a + b));
    const double mean = (double)(f->a.length->tokens + f->b.length->tokens) / (double)(a + b);
    assert_true(fabs((double)source.tokens / (double)source.samples - mean) < 2);
    source = chained_source(&chain, 1); /* at least one sample of each */
    assert_int_equal(source.samples, 2);
}

/* A run that continues from another's position, with a falling share of masks: the part of each dataset, and their
 * random streams. */
TEST(a_run_is_divided_among_its_datasets)
{
    struct fixture *f = *state;
    static struct pretraining pretraining; /* too large for a small stack */
    static struct datasets datasets;
    const struct recipe recipe = {
        .seed = 42,
        .shuffled = true,
        .masks = MASKS_FRESH,
        .mask_prob = {300000, 150000},
        .steps_before = 5,
        .samples_before = 20,
        .schedule = {.steps = 30},
        .batches = {4, 4, 0},
    };
    datasets = (struct datasets){.count = 2, .weights = {7, 3}};
    for (uint32_t d = 0; d < 2; d++) {
        datasets.train[d] = d == 0 ? f->a : f->b;
        datasets.valid[d] = f->b;
    }
    const struct task task = pretraining_task(&pretraining, &datasets, &recipe, 10000);
    const struct shard_reading *run = pretraining.run;
    assert_int_equal(run[0].seed, 42);
    assert_int_equal(run[1].seed, 42 | (uint64_t)1 << 32);
    assert_int_equal(run[0].first, 14);
    assert_int_equal(run[1].first, 6);
    assert_int_equal(run[0].count, 70);
    assert_int_equal(run[1].count, 30);
    assert_int_equal(run[1].mask_prob[0], 300000);
    assert_int_equal(task.samples.samples, f->a.samples + f->b.samples);
    assert_int_equal(task.samples.part(task.samples.context, 1), 1);
    assert_int_equal(task.splits[SPLIT_VALID].samples, 2 * f->b.samples);
    assert_int_equal(task.splits[SPLIT_TRAIN].parts, 2);
    for (uint32_t d = 0; d < 2; d++) {
        assert_int_equal(pretraining.splits[SPLIT_VALID][d].masks, MASKS_STORED);
        assert_false(pretraining.splits[SPLIT_VALID][d].shuffled);
    }
    pretraining_release(&pretraining);

    datasets.count = 1; /* one dataset is read as without mixtures */
    const struct task one = pretraining_task(&pretraining, &datasets, &recipe, 10000);
    assert_int_equal(run[0].first, 20);
    assert_int_equal(run[0].count, 100);
    assert_null(one.samples.part);
    assert_int_equal(one.splits[SPLIT_VALID].parts, 0);
    pretraining_release(&pretraining);
}

static char *directory;

static int set_up(void **state)
{
    static struct fixture fixture;
    const uint32_t weights[] = {7, 3};
    directory = tiny_directory();
    tiny_dataset(directory);
    assert_ok(dataset_open(&fixture.a, directory, 16, SPLIT_TRAIN, err));
    assert_ok(dataset_open(&fixture.b, directory, 16, SPLIT_VALID, err)); /* another number of samples */
    assert_true(fixture.a.samples > fixture.b.samples && fixture.b.samples > 1);
    mixture_init(&fixture.mixed.rule, weights, 2);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    mixture_release(&f->mixed.rule);
    dataset_close(&f->a);
    dataset_close(&f->b);
    tiny_remove(directory);
    return 0;
}

GROUP(set_up, tear_down)

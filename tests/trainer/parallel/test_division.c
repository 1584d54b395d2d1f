/* Shares of a batch, buckets of gradients, rows of words: all processes must divide them in the same way. */
#include "tests/unit.h"
#include "trainer/parallel/division.h"
#include "trainer/comm/comm.h"
#include "trainer/parallel/partition.h"
#include "trainer/parallel/division.h"
#include "trainer/parallel/word_rows.h"

#define ONE 1000000 /* a weight of 1 */

TEST(shares_are_known_ones)
{
    const struct {
        uint64_t units, weights[4];
        uint32_t ranks;
        uint64_t shares[4];
    } cases[] = {
        {256, {ONE}, 1, {256}},
        {256, {ONE, ONE, ONE, ONE}, 4, {64, 64, 64, 64}},
        {10, {ONE, ONE, ONE}, 3, {4, 3, 3}},         /* equal remainders: the lowest rank */
        {11, {ONE, ONE, ONE}, 3, {4, 4, 3}},         /* each rank at most one more */
        {256, {ONE, 3 * ONE}, 2, {64, 192}},         /* 1 : 3 */
        {7, {ONE, 2 * ONE, 4 * ONE}, 3, {1, 2, 4}},  /* exactly */
        {10, {ONE, 2 * ONE, 4 * ONE}, 3, {1, 3, 6}}, /* 1.43, 2.86, 5.71 */
        {100, {0, ONE, 0, ONE}, 4, {0, 50, 0, 50}},  /* a weight of 0 has an empty share */
        {2, {ONE, ONE, ONE}, 3, {1, 1, 0}},          /* fewer units than ranks */
        {0, {ONE, ONE}, 2, {0, 0}},                  /* no unit at all */
        {1, {333333, 666667}, 2, {0, 1}},            /* fractions */
        {UINT64_C(1) << 40, {WEIGHT_MAX, WEIGHT_MAX}, 2, {UINT64_C(1) << 39, UINT64_C(1) << 39}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t borders[5];
        divide_by_weight(cases[i].units, cases[i].weights, cases[i].ranks, borders);
        assert_int_equal(borders[0], 0);
        assert_true(borders[cases[i].ranks] == cases[i].units);
        for (uint32_t r = 0; r < cases[i].ranks; r++)
            assert_true(borders[r + 1] - borders[r] == cases[i].shares[r]);
    }
}

/* No share is a whole unit away from its exact part. */
TEST(no_share_is_off_by_one)
{
    uint64_t x = 1;
    for (int round = 0; round < 2000; round++) {
        uint64_t weights[16], borders[17], sum = 0;
        const uint32_t ranks = 1 + (uint32_t)round % 16;
        for (uint32_t r = 0; r < ranks; r++) {
            x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
            weights[r] = 1 + (x >> 33) % 5000000;
            sum += weights[r];
        }
        const uint64_t units = (x >> 40) % 5000;
        divide_by_weight(units, weights, ranks, borders);
        for (uint32_t r = 0; r < ranks; r++) {
            const double exact = (double)units * (double)weights[r] / (double)sum;
            assert_true(fabs((double)(borders[r + 1] - borders[r]) - exact) < 1);
        }
    }
}

/* Shares follow speeds if that helps the slowest. */
TEST(shares_follow_speeds)
{
    uint64_t borders[] = {0, 10, 19, 28}, few[] = {0, 2, 4, 6, 8};
    assert_false(divide_by_speed(28, (const double[]){1, 1.01, 0.99}, 3, borders));
    assert_true(borders[1] == 10 && borders[2] == 19 && borders[3] == 28);
    assert_true(divide_by_speed(28, (const double[]){1, 2, 4}, 3, borders));
    assert_true(borders[0] == 0 && borders[1] == 16 && borders[2] == 24 && borders[3] == 28);
    assert_false(divide_by_speed(28, (const double[]){1, 2, 4}, 3, borders));
    /* Slow ranks keep one unit each, taken from the fastest. */
    assert_true(divide_by_speed(8, (const double[]){100, 1, 100, 100}, 4, few));
    assert_true(few[0] == 0 && few[1] == 1 && few[2] == 6 && few[3] == 7 && few[4] == 8);
}

/* The median of ten steps; due after ten steps at first, then after a hundred. */
TEST(speeds_are_medians)
{
    struct speed speed = {0};
    for (int i = 1; i <= 10; i++) {
        assert_false(i > 1 && speed_is_due(&speed));
        speed_note(&speed, i == 5 ? 1000 : 4 * i, 2);
    }
    assert_true(speed_is_due(&speed) && speed_seconds(&speed) == 13); /* of 2 4 6 8 12 14 16 18 20 500 */
    speed_reset(&speed);
    for (int i = 1; i <= 100; i++) {
        assert_false(speed_is_due(&speed));
        speed_note(&speed, 3, i < 100 ? 1 : 0); /* an empty share has the speed of the step before */
    }
    assert_true(speed_is_due(&speed) && speed_seconds(&speed) == 3);
}

/* `parts`: layers, which exceed the maximum, are split into three groups each. */
static void check_buckets(const char *name, uint64_t most, bool parts)
{
    const enum layer_place begins[] = {LAYER_QUERY_WEIGHT, LAYER_UP_WEIGHT, LAYER_DOWN_WEIGHT};
    const size_t groups = parts ? 3 : 1;
    struct model_config config;
    struct params params;
    struct buckets buckets;
    assert_int_equal(model_config_named(name, &config), 0);
    params_init(&params, &config);
    buckets_init(&buckets, &params, most, parts);
    const size_t limit = most > 1 ? (size_t)most : BUCKET_BYTES_MAX / sizeof(float);
    assert_true(buckets.count + 4 < COMM_QUEUE);
    size_t to = params.size, chunk_to = params.chunk_count, group = 0;
    for (size_t i = 0; i < buckets.count; i++) {
        const struct bucket *bucket = &buckets.items[i];
        assert_true(bucket->to == to && bucket->from < to);
        assert_true(bucket->chunk_to == chunk_to && bucket->chunk_from < chunk_to);
        assert_true(params.chunks[bucket->chunk_from].offset == bucket->from);
        assert_true(to - bucket->from <= limit);
        assert_true(bucket->group == group);
        group += bucket->from == params_heads(&params)->offset;
        for (int32_t layer = 0; layer < params.layers; layer++)
            for (size_t part = 0; part < groups; part++)
                group += bucket->from == params_layer(&params, layer, begins[part])->offset;
        to = bucket->from;
        chunk_to = bucket->chunk_from;
    }
    assert_true(to == 0 && chunk_to == 0 && group == groups * (size_t)params.layers + 1);
    /* No bucket spans two groups of gradients. */
    for (int32_t layer = 0; layer <= params.layers; layer++) {
        const struct param *first = layer < params.layers ? params_layer(&params, layer, 0) : params_heads(&params);
        size_t i = 0;
        while (i < buckets.count && buckets.items[i].from != first->offset)
            i++;
        assert_true(i < buckets.count);
    }
    buckets_release(&buckets);
    params_release(&params);
}

TEST(buckets_cover_flat_memory)
{
    check_buckets("tiny", 0, false);
    check_buckets("base", 0, false);
    check_buckets("1.5b", 0, false); /* layers of several buckets */
    check_buckets("1.5b", 1, false); /* at most as many as may be under way at once */
    check_buckets("base", 1 << 24, false);
    check_buckets("base", 1 << 21, true);
    check_buckets("1.5b", 0, true);
}

/* The slices of a bucket are contiguous, begin at a chunk, and are as equal as chunks allow; packed, they are
 * contiguous too. */
static void check_pieces(const char *name, uint32_t size)
{
    struct model_config config;
    struct params params;
    struct partition partition;
    size_t *held = mem_clear(size, sizeof *held), all = 0;
    assert_int_equal(model_config_named(name, &config), 0);
    params_init(&params, &config);
    partition_init(&partition, &params, 0, true, size);
    for (size_t b = 0; b < partition.buckets.count; b++) {
        const struct bucket *bucket = &partition.buckets.items[b];
        size_t at = bucket->from, chunk = bucket->chunk_from;
        for (uint32_t r = 0; r < size; r++) {
            const struct slice *slice = partition_slice(&partition, b, r);
            const double equal = (double)(bucket->to - bucket->from) / size;
            assert_true(slice->from == at && slice->chunks.from == chunk && slice->to >= at);
            assert_true(slice->chunks.to == bucket->chunk_to || params.chunks[slice->chunks.to].offset == slice->to);
            assert_true(fabs((double)(slice->to - at) - equal) <= PARAM_CHUNK + size);
            assert_true(partition.counts[b * size + r] == slice->to - slice->from);
            assert_true(slice->place % SLICE_ALIGN == 0 && slice->held_from % SLICE_ALIGN == 0);
            assert_true(slice->place >= held[r]);
            held[r] = slice->place + (slice->to > slice->from ? slice->to - slice->held_from : 0);
            all += slice->to - slice->from;
            at = slice->to;
            chunk = slice->chunks.to;
        }
        assert_true(at == bucket->to && chunk == bucket->chunk_to);
    }
    for (uint32_t r = 0; r < size; r++)
        assert_true(held[r] <= partition.held[r] && partition.held[r] < held[r] + SLICE_ALIGN);
    assert_true(all == params.size);
    partition_release(&partition);
    params_release(&params);
    mem_free(held);
}

TEST(slices_cover_every_bucket)
{
    for (uint32_t size = 1; size <= 5; size++)
        check_pieces("tiny", size);
    check_pieces("tiny", 40); /* some slices are empty */
    check_pieces("base", 7);
    check_pieces("1.5b", 64);
}

TEST(small_models_have_a_bucket_a_group)
{
    struct model_config config;
    struct params params;
    struct buckets buckets;
    assert_int_equal(model_config_named("tiny", &config), 0);
    params_init(&params, &config);
    for (int parts = 0; parts < 2; parts++) {
        buckets_init(&buckets, &params, 0, parts > 0);
        assert_int_equal(buckets.count, config.layers + 2);
        buckets_release(&buckets);
    }
    params_release(&params);
}

/* ---- rows of words ---- */

#define RANKS 3

/* All processes move the same rows to the same places, unmarked rows first, and then move them back. Each rank has
 * `own` ids. */
static void check_rows(const struct params *params, int32_t *ids[RANKS], int32_t own)
{
    const size_t rows = params->items[1].offset / (size_t)params->items[0].shape[1],
                 width = params->items[1].offset / rows;
    SCOPED(mem_free_at)
    float *table = mem_array(params->size, sizeof *table), *other = mem_array(params->size, sizeof *other);
    SCOPED(mem_free_at) bool *marked = mem_clear(rows, sizeof *marked);
    for (size_t i = 0; i < rows * width; i++)
        table[i] = other[i] = (float)i;
    struct word_rows *first = word_rows_open(params, table, 0, RANKS), *last = word_rows_open(params, other, 2, RANKS);
    struct batch batches[RANKS];
    struct comm_work work = {0};
    SCOPED(mem_free_at) uint8_t *marks = mem_clear(RANKS, rows);
    size_t unmarked = rows, bytes = 0;
    for (uint32_t r = 0; r < RANKS; r++) { /* the marks of each rank */
        struct word_rows *one = word_rows_open(params, table, r, RANKS);
        batches[r] = (struct batch){.tokens = own, .token_rows = own, .ids = ids[r]};
        work = word_rows_tell(one, own > 0 ? &batches[r] : NULL);
        bytes = work.out_counts[r];
        memcpy(marks + r * bytes, (uint8_t *)work.out + r * bytes, bytes);
        word_rows_close(one);
        for (int32_t i = 0; i < own; i++) {
            unmarked -= !marked[ids[r][i]];
            marked[ids[r][i]] = true;
        }
    }
    memcpy(word_rows_tell(first, NULL).out, marks, RANKS * bytes); /* the exchange */
    memcpy(word_rows_tell(last, NULL).out, marks, RANKS * bytes);
    assert_int_equal(word_rows_move(first), unmarked * width);
    assert_int_equal(word_rows_move(last), unmarked * width);
    assert_memory_equal(table, other, rows * width * sizeof *table);
    for (size_t i = 0; i < rows; i++)
        assert_int_equal(marked[(size_t)table[i * width] / width], i >= unmarked);
    if (own > 0) {
        const struct batch *moved = word_rows_batch(first, &batches[1]);
        for (int32_t i = 0; i < own; i++)
            assert_true(table[(size_t)moved->ids[i] * width] == (float)((size_t)ids[1][i] * width));
    }
    word_rows_back(first);
    for (size_t i = 0; i < rows * width; i++)
        assert_true(table[i] == (float)i);
    word_rows_close(first);
    word_rows_close(last);
}

TEST(marked_rows_move_last_and_back)
{
    struct model_config config;
    struct params params;
    uint64_t x = 1;
    assert_int_equal(model_config_named("tiny", &config), 0);
    config.vocabulary = 150;
    config.hidden = 8;
    config.heads = 2;
    params_init(&params, &config);
    int32_t *ids[RANKS];
    for (uint32_t r = 0; r < RANKS; r++)
        ids[r] = mem_array(200, sizeof *ids[r]);
    for (int32_t own = 0; own <= 200; own += own < 4 ? 1 : 49) {
        for (uint32_t r = 0; r < RANKS; r++)
            for (int32_t i = 0; i < own; i++) {
                x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
                ids[r][i] = (int32_t)((x >> 33) % (own < 200 ? 150 : 140));
            }
        check_rows(&params, ids, own);
    }
    for (int32_t i = 0; i < 150; i++)
        ids[0][i] = ids[1][i] = ids[2][i] = i;
    check_rows(&params, ids, 150); /* every word is marked */
    for (uint32_t r = 0; r < RANKS; r++)
        mem_free(ids[r]);
    params_release(&params);
}

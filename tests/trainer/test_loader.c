// labels: threads
/* The order and the packing of what training sees. */
#include "tests/shards/tiny.h"

#include "trainer/data/loader.h"

static struct error *const err = &tiny_err;

static struct loader_options options_for(const struct dataset *dataset, uint32_t micro_batch)
{
    return (struct loader_options){
        .dataset = dataset,
        .shuffled = true,
        .masks = MASKS_STORED,
        .seed = 42,
        .count = dataset->samples,
        .batch = 4,
        .limits = {(int32_t)(micro_batch * dataset->layout.seq), (int32_t)(micro_batch * dataset->layout.predictions),
                   4, 0},
    };
}

/* Is sequence s of the batch this sample, with number `number`? */
static void check_sequence(const struct batch *batch, int32_t s, int32_t *masked, const struct sample *sample,
                           uint32_t number)
{
    const int32_t first = batch->starts[s];
    assert_int_equal(batch->starts[s + 1] - first, sample->length);
    assert_int_equal(batch->numbers[s], number);
    assert_int_equal(batch->next_labels[s], sample->is_random_next);
    for (int32_t i = 0; i < (int32_t)sample->length; i++) {
        assert_int_equal(batch->ids[first + i], sample->ids[i]);
        assert_int_equal(batch->positions[first + i], i);
        assert_int_equal(batch->segments[first + i], i >= (int32_t)sample->a_length);
        assert_int_equal(batch->sequence_of[first + i], s);
    }
    for (uint32_t i = 0; i < sample->masked; i++, ++*masked) {
        assert_int_equal(batch->masked_index[*masked], first + (int32_t)sample->positions[i]);
        assert_int_equal(batch->labels[*masked], sample->labels[i]);
    }
}

static void check_dead_rows(const struct batch *batch)
{
    assert_int_equal(batch->token_rows % BATCH_ROW_MULTIPLE, 0);
    assert_int_equal(batch->masked_rows % BATCH_ROW_MULTIPLE, 0);
    assert_in_range(batch->token_rows - batch->tokens, 0, BATCH_ROW_MULTIPLE - 1);
    assert_int_equal(batch->starts[batch->sequences], batch->tokens);
    for (int32_t i = batch->tokens; i < batch->token_rows; i++)
        assert_true(batch->ids[i] == -1 && batch->sequence_of[i] == -1 && batch->segments[i] == 0 &&
                    batch->positions[i] == 0);
    for (int32_t i = batch->masked; i < batch->masked_rows; i++)
        assert_true(batch->masked_index[i] == -1 && batch->labels[i] == -1);
}

/* Reads everything: whatever the cut, it is samples first, first + 1, … of the endless sequence, and the batch's counts
 * stand in its first micro-batch already. Returns the number of micro-batches. */
static size_t check_run(const struct loader_options *options)
{
    const struct micro_batch *micro;
    struct sample sample = sample_make(&options->dataset->layout);
    struct loader *loader = loader_open(options);
    uint64_t k = options->first;
    uint32_t number = 0;
    int64_t masked = 0, tokens = 0;
    size_t count = 0;
    int result;
    for (bool begins = true; (result = loader_next(loader, &micro, err)) == 1; begins = micro->ends, count++) {
        const struct batch *batch = &micro->batch;
        int32_t row = 0;
        assert_int_equal(micro->begins, begins);
        assert_true(batch->tokens <= options->limits.tokens && batch->masked <= options->limits.masked);
        assert_true(batch->sequences >= 1 && batch->sequences <= options->limits.sequences);
        number = begins ? 0 : number;
        masked = begins ? 0 : masked;
        tokens = begins ? 0 : tokens;
        for (int32_t s = 0; s < batch->sequences; s++) {
            assert_ok(loader_sample(options, k++, &sample, err));
            check_sequence(batch, s, &row, &sample, number++);
        }
        assert_int_equal(row, batch->masked);
        check_dead_rows(batch);
        masked += batch->masked;
        tokens += batch->tokens;
        if (micro->ends) {
            assert_int_equal(micro->masked, masked);
            assert_int_equal(micro->tokens, tokens);
            assert_int_equal(micro->sequences, number);
            assert_true(number == options->batch || k == options->first + options->count);
        }
    }
    assert_int_equal(result, 0);
    assert_int_equal(k, options->first + options->count);
    assert_true(loader_waited(loader) >= 0);
    loader_close(loader);
    sample_release(&sample);
    return count;
}

static void any_micro_batch_cuts_the_same_samples(void **state)
{
    const struct dataset *dataset = *state;
    struct loader_options options = options_for(dataset, 1);
    options.count = 3 * dataset->samples + 1;
    assert_in_range(check_run(&options), 14, options.count);
    for (uint32_t micro_batch = 2; micro_batch <= 4; micro_batch++) {
        options = options_for(dataset, micro_batch);
        options.count = 3 * dataset->samples + 1;
        check_run(&options);
    }
    assert_int_equal(check_run(&options), 13); /* micro-batch 4 is the batch */
}

static void a_run_goes_on_at_any_sample(void **state)
{
    struct loader_options options = options_for(*state, 2);
    for (options.first = 0; options.first < 40; options.first += 3) {
        options.count = 41 - options.first;
        check_run(&options);
    }
}

static void every_sample_once_per_epoch(void **state)
{
    const struct dataset *dataset = *state;
    struct loader_options options = options_for(dataset, 1);
    struct sample sample = sample_make(&dataset->layout);
    uint64_t orders[3] = {0};
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        uint32_t seen[17] = {0};
        for (uint64_t n = 0; n < dataset->samples; n++) {
            assert_ok(loader_sample(&options, epoch * dataset->samples + n, &sample, err));
            assert_in_range(sample.document_a, 1000, 1016);
            seen[sample.document_a - 1000]++;
            orders[epoch] = orders[epoch] * 31 + sample.document_a;
        }
        for (size_t i = 0; i < dataset->samples; i++)
            assert_int_equal(seen[i], 1);
    }
    assert_true(orders[0] != orders[1] && orders[1] != orders[2]);
    options.shuffled = false;
    for (uint64_t k = 0; k < 40; k++) {
        assert_ok(loader_sample(&options, k, &sample, err));
        assert_int_equal(sample.document_a, 1000 + k % 17);
    }
    sample_release(&sample);
}

static void fresh_masks_differ_by_epoch_and_restore_the_text(void **state)
{
    const struct dataset *dataset = *state;
    struct loader_options options = options_for(dataset, 1);
    struct sample stored = sample_make(&dataset->layout), fresh = sample_make(&dataset->layout);
    uint32_t differing = 0;
    options.shuffled = false; /* so that sample k mod n is the same text in every epoch */
    for (uint64_t k = 0; k < dataset->samples; k++) {
        options.masks = MASKS_AUTO;
        assert_ok(loader_sample(&options, k, &stored, err)); /* the first epoch: as on disk */
        assert_ok(dataset_sample(dataset, k, &fresh, err));
        assert_same_sample(&stored, &fresh);
        assert_ok(loader_sample(&options, k + dataset->samples, &fresh, err));
        assert_in_range(fresh.masked, 1, dataset->layout.predictions);
        struct sample again = sample_make(&dataset->layout);
        assert_ok(loader_sample(&options, k + dataset->samples, &again, err));
        assert_same_sample(&fresh, &again);
        assert_ok(loader_sample(&options, k + 2 * dataset->samples, &again, err));
        differing += again.masked != fresh.masked || memcmp(again.positions, fresh.positions, again.masked * 4) != 0;
        for (uint32_t i = 0; i < fresh.masked; i++)
            fresh.ids[fresh.positions[i]] = fresh.labels[i];
        for (uint32_t i = 0; i < stored.masked; i++)
            stored.ids[stored.positions[i]] = stored.labels[i];
        assert_memory_equal(fresh.ids, stored.ids, stored.length * 4);
        sample_release(&again);
    }
    assert_true(differing >= 5);
    options.masks = MASKS_STORED;
    assert_ok(loader_sample(&options, 3 + dataset->samples, &stored, err));
    assert_ok(dataset_sample(dataset, 3, &fresh, err));
    assert_same_sample(&stored, &fresh);
    sample_release(&stored);
    sample_release(&fresh);
}

/* "##s" is masked together with the piece before it, and never alone. */
static void fresh_masks_are_by_word_where_the_stored_are(void **state)
{
    (void)state;
    struct dataset dataset;
    char *made = tiny_directory();
    tiny_masking = MASKS_WHOLE_WORD;
    tiny_dataset(made);
    tiny_masking = MASKS_TOKEN;
    assert_ok(dataset_open(&dataset, made, 16, SPLIT_TRAIN, err));
    struct loader_options options = options_for(&dataset, 1);
    struct sample sample = sample_make(&dataset.layout);
    uint32_t words = 0;
    options.masks = MASKS_FRESH;
    for (uint64_t k = 0; k < 20 * dataset.samples; k++) {
        bool masked[16] = {false};
        assert_ok(loader_sample(&options, k, &sample, err));
        for (uint32_t i = 0; i < sample.masked; i++) {
            masked[sample.positions[i]] = true;
            sample.ids[sample.positions[i]] = sample.labels[i];
        }
        for (uint32_t i = 1; i < sample.length; i++)
            if (sample.ids[i] == 6 && sample.ids[i - 1] != 2 && sample.ids[i - 1] != 3) {
                assert_int_equal(masked[i], masked[i - 1]);
                words += masked[i];
            }
    }
    assert_true(words > 10);
    sample_release(&sample);
    dataset_close(&dataset);
    tiny_remove(made);
}

static void closing_early_is_fine(void **state)
{
    struct loader_options options = options_for(*state, 1);
    const struct micro_batch *micro;
    options.count = 1000000;
    loader_close(loader_open(&options));
    struct loader *loader = loader_open(&options);
    assert_int_equal(loader_next(loader, &micro, err), 1);
    loader_close(loader);
    loader_close(NULL);
}

static void what_does_not_fit_is_left(void **state)
{
    const struct dataset *dataset = *state;
    struct sample sample = sample_make(&dataset->layout);
    tiny_sample(&dataset->layout, 3, &sample);
    const struct pack_limits limits[] = {{(int32_t)sample.length * 2 - 1, 100, 100, 0},
                                         {1000, (int32_t)sample.masked * 2 - 1, 100, 0},
                                         {1000, 100, 1, 0}};
    for (size_t i = 0; i < 3; i++) {
        struct batch batch;
        pack_init(&batch, &limits[i]);
        pack_clear(&batch);
        assert_true(pack_add(&batch, &limits[i], &sample, 5));
        assert_false(pack_add(&batch, &limits[i], &sample, 6));
        pack_finish(&batch, &limits[i]);
        assert_int_equal(batch.sequences, 1);
        assert_int_equal(batch.tokens, sample.length);
        assert_int_equal(batch.numbers[0], 5);
        check_dead_rows(&batch);
        pack_release(&batch);
    }
    sample_release(&sample);
}

/* Whatever is packed, there are few row counts, the largest of them is the budget's own, and rows beyond are dead. */
static void rows_come_in_few_shapes(void **state)
{
    const struct dataset *dataset = *state;
    const struct pack_limits limits = {.tokens = 5000, .masked = 1337, .sequences = 400, .shapes = PACK_SHAPES};
    struct sample sample = sample_make(&dataset->layout);
    struct batch batch;
    int32_t shapes = 0, last = 0, masked_shapes = 0, masked_last = 0;
    pack_init(&batch, &limits);
    pack_clear(&batch);
    for (uint32_t n = 0;; n++) {
        tiny_sample(&dataset->layout, n % 17, &sample);
        if (!pack_add(&batch, &limits, &sample, n))
            break;
        pack_finish(&batch, &limits);
        assert_true(batch.token_rows % BATCH_ROW_MULTIPLE == 0 && batch.masked_rows % BATCH_ROW_MULTIPLE == 0);
        assert_in_range(batch.token_rows, batch.tokens, 5056);
        assert_in_range(batch.masked_rows, batch.masked, 1344);
        for (int32_t i = batch.tokens; i < batch.token_rows; i++)
            assert_true(batch.ids[i] == -1 && batch.sequence_of[i] == -1);
        for (int32_t i = batch.masked; i < batch.masked_rows; i++)
            assert_true(batch.masked_index[i] == -1 && batch.labels[i] == -1);
        shapes += batch.token_rows != last;
        masked_shapes += batch.masked_rows != masked_last;
        last = batch.token_rows;
        masked_last = batch.masked_rows;
    }
    assert_true(batch.sequences == 400 || last == 5056);
    assert_in_range(shapes, 2, PACK_SHAPES);
    assert_in_range(masked_shapes, 2, PACK_SHAPES);
    pack_release(&batch);
    sample_release(&sample);
}

static struct dataset opened;
static char *directory;

static int set_up(void **state)
{
    directory = tiny_directory();
    tiny_dataset(directory);
    assert_ok(dataset_open(&opened, directory, 16, SPLIT_TRAIN, err));
    *state = &opened;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    dataset_close(&opened);
    tiny_remove(directory);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_micro_batch_cuts_the_same_samples),
        cmocka_unit_test(a_run_goes_on_at_any_sample),
        cmocka_unit_test(every_sample_once_per_epoch),
        cmocka_unit_test(fresh_masks_differ_by_epoch_and_restore_the_text),
        cmocka_unit_test(fresh_masks_are_by_word_where_the_stored_are),
        cmocka_unit_test(closing_early_is_fine),
        cmocka_unit_test(what_does_not_fit_is_left),
        cmocka_unit_test(rows_come_in_few_shapes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

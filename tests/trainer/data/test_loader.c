// labels: threads
/* The order of samples in training, and their packing. */
#include "tests/shards/tiny.h"

#include "trainer/data/loader.h"
#include "trainer/data/shard_source.h"

static struct error *const err = &tiny_err;

static struct shard_reading reading_of(const struct dataset *dataset)
{
    return (struct shard_reading){
        .dataset = dataset, .shuffled = true, .masks = MASKS_STORED, .seed = 42, .split = MASK_SPLIT_BERT};
}

static struct loader_options options_for(const struct source *source, uint32_t micro_batch)
{
    return (struct loader_options){
        .source = source,
        .count = source->samples,
        .batch = 4,
        .limits =
            {
                .tokens = (int32_t)(micro_batch * source->room.length),
                .sequences = 4,
                .marks = {[HEAD_MASKED] = (int32_t)(micro_batch * source->room.marks[HEAD_MASKED]), [HEAD_NEXT] = 4},
            },
    };
}

static void fetch(const struct source *source, uint64_t k, struct sequence *sequence)
{
    assert_ok(source->fetch(source->context, k, sequence, err));
}

static void assert_same_sequence(const struct sequence *a, const struct sequence *b)
{
    assert_int_equal(a->length, b->length);
    assert_int_equal(a->a_length, b->a_length);
    assert_memory_equal(a->ids, b->ids, a->length * sizeof *a->ids);
    for (int h = 0; h < HEAD_KINDS; h++) {
        const struct marks *one = &a->marks[h], *other = &b->marks[h];
        assert_int_equal(one->count, other->count);
        assert_memory_equal(one->tokens, other->tokens, one->count * sizeof *one->tokens);
        assert_memory_equal(one->labels, other->labels, one->count * sizeof *one->labels);
    }
}

/* Asserts that the sequence is this record of the dataset. */
static void assert_is_record(const struct sequence *sequence, const struct dataset *dataset, uint64_t index)
{
    SCOPED(sample_release) struct sample sample = sample_make(&dataset->layout);
    assert_ok(dataset_sample(dataset, index, &sample, err));
    const uint32_t first = 0;
    const struct sequence record = {
        .length = sample.length,
        .a_length = sample.a_length,
        .ids = sample.ids,
        .marks =
            {
                [HEAD_MASKED] = {sample.masked, sample.positions, sample.labels},
                [HEAD_NEXT] = {1, (uint32_t *)&first, &sample.is_random_next},
            },
    };
    assert_same_sequence(sequence, &record);
}

/* Asserts that sequence s of the batch is this one, with number `number`. rows [HEAD_KINDS]: the rows of each head
 * before it. */
static void check_sequence(const struct batch *batch, int32_t s, int32_t *rows, const struct sequence *sequence,
                           uint32_t number)
{
    const int32_t first = batch->starts[s];
    assert_int_equal(batch->starts[s + 1] - first, sequence->length);
    assert_int_equal(batch->numbers[s], number);
    for (int32_t i = 0; i < (int32_t)sequence->length; i++) {
        assert_int_equal(batch->ids[first + i], sequence->ids[i]);
        assert_int_equal(batch->positions[first + i], i);
        assert_int_equal(batch->segments[first + i], i >= (int32_t)sequence->a_length);
        assert_int_equal(batch->sequence_of[first + i], s);
    }
    for (int h = 0; h < HEAD_KINDS; h++) {
        const struct marks *marks = &sequence->marks[h];
        for (uint32_t i = 0; i < marks->count; i++, rows[h]++) {
            assert_int_equal(batch->read_index[batch->heads[h].index[rows[h]]], first + (int32_t)marks->tokens[i]);
            assert_int_equal(batch->heads[h].labels[rows[h]], marks->labels[i]);
        }
    }
}

static void check_dead_rows(const struct batch *batch)
{
    assert_int_equal(batch->token_rows % BATCH_ROW_MULTIPLE, 0);
    assert_in_range(batch->token_rows - batch->tokens, 0, BATCH_ROW_MULTIPLE - 1);
    assert_int_equal(batch->starts[batch->sequences], batch->tokens);
    for (int32_t i = batch->tokens; i < batch->token_rows; i++)
        assert_true(batch->ids[i] == -1 && batch->sequence_of[i] == -1 && batch->segments[i] == 0 &&
                    batch->positions[i] == 0);
    for (int h = 0; h < HEAD_KINDS; h++) {
        const struct head_batch *head = &batch->heads[h];
        assert_int_equal(head->total % BATCH_ROW_MULTIPLE, 0);
        assert_in_range(head->total - head->live, 0, BATCH_ROW_MULTIPLE - 1);
        for (int32_t i = head->live; i < head->total; i++)
            assert_true(head->index[i] == -1 && head->labels[i] == -1);
    }
}

/* The rows that heads read are those that have a label of any head, and the rows of every head are among them. */
static void check_read_rows(const struct batch *batch, const struct sequence *sequences)
{
    const struct batch *read = batch->read;
    int32_t row = 0, places[HEAD_KINDS] = {0};
    assert_non_null(read);
    assert_int_equal(read->sequences, batch->sequences);
    assert_ptr_equal(read->numbers, batch->numbers);
    for (int32_t i = 0; i < batch->sequences; i++) {
        uint32_t done[HEAD_KINDS] = {0};
        assert_int_equal(read->starts[i], row);
        for (uint32_t token = 0; token < sequences[i].length; token++) {
            bool reads = false;
            for (int h = 0; h < HEAD_KINDS; h++)
                if (done[h] < sequences[i].marks[h].count && sequences[i].marks[h].tokens[done[h]] == token) {
                    assert_int_equal(batch->heads[h].index[places[h]], row);
                    assert_int_equal(batch->heads[h].labels[places[h]++], sequences[i].marks[h].labels[done[h]++]);
                    reads = true;
                }
            if (!reads)
                continue;
            assert_int_equal(batch->read_index[row], batch->starts[i] + (int32_t)token);
            assert_int_equal(read->positions[row], token);
            assert_int_equal(read->sequence_of[row++], i);
        }
    }
    assert_int_equal(read->tokens, row);
    assert_int_equal(read->starts[read->sequences], row);
    assert_int_equal(read->token_rows % BATCH_ROW_MULTIPLE, 0);
    for (; row < read->token_rows; row++)
        assert_true(batch->read_index[row] == -1 && read->sequence_of[row] == -1 && read->positions[row] == 0);
}

/* Reads all micro-batches. For any division they have the share of samples first, first + 1, … of the endless sequence.
 * A sample's number is its position in the whole batch, and the first micro-batch has the counts of the whole share.
 * Returns the number of micro-batches. */
static size_t check_run(const struct loader_options *options)
{
    const struct source *source = options->source;
    struct loader_options at = *options; /* with the step of the batch */
    const uint32_t share_to = options->share_to > 0 ? options->share_to : options->batch;
    const uint64_t end = options->first + options->count;
    const struct micro_batch *micro;
    SCOPED(sequence_release) struct sequence sequence = sequence_make(&source->room);
    struct loader *loader = loader_open(options);
    uint64_t batch_first = options->first;
    uint32_t number = loader_place(&at, options->share_from);
    int64_t marks[HEAD_KINDS] = {0}, tokens = 0;
    size_t count = 0;
    int result;
    for (bool begins = true; (result = loader_next(loader, &micro, err)) == 1; begins = micro->ends, count++) {
        const struct batch *batch = &micro->batch;
        int32_t rows[HEAD_KINDS] = {0};
        assert_int_equal(micro->begins, begins);
        assert_true(batch->tokens <= options->limits.tokens);
        assert_true(batch->sequences >= 1 && batch->sequences <= options->limits.sequences);
        for (int32_t s = 0; s < batch->sequences; s++) {
            fetch(source, batch_first + number, &sequence);
            check_sequence(batch, s, rows, &sequence, number++);
            for (int h = 0; h < HEAD_KINDS; h++)
                marks[h] += sequence.marks[h].count;
        }
        for (int h = 0; h < HEAD_KINDS; h++) {
            assert_int_equal(rows[h], batch->heads[h].live);
            assert_true(batch->heads[h].live <= options->limits.marks[h]);
        }
        check_dead_rows(batch);
        tokens += batch->tokens;
        if (micro->ends) {
            assert_memory_equal(micro->marks, marks, sizeof marks);
            assert_int_equal(micro->tokens, tokens);
            assert_int_equal(micro->sequences, number - loader_place(&at, options->share_from));
            assert_true(number == loader_place(&at, share_to) || batch_first + number == end);
            batch_first += loader_batch_size(&at);
            at.step++;
            number = loader_place(&at, options->share_from);
            tokens = 0;
            memset(marks, 0, sizeof marks);
        }
    }
    assert_int_equal(result, 0);
    assert_true(batch_first + options->share_from >= end);
    assert_true(loader_waited(loader) >= 0);
    loader_close(loader);
    return count;
}

TEST(any_micro_batch_cuts_the_same_samples)
{
    const struct shard_reading reading = reading_of(*state);
    const struct source source = shard_source(&reading);
    struct loader_options options = options_for(&source, 1);
    options.count = 3 * source.samples + 1;
    assert_in_range(check_run(&options), 14, options.count);
    for (uint32_t micro_batch = 2; micro_batch <= 4; micro_batch++) {
        options = options_for(&source, micro_batch);
        options.count = 3 * source.samples + 1;
        check_run(&options);
    }
    assert_int_equal(check_run(&options), 13); /* a micro-batch of 4 is the whole batch */
}

TEST(a_run_resumes_at_any_sample)
{
    const struct shard_reading reading = reading_of(*state);
    const struct source source = shard_source(&reading);
    struct loader_options options = options_for(&source, 2);
    for (options.first = 0; options.first < 40; options.first += 3) {
        options.count = 41 - options.first;
        check_run(&options);
    }
}

TEST(a_share_is_a_part_of_every_batch)
{
    const struct shard_reading reading = reading_of(*state);
    const struct source source = shard_source(&reading);
    struct loader_options options = options_for(&source, 2);
    options.first = 5;
    for (options.share_from = 0; options.share_from < 4; options.share_from++)
        for (options.share_to = options.share_from + 1; options.share_to <= 4; options.share_to++)
            for (options.count = 16; options.count < 20; options.count++)
                check_run(&options);
    options.share_from = 2;
    options.share_to = 3;
    options.count = 18; /* four whole batches, and one that ends before the share */
    assert_int_equal(check_run(&options), 4);
    options.count = 19;
    assert_int_equal(check_run(&options), 5);
}

/* Sizes grow from A to B and then stay; batch_plan_samples is their sum. */
TEST(batches_grow_as_planned)
{
    static const struct batch_plan plans[] = {{1, 4, 3},           {64, 256, 7}, {3, 3, 5},
                                              {1, 1u << 20, 1000}, {5, 6, 1},    {7, 7, 0}};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        const struct batch_plan *plan = &plans[i];
        uint64_t sum = 0;
        for (uint64_t n = 0; n < plan->steps + 5; n++) {
            const uint32_t size = batch_plan_size(plan, n);
            const double line = plan->first + (plan->last - plan->first) * (n + 0.5) / (plan->steps ? plan->steps : 1);
            assert_int_equal(batch_plan_samples(plan, n), sum);
            if (n < plan->steps)
                assert_true(size >= line - 1 && size <= line + 1);
            assert_in_range(size, n < plan->steps ? plan->first : plan->last, plan->last);
            sum += size;
            if (plan->steps > 0)
                assert_true(fabs(batch_plan_steps(plan, plan->steps, sum) - (n + 1)) < 1);
        }
        assert_true(fabs(batch_plan_steps(plan, 0.5, 1000 * (0.5 * (plan->first + plan->last) / 2 + 0.5 * plan->last)) -
                         1000) < 1e-6);
    }
    const struct batch_plan longest = {1, 1u << 20, UINT32_MAX};
    assert_int_equal(batch_plan_size(&longest, UINT32_MAX), 1u << 20);
    assert_int_equal(batch_plan_samples(&longest, UINT32_MAX), UINT32_MAX + ((1ull << 20) - 1) * UINT32_MAX / 2);
}

TEST(growing_batches_take_every_sample_once)
{
    const struct shard_reading reading = reading_of(*state);
    const struct source source = shard_source(&reading);
    struct loader_options options = options_for(&source, 2);
    options.plan = (struct batch_plan){2, 4, 6};
    for (options.step = 0; options.step < 8; options.step++) { /* resumed at any step */
        options.first = batch_plan_samples(&options.plan, options.step);
        options.count = batch_plan_samples(&options.plan, 9) - options.first;
        check_run(&options);
    }
    options.step = options.first = 0;
    options.count = batch_plan_samples(&options.plan, 9);
    uint32_t places[3];
    for (options.step = 0; options.step < 7; options.step++) { /* two shares divide every batch */
        for (uint32_t i = 0; i < 3; i++)
            places[i] = loader_place(&options, 2 * i);
        assert_int_equal(places[0], 0);
        assert_true(places[1] > 0 && places[2] > places[1]);
        assert_int_equal(places[2], loader_batch_size(&options));
    }
    options.step = 0;
    for (options.share_from = 0; options.share_from < 4; options.share_from += 2) {
        options.share_to = options.share_from + 2;
        check_run(&options);
    }
}

TEST(every_sample_once_per_epoch)
{
    const struct dataset *dataset = *state;
    struct shard_reading reading = reading_of(dataset);
    const struct source source = shard_source(&reading);
    SCOPED(sequence_release) struct sequence sequence = sequence_make(&source.room);
    uint64_t orders[3] = {0};
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        uint32_t seen[17] = {0};
        for (uint64_t n = 0; n < dataset->samples; n++) {
            const uint64_t k = epoch * dataset->samples + n, index = source.number(source.context, k);
            assert_in_range(index, 0, 16);
            seen[index]++;
            orders[epoch] = orders[epoch] * 31 + index;
            fetch(&source, k, &sequence);
            assert_is_record(&sequence, dataset, index);
        }
        for (size_t i = 0; i < dataset->samples; i++)
            assert_int_equal(seen[i], 1);
    }
    assert_true(orders[0] != orders[1] && orders[1] != orders[2]);
    reading.shuffled = false;
    for (uint64_t k = 0; k < 40; k++)
        assert_int_equal(source.number(source.context, k), k % 17);
}

static void restore(struct sequence *sequence)
{
    const struct marks *masked = &sequence->marks[HEAD_MASKED];
    for (uint32_t i = 0; i < masked->count; i++)
        sequence->ids[masked->tokens[i]] = masked->labels[i];
}

TEST(fresh_masks_differ_by_epoch_and_restore_the_text)
{
    const struct dataset *dataset = *state;
    struct shard_reading reading = reading_of(dataset);
    reading.shuffled = false; /* so that sample k has the text of sample k mod n */
    reading.masks = MASKS_AUTO;
    const struct source source = shard_source(&reading);
    SCOPED(sequence_release)
    struct sequence stored = sequence_make(&source.room), fresh = sequence_make(&source.room),
                    again = sequence_make(&source.room);
    uint32_t differing = 0, changed = 0;
    for (uint64_t k = 0; k < dataset->samples; k++) {
        const struct marks *before = &stored.marks[HEAD_MASKED];
        fetch(&source, k, &stored); /* in the first epoch as on disk */
        assert_is_record(&stored, dataset, k);
        fetch(&source, k + dataset->samples, &fresh);
        const struct marks *one = &fresh.marks[HEAD_MASKED], *other = &again.marks[HEAD_MASKED];
        assert_in_range(one->count, 1, dataset->layout.predictions);
        changed += before->count != one->count || memcmp(before->tokens, one->tokens, one->count * 4) != 0;
        fetch(&source, k + dataset->samples, &again);
        assert_same_sequence(&fresh, &again);
        fetch(&source, k + 2 * dataset->samples, &again);
        differing += other->count != one->count || memcmp(other->tokens, one->tokens, other->count * 4) != 0;
        restore(&fresh);
        restore(&stored);
        assert_memory_equal(fresh.ids, stored.ids, stored.length * 4);
    }
    assert_true(differing >= 5 && changed >= 5); /* the second epoch differs */
    reading.masks = MASKS_STORED;
    fetch(&source, 3 + dataset->samples, &stored);
    assert_is_record(&stored, dataset, 3);
}

/* The share of masks changes linearly with the sample's number; it may be more than records have room for. */
TEST(fresh_masks_take_the_share_that_is_asked_for)
{
    const struct dataset *dataset = *state;
    struct shard_reading reading = reading_of(dataset);
    reading.masks = MASKS_FRESH;
    reading.mask_prob[0] = 800000;
    reading.mask_prob[1] = 200000;
    reading.first = 10;
    reading.count = 100;
    const struct source source = shard_source(&reading);
    SCOPED(sequence_release) struct sequence sequence = sequence_make(&source.room);
    assert_int_equal(source.room.marks[HEAD_MASKED], 13); /* 0.8 of 16 tokens */
    assert_true(dataset->layout.predictions < 13);
    for (uint64_t k = 0; k < 130; k++) {
        const double share = k < 10 ? 0.8 : k < 110 ? 0.8 - 0.6 * (k - 10) / 100 : 0.2;
        fetch(&source, k, &sequence);
        uint32_t wanted = lrint(sequence.length * share), ordinary = 0;
        for (uint32_t i = 0; i < sequence.length; i++)
            ordinary += sequence.ids[i] != 2 && sequence.ids[i] != 3;
        if (wanted < ordinary)
            assert_in_range(sequence.marks[HEAD_MASKED].count, wanted > 1 ? wanted - 1 : 1, wanted + 1);
    }
}

/* Phases take the place of a share, and begin at their sample. */
TEST(masks_follow_phases)
{
    const struct dataset *dataset = *state;
    struct shard_reading reading = reading_of(dataset);
    reading.masks = MASKS_FRESH;
    reading.mask_prob[0] = reading.mask_prob[1] = 100000;
    reading.phases[0] = (struct mask_phase){300000, 20};
    reading.phases[1] = (struct mask_phase){900000, 50};
    reading.phases[2] = (struct mask_phase){150000, 51};
    reading.phase_count = 3;
    reading.split = (struct mask_split){1000000, 0};
    const struct source source = shard_source(&reading);
    SCOPED(sequence_release) struct sequence sequence = sequence_make(&source.room);
    assert_int_equal(source.room.marks[HEAD_MASKED], 14);
    for (uint64_t k = 0; k < 80; k++) {
        fetch(&source, k, &sequence);
        const struct marks *masked = &sequence.marks[HEAD_MASKED];
        const double share = k < 50 ? 0.3 : k == 50 ? 0.9 : 0.15;
        uint32_t wanted = lrint(sequence.length * share), ordinary = masked->count;
        for (uint32_t i = 0; i < sequence.length; i++)
            ordinary += sequence.ids[i] > 4;
        assert_int_equal(masked->count, wanted < 1 ? 1 : wanted < ordinary ? wanted : ordinary);
        for (uint32_t i = 0; i < masked->count; i++)
            assert_int_equal(sequence.ids[masked->tokens[i]], dataset->manifest.special.mask);
    }
}

/* "##s" is masked together with the piece before it, and never alone. */
TEST(fresh_masks_are_by_word_where_the_stored_are)
{
    struct dataset dataset;
    char *made = tiny_directory();
    tiny_masking = MASKS_WHOLE_WORD;
    tiny_dataset(made);
    tiny_masking = MASKS_TOKEN;
    assert_ok(dataset_open(&dataset, made, 16, SPLIT_TRAIN, err));
    struct shard_reading reading = reading_of(&dataset);
    reading.masks = MASKS_FRESH;
    const struct source source = shard_source(&reading);
    struct sequence sequence = sequence_make(&source.room);
    uint32_t words = 0;
    for (uint64_t k = 0; k < 20 * dataset.samples; k++) {
        bool masked[16] = {false};
        fetch(&source, k, &sequence);
        for (uint32_t i = 0; i < sequence.marks[HEAD_MASKED].count; i++)
            masked[sequence.marks[HEAD_MASKED].tokens[i]] = true;
        restore(&sequence);
        for (uint32_t i = 1; i < sequence.length; i++)
            if (sequence.ids[i] == 6 && sequence.ids[i - 1] != 2 && sequence.ids[i - 1] != 3) {
                assert_int_equal(masked[i], masked[i - 1]);
                words += masked[i];
            }
    }
    assert_true(words > 10);
    sequence_release(&sequence);
    dataset_close(&dataset);
    tiny_remove(made);
}

TEST(closing_early_is_fine)
{
    const struct shard_reading reading = reading_of(*state);
    const struct source source = shard_source(&reading);
    struct loader_options options = options_for(&source, 1);
    const struct micro_batch *micro;
    options.count = 1000000;
    loader_close(loader_open(&options));
    struct loader *loader = loader_open(&options);
    assert_int_equal(loader_next(loader, &micro, err), 1);
    loader_close(loader);
    loader_close(NULL);
}

/* Converts the sample of tiny_sample to a sequence. */
static void make_sequence(const struct shard_layout *layout, uint64_t n, struct sequence *sequence)
{
    struct marks *masked = &sequence->marks[HEAD_MASKED], *next = &sequence->marks[HEAD_NEXT];
    struct sample sample = {.ids = sequence->ids, .positions = masked->tokens, .labels = masked->labels};
    tiny_sample(layout, n, &sample);
    sequence->length = sample.length;
    sequence->a_length = sample.a_length;
    masked->count = sample.masked;
    next->count = 1;
    next->tokens[0] = 0;
    next->labels[0] = sample.is_random_next;
}

TEST(what_does_not_fit_is_left)
{
    const struct dataset *dataset = *state;
    const struct shard_reading reading = reading_of(dataset);
    const struct source source = shard_source(&reading);
    SCOPED(sequence_release) struct sequence sequence = sequence_make(&source.room);
    make_sequence(&dataset->layout, 3, &sequence);
    const struct pack_limits limits[] = {
        {.tokens = (int32_t)sequence.length * 2 - 1, .sequences = 100, .marks = {100, 100}},
        {.tokens = 1000, .sequences = 100, .marks = {(int32_t)sequence.marks[HEAD_MASKED].count * 2 - 1, 100}},
        {.tokens = 1000, .sequences = 100, .marks = {100, 1}},
        {.tokens = 1000, .sequences = 1, .marks = {100, 100}},
    };
    for (size_t i = 0; i < 4; i++) {
        struct batch batch;
        pack_init(&batch, &limits[i]);
        pack_clear(&batch);
        assert_true(pack_add(&batch, &limits[i], &sequence, 5));
        assert_false(pack_add(&batch, &limits[i], &sequence, 6));
        pack_finish(&batch, &limits[i]);
        assert_int_equal(batch.sequences, 1);
        assert_int_equal(batch.tokens, sequence.length);
        assert_int_equal(batch.numbers[0], 5);
        check_dead_rows(&batch);
        pack_release(&batch);
    }
}

/* Packing gives few different row counts; the largest is the budget's, and rows after the live ones are dead. */
TEST(rows_come_in_few_shapes)
{
    const struct dataset *dataset = *state;
    const struct pack_limits limits = {.tokens = 3000, .sequences = 400, .marks = {1337, 400}, .shapes = PACK_SHAPES};
    const struct shard_reading reading = reading_of(dataset);
    const struct source source = shard_source(&reading);
    struct sequence sequences[400];
    struct batch batch;
    int32_t count = 0, shapes[3] = {0}, last[3] = {0};
    pack_init(&batch, &limits);
    for (bool fits = true; fits && count < 400;) {
        sequences[count] = sequence_make(&source.room);
        make_sequence(&dataset->layout, (uint32_t)count % 17, &sequences[count]);
        count++;
        pack_clear(&batch);
        for (int32_t n = 0; n < count && fits; n++)
            fits = pack_add(&batch, &limits, &sequences[n], (uint32_t)n);
        memset(batch.read->starts, -1, (size_t)count * sizeof *batch.read->starts); /* stale numbers, which must be
                                                                                     * overwritten */
        pack_finish(&batch, &limits);
        check_read_rows(&batch, sequences);
        const int32_t rows[3] = {batch.token_rows, batch.heads[HEAD_MASKED].total, batch.read->token_rows};
        const int32_t live[3] = {batch.tokens, batch.heads[HEAD_MASKED].live, batch.read->tokens};
        const int32_t most[3] = {3008, 1344, 1792};
        for (int i = 0; i < 3; i++) {
            assert_true(rows[i] % BATCH_ROW_MULTIPLE == 0);
            assert_in_range(rows[i], live[i], most[i]);
            shapes[i] += rows[i] != last[i];
            last[i] = rows[i];
        }
        for (int32_t i = batch.tokens; i < batch.token_rows; i++)
            assert_true(batch.ids[i] == -1 && batch.sequence_of[i] == -1);
        for (int32_t i = batch.heads[HEAD_MASKED].live; i < batch.heads[HEAD_MASKED].total; i++)
            assert_true(batch.heads[HEAD_MASKED].index[i] == -1 && batch.heads[HEAD_MASKED].labels[i] == -1);
    }
    assert_int_equal(last[0], 3008); /* not a multiple of the step between shapes, which is 128 */
    for (int i = 0; i < 3; i++)
        assert_in_range(shapes[i], 2, PACK_SHAPES);
    pack_release(&batch);
    for (int32_t i = 0; i < count; i++)
        sequence_release(&sequences[i]);
}

/* Heads with room for more labels than there are tokens read at most all rows. */
TEST(no_more_rows_are_read_than_tokens)
{
    const struct dataset *dataset = *state;
    const struct pack_limits limits = {.tokens = 200, .sequences = 20, .marks = {1337, 400}, .shapes = 2};
    const struct shard_reading reading = reading_of(dataset);
    const struct source source = shard_source(&reading);
    SCOPED(sequence_release) struct sequence sequence = sequence_make(&source.room);
    struct batch batch;
    make_sequence(&dataset->layout, 16, &sequence);
    pack_init(&batch, &limits);
    pack_clear(&batch);
    assert_true(pack_add(&batch, &limits, &sequence, 0));
    pack_finish(&batch, &limits);
    assert_in_range(batch.read->token_rows, 1, 256);
    pack_release(&batch);
}

/* A head that reads all rows needs no list of rows. */
TEST(all_rows_are_read_where_a_head_wants_them)
{
    const struct dataset *dataset = *state;
    const struct pack_limits limits = {.tokens = 1000, .sequences = 9, .marks = {100, 9}, .reads_all = true};
    const struct shard_reading reading = reading_of(dataset);
    const struct source source = shard_source(&reading);
    SCOPED(sequence_release) struct sequence sequence = sequence_make(&source.room);
    struct batch batch;
    pack_init(&batch, &limits);
    pack_clear(&batch);
    make_sequence(&dataset->layout, 3, &sequence);
    assert_true(pack_add(&batch, &limits, &sequence, 0));
    assert_true(pack_add(&batch, &limits, &sequence, 1));
    pack_finish(&batch, &limits);
    assert_ptr_equal(batch_read(&batch), &batch);
    assert_int_equal(batch.heads[HEAD_NEXT].index[1], batch.starts[1]);
    pack_release(&batch);
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

GROUP(set_up, tear_down)

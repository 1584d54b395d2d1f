/* Opening a dataset directory as a reader does. */
#include "tests/shards/tiny.h"

#include "shards/dataset.h"

static void check_split(const char *directory, uint32_t seq, enum split split, uint64_t samples)
{
    struct dataset dataset;
    assert_ok(dataset_open(&dataset, directory, seq, split, &tiny_err));
    assert_int_equal(dataset.samples, samples);
    SCOPED(sample_release) struct sample expected = sample_make(&dataset.layout), sample = sample_make(&dataset.layout);
    for (uint64_t i = 0; i < samples; i++) {
        dataset_prefetch(&dataset, i);
        tiny_sample(&dataset.layout, i, &expected);
        assert_ok(dataset_sample(&dataset, i, &sample, &tiny_err));
        assert_same_sample(&sample, &expected);
    }
    dataset_close(&dataset);
}

TEST(samples_come_in_the_order_of_shards)
{
    const char *directory = *state;
    check_split(directory, 16, SPLIT_TRAIN, 17);
    check_split(directory, 16, SPLIT_VALID, 2);
    check_split(directory, 32, SPLIT_TRAIN, 4);
    check_split(directory, 32, SPLIT_VALID, 0); /* an empty split is not an error */
    check_split(directory, 0, SPLIT_TRAIN, 17); /* the shortest */
}

TEST(a_length_it_has_not)
{
    struct dataset dataset;
    assert_fails(dataset_open(&dataset, *state, 128, SPLIT_TRAIN, &tiny_err), ERR_MISMATCH);
    assert_non_null(strstr(tiny_err.hint, "16, 32"));
}

static void expect_open(const char *directory, enum error_kind kind, const char *file)
{
    struct dataset dataset;
    assert_fails(dataset_open(&dataset, directory, 16, SPLIT_TRAIN, &tiny_err), kind);
    assert_non_null(strstr(tiny_err.file, file));
    assert_true(tiny_err.hint[0]);
}

TEST(what_does_not_belong_is_refused)
{
    const char *directory = *state;
    static const char first[] = "seq16/train-00000-of-00003.dss", second[] = "seq16/train-00001-of-00003.dss";
    SCOPED(buf_release) struct buf one = tiny_read(directory, first), two = tiny_read(directory, second);
    SCOPED(mem_free_at) char *path = path_join(directory, second);
    struct manifest manifest;
    struct shard_header header;

    assert_ok(path_remove(path, &tiny_err)); /* missing */
    expect_open(directory, ERR_VERIFY, second);
    tiny_write(directory, second, two.data, two.size - 1); /* cut off */
    expect_open(directory, ERR_VERIFY, second);
    tiny_write(directory, second, one.data, one.size); /* another shard of this dataset */
    expect_open(directory, ERR_MISMATCH, second);
    assert_non_null(strstr(tiny_err.text, "it is another part of a dataset"));

    tiny_manifest(&manifest); /* the same shape, other samples */
    manifest_shard_header(&manifest, manifest_find(&manifest, 16, SPLIT_TRAIN), 1, &header);
    tiny_shard(path, &header, 100);
    expect_open(directory, ERR_MISMATCH, second);
    manifest.vocab_hash++;
    manifest_shard_header(&manifest, manifest_find(&manifest, 16, SPLIT_TRAIN), 1, &header);
    tiny_shard(path, &header, 6);
    expect_open(directory, ERR_MISMATCH, second);
    assert_non_null(strstr(tiny_err.text, "vocabulary"));
    manifest_release(&manifest);
    tiny_write(directory, second, two.data, two.size);

    tiny_write(directory, VOCAB_NAME, TINY_VOCAB "more\n", sizeof(TINY_VOCAB) + 4);
    expect_open(directory, ERR_MISMATCH, VOCAB_NAME);
    char other[] = TINY_VOCAB; /* the same length, other pieces */
    other[sizeof other - 3] = 's';
    tiny_write(directory, VOCAB_NAME, other, sizeof other - 1);
    expect_open(directory, ERR_MISMATCH, VOCAB_NAME);
    SCOPED(mem_free_at) char *vocab = path_join(directory, VOCAB_NAME);
    assert_ok(path_remove(vocab, &tiny_err));
    struct dataset dataset;
    assert_fails(dataset_open(&dataset, directory, 16, SPLIT_TRAIN, &tiny_err), ERR_VERIFY);
    tiny_write(directory, VOCAB_NAME, TINY_VOCAB, sizeof(TINY_VOCAB) - 1);
    check_split(directory, 16, SPLIT_TRAIN, 17);
}

/* Opening reads no records. A damaged record is found when it is read; the others can be read. */
TEST(damage_in_records_is_found_in_use)
{
    const char *directory = *state;
    static const char name[] = "seq16/valid-00000-of-00001.dss";
    SCOPED(buf_release) struct buf bytes = tiny_read(directory, name);
    struct dataset dataset;
    bytes.data[SHARD_HEADER_BYTES + 20] ^= 1;
    tiny_write(directory, name, bytes.data, bytes.size);
    assert_ok(dataset_open(&dataset, directory, 16, SPLIT_VALID, &tiny_err));
    struct sample sample = sample_make(&dataset.layout);
    assert_fails(dataset_sample(&dataset, 1, &sample, &tiny_err), ERR_VERIFY);
    assert_int_equal(tiny_err.offset, SHARD_HEADER_BYTES);
    assert_non_null(strstr(tiny_err.hint, "dsdata verify"));
    sample_release(&sample);
    dataset_close(&dataset);
    bytes.data[SHARD_HEADER_BYTES + 20] ^= 1;
    tiny_write(directory, name, bytes.data, bytes.size);
}

/* A reader that masks whole words needs to know which pieces continue a word; others do not. */
TEST(the_pieces_that_continue_words)
{
    struct dataset dataset;
    assert_ok(dataset_open(&dataset, *state, 16, SPLIT_TRAIN, &tiny_err));
    assert_null(dataset.words);
    dataset_close(&dataset);

    char *directory = tiny_directory();
    tiny_masking = MASKS_WHOLE_WORD;
    tiny_dataset(directory);
    tiny_masking = MASKS_TOKEN;
    assert_ok(dataset_open(&dataset, directory, 16, SPLIT_TRAIN, &tiny_err));
    assert_int_equal(dataset.manifest.masking, MASKS_WHOLE_WORD);
    bool starts[2];
    word_starts_mark(dataset.words, (const uint32_t[]){5, 6}, 2, starts);
    assert_true(starts[0] && !starts[1]); /* "##s" */
    dataset_close(&dataset);
    tiny_remove(directory);
}

GROUP(tiny_set_up, tiny_tear_down)

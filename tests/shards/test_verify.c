/* Any damage in a dataset is found and located. */
#include "tests/shards/tiny.h"

#include "shards/verify.h"

static const char *const files[] = {MANIFEST_NAME,
                                    VOCAB_NAME,
                                    "seq16/train-00000-of-00003.dss",
                                    "seq16/train-00001-of-00003.dss",
                                    "seq16/train-00002-of-00003.dss",
                                    "seq16/valid-00000-of-00001.dss",
                                    "seq32/train-00000-of-00001.dss"};
enum { FILES = sizeof(files) / sizeof(*files) };

static struct verify_report verify(const char *directory)
{
    struct verify_report report = {0};
    assert_ok(dataset_verify(directory, (struct verify_progress){0}, &report, &tiny_err));
    return report;
}

/* Exactly one range, in this file, with byte `at` in it. */
static void expect_one(const char *directory, const char *file, uint64_t at)
{
    SCOPED(verify_release) struct verify_report report = verify(directory);
    if (report.count != 1 || strcmp(report.damaged[0].file, file) != 0 || at < report.damaged[0].from ||
        at >= report.damaged[0].to)
        fail_msg("byte %zu of %s: %zu ranges, %s %zu-%zu", (size_t)at, file, report.count,
                 report.count ? report.damaged[0].file : "", report.count ? (size_t)report.damaged[0].from : 0,
                 report.count ? (size_t)report.damaged[0].to : 0);
}

TEST(a_good_dataset_is_good)
{
    uint64_t bytes = 0;
    for (size_t f = 0; f < FILES; f++) {
        SCOPED(buf_release) struct buf data = tiny_read(*state, files[f]);
        bytes += data.size;
    }
    SCOPED(verify_release) struct verify_report report = verify(*state);
    assert_int_equal(report.count, 0);
    assert_int_equal(report.files, FILES);
    assert_int_equal(report.bytes, bytes);
}

TEST(every_flipped_byte_is_found)
{
    for (size_t f = 0; f < FILES; f++) {
        SCOPED(buf_release) struct buf bytes = tiny_read(*state, files[f]);
        for (size_t i = 0; i < bytes.size; i++) {
            bytes.data[i] ^= (char)(1 << (i + f) % 8);
            tiny_write(*state, files[f], bytes.data, bytes.size);
            expect_one(*state, files[f], i);
            bytes.data[i] ^= (char)(1 << (i + f) % 8);
        }
        tiny_write(*state, files[f], bytes.data, bytes.size);
    }
}

TEST(missing_short_and_long_files_are_found)
{
    for (size_t f = 1; f < FILES; f++) {
        SCOPED(buf_release) struct buf bytes = tiny_read(*state, files[f]);
        SCOPED(mem_free_at) char *path = path_join(*state, files[f]);
        assert_ok(path_remove(path, &tiny_err));
        expect_one(*state, files[f], 0);
        tiny_write(*state, files[f], bytes.data, 0);
        expect_one(*state, files[f], 0);
        tiny_write(*state, files[f], bytes.data, bytes.size - 3);
        expect_one(*state, files[f], bytes.size - 3);
        tiny_write(*state, files[f], bytes.data, bytes.size - 1);
        expect_one(*state, files[f], bytes.size - 1);
        buf_add_text(&bytes, "more");
        tiny_write(*state, files[f], bytes.data, bytes.size);
        expect_one(*state, files[f], bytes.size - 4);
        tiny_write(*state, files[f], bytes.data, bytes.size - 3);
        expect_one(*state, files[f], bytes.size - 4);
        tiny_write(*state, files[f], bytes.data, bytes.size - 4);
    }
}

TEST(all_damage_is_listed)
{
    SCOPED(buf_release) struct buf first = tiny_read(*state, files[2]), last = tiny_read(*state, files[6]);
    first.data[0] ^= 1;                  /* header */
    first.data[SHARD_HEADER_BYTES] ^= 1; /* records */
    first.data[first.size - 1] ^= 1;     /* footer */
    tiny_write(*state, files[2], first.data, first.size);
    last.data[last.size - 49] ^= 1; /* table */
    tiny_write(*state, files[6], last.data, last.size);
    struct verify_report report = verify(*state);
    assert_int_equal(report.count, 4);
    assert_int_equal(report.damaged[0].from, 0);
    assert_int_equal(report.damaged[0].to, 4096);
    assert_int_equal(report.damaged[1].from, 4096);
    assert_int_equal(report.damaged[2].to, first.size);
    assert_string_equal(report.damaged[3].file, files[6]);
    assert_int_equal(report.damaged[3].from, last.size - 56);
    assert_int_equal(report.damaged[3].to, last.size - 48);
    verify_release(&report);
    first.data[0] ^= 1;
    first.data[SHARD_HEADER_BYTES] ^= 1;
    first.data[first.size - 1] ^= 1;
    last.data[last.size - 49] ^= 1;
    tiny_write(*state, files[2], first.data, first.size);
    tiny_write(*state, files[6], last.data, last.size);
}

TEST(a_shard_of_another_build_is_found)
{
    SCOPED(buf_release) struct buf one = tiny_read(*state, files[2]);
    struct manifest manifest;
    struct shard_header header;
    SCOPED(mem_free_at) char *path = path_join(*state, files[2]);
    tiny_manifest(&manifest);
    manifest_shard_header(&manifest, manifest_find(&manifest, 16, SPLIT_TRAIN), 0, &header);
    tiny_shard(path, &header, 100);
    expect_one(*state, files[2], 0);
    tiny_write(*state, files[2], one.data, one.size);
    manifest_release(&manifest);
}

/* Records of several MiB: the range is the block, not the file. */
TEST(ranges_are_blocks)
{
    enum { SAMPLES = 70000 };
    char *directory = tiny_directory(), name[SHARD_NAME_BYTES];
    struct manifest manifest;
    struct shard_header header;
    tiny_manifest(&manifest);
    for (size_t l = 0; l < manifest.length_count; l++) {
        manifest.lengths[l].samples = manifest.lengths[l].tokens = manifest.lengths[l].shards = 0;
        mem_free(manifest.lengths[l].hashes);
        manifest.lengths[l].hashes = mem_clear(1, sizeof(uint64_t));
    }
    struct manifest_length *length = &manifest.lengths[0];
    length->shards = 1;
    length->samples = length->tokens = SAMPLES;
    tiny_write(directory, VOCAB_NAME, TINY_VOCAB, sizeof(TINY_VOCAB) - 1);
    char *folder = path_join(directory, "seq16"), *path = path_join(directory, manifest_shard_name(length, 0, name));
    assert_ok(path_make_directory(folder, &tiny_err));
    manifest_shard_header(&manifest, length, 0, &header);
    length->hashes[0] = tiny_shard(path, &header, 0);
    assert_ok(manifest_write(&manifest, directory, &tiny_err));
    const uint64_t blocks = shard_block_count(&header);
    assert_true(blocks >= 5);

    struct buf bytes = tiny_read(directory, name);
    const size_t second = SHARD_HEADER_BYTES + SHARD_BLOCK_BYTES, third = second + SHARD_BLOCK_BYTES;
    bytes.data[third - 1] ^= 0x10;
    bytes.data[third] ^= 0x10;
    bytes.data[SHARD_HEADER_BYTES + shard_area_bytes(&header) - 1] ^= 0x10;
    tiny_write(directory, name, bytes.data, bytes.size);
    struct verify_report report = verify(directory);
    assert_int_equal(report.count, 2);
    assert_int_equal(report.damaged[0].from, second);
    assert_int_equal(report.damaged[0].to, third + SHARD_BLOCK_BYTES);
    assert_int_equal(report.damaged[1].from, SHARD_HEADER_BYTES + (blocks - 1) * SHARD_BLOCK_BYTES);
    assert_int_equal(report.damaged[1].to, SHARD_HEADER_BYTES + shard_area_bytes(&header));
    verify_release(&report);

    buf_release(&bytes);
    manifest_release(&manifest);
    mem_free(folder);
    mem_free(path);
    tiny_remove(directory);
}

static int stop_at_half(void *context, uint64_t done, uint64_t total)
{
    *(uint64_t *)context = done;
    return done * 2 > total ? -1 : 0;
}

TEST(it_can_be_stopped)
{
    uint64_t done = 0;
    SCOPED(verify_release) struct verify_report report = {0};
    const struct verify_progress progress = {stop_at_half, &done};
    assert_fails(dataset_verify(*state, progress, &report, &tiny_err), ERR_STOPPED);
    assert_true(done > 0);
}

TEST(no_dataset_is_an_error)
{
    SCOPED(verify_release) struct verify_report report = {0};
    assert_fails(dataset_verify("tiny-is-not-there", (struct verify_progress){0}, &report, &tiny_err), ERR_USAGE);
}

GROUP(tiny_set_up, tiny_tear_down)

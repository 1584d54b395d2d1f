/* The bytes of a header, and the layout of samples in shards. */
#include "tests/shards/tiny.h"

static struct shard_header good_header(void)
{
    struct shard_header header = {.text_version = 1,
                                  .seq = 128,
                                  .predictions = 20,
                                  .vocab_size = 30522,
                                  .vocab_hash = 7,
                                  .special = {0, 100, 101, 102, 103},
                                  .mask_millionths = 150000,
                                  .shard_count = 2,
                                  .shard = 1,
                                  .record_count = 1000};
    shard_header_finish(&header);
    return header;
}

TEST(sizes_of_the_usual_records)
{
    assert_int_equal(shard_layout_make(128, 20, 30522).record_bytes, 24 + 256 + 40 + 40);
    assert_int_equal(shard_layout_make(512, 80, 30522).record_bytes, 24 + 1024 + 160 + 160);
    assert_int_equal(shard_layout_make(128, 20, 65535).id_bytes, 2);
    assert_int_equal(shard_layout_make(128, 20, 65536).id_bytes, 4);
    assert_int_equal(shard_layout_make(17, 1, 10).record_bytes, 64); /* 24 + 34 + 2 + 2, rounded up to a multiple of 8
                                                                      * */
}

TEST(finished_header_is_whole)
{
    struct shard_header header = good_header();
    uint64_t offset;
    assert_memory_equal(header.magic, SHARD_MAGIC, 8);
    assert_int_equal(header.format_version, 1);
    assert_int_equal(header.record_bytes, 360);
    assert_null(shard_header_fault(&header, &offset));
    assert_int_equal(shard_file_bytes(&header), 4096 + 360000 + 8 + 48);
}

/* Any number in a field is refused, or the sizes computed from it do not overflow. */
TEST(hostile_fields_are_refused_or_harmless)
{
    static const uint64_t values[] = {0,
                                      1,
                                      2,
                                      3,
                                      15,
                                      16,
                                      17,
                                      127,
                                      128,
                                      129,
                                      359,
                                      360,
                                      361,
                                      4095,
                                      4096,
                                      4097,
                                      65535,
                                      65536,
                                      1000000,
                                      1000001,
                                      (1u << 24) - 1,
                                      1u << 24,
                                      (1u << 24) + 1,
                                      INT32_MAX,
                                      1u << 31,
                                      UINT32_MAX,
                                      (uint64_t)1 << 32,
                                      ((uint64_t)1 << 43) / 360,
                                      ((uint64_t)1 << 43) / 360 + 1,
                                      INT64_MAX,
                                      UINT64_MAX - 4095,
                                      UINT64_MAX};
    unsigned refused = 0;
    for (size_t at = 12; at < 112; at += 4)
        for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
            for (size_t bytes = 4; bytes <= 8; bytes += 4) {
                struct shard_header header = good_header();
                uint64_t offset = 0;
                memcpy((char *)&header + at, &values[i], bytes);
                if (shard_header_fault(&header, &offset)) {
                    refused++;
                    assert_true(offset < 112);
                    continue;
                }
                assert_in_range(header.seq, SHARD_SEQ_MIN, SHARD_SEQ_MAX);
                assert_in_range(header.predictions, 1, header.seq);
                assert_true(shard_area_bytes(&header) / header.record_bytes == header.record_count);
                assert_true(shard_file_bytes(&header) > shard_area_bytes(&header));
            }
    assert_true(refused > 500);
}

static bool is_good(const struct shard_header *header)
{
    uint64_t offset;
    return !shard_header_fault(header, &offset);
}

TEST(limits_are_exact)
{
    struct shard_header header = good_header();
    header.shard_count = SHARD_COUNT_MAX;
    assert_true(is_good(&header));
    header.shard_count++;
    assert_false(is_good(&header));
    header = good_header();
    header.record_count = SHARD_AREA_MAX / header.record_bytes;
    assert_true(is_good(&header));
    header.record_count++;
    assert_false(is_good(&header));
}

TEST(every_sample_has_one_place)
{
    for (uint64_t n = 1; n < 60; n++)
        for (uint64_t k = 1; k <= n; k++) {
            uint64_t sample = 0;
            for (uint64_t s = 0; s < k; s++) {
                assert_int_equal(shard_first(n, k, s), sample);
                assert_in_range(shard_records(n, k, s), n / k, n / k + 1);
                for (uint64_t r = 0; r < shard_records(n, k, s); r++)
                    assert_int_equal(shard_of(n, k, sample++), s);
            }
            assert_int_equal(sample, n);
        }
}

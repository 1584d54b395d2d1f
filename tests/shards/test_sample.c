/* Samples to records and back. */
#include "tests/shards/tiny.h"

#include "base/random.h"

static void round_trip(uint32_t seq, uint32_t predictions, uint32_t vocab_size)
{
    const struct shard_layout layout = shard_layout_make(seq, predictions, vocab_size);
    SCOPED(sample_release) struct sample in = sample_make(&layout), out = sample_make(&layout);
    SCOPED(mem_free_at) uint8_t *record = mem_alloc(layout.record_bytes + 1u);
    for (uint64_t n = 0; n < 40; n++)
        for (size_t shift = 0; shift < 2; shift++) { /* also unaligned */
            tiny_sample(&layout, n, &in);
            in.ids[1] = vocab_size - 1;
            memset(record, 0xAA, layout.record_bytes + 1u);
            record_encode(&layout, &in, record + shift);
            assert_null(record_decode(&layout, record + shift, &out));
            assert_same_sample(&in, &out);
        }
}

TEST(samples_read_back)
{
    round_trip(16, 4, 10);
    round_trip(17, 1, 65535);
    round_trip(17, 17, 65536);
    round_trip(128, 20, 30522);
    round_trip(SHARD_SEQ_MAX, SHARD_SEQ_MAX, SHARD_VOCAB_MAX);
}

TEST(a_record_has_these_bytes)
{
    const struct shard_layout layout = shard_layout_make(16, 3, 300);
    uint32_t ids[16] = {2, 299, 4, 3, 7, 3}, positions[3] = {2}, labels[3] = {258};
    const struct sample sample = {.document_a = 0x0102030405060708,
                                  .document_b = 9,
                                  .length = 6,
                                  .a_length = 4,
                                  .masked = 1,
                                  .is_random_next = 1,
                                  .ids = ids,
                                  .positions = positions,
                                  .labels = labels};
    const uint8_t expected[72] = {8, 7, 6,  5, 4, 3, 2, 1, 9, 0, 0, 0, 0,        0, 0,
                                  0, 6, 0,  4, 0, 1, 0, 1, 0, /* header */
                                  2, 0, 43, 1, 4, 0, 3, 0, 7, 0, 3, 0, [56] = 2, 1, [62] = 2};
    uint8_t record[72];
    assert_int_equal(layout.record_bytes, sizeof(record));
    memset(record, 0xFF, sizeof(record));
    record_encode(&layout, &sample, record);
    assert_memory_equal(record, expected, sizeof(record));
}

static void set16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

TEST(ids_have_four_bytes_where_two_do_not_do)
{
    assert_int_equal(shard_layout_make(16, 4, SHARD_ID_2_BYTES).id_bytes, 2);
    assert_int_equal(shard_layout_make(16, 4, SHARD_ID_2_BYTES + 1).id_bytes, 4);
}

TEST(each_field_is_checked)
{
    static const struct {
        size_t at;
        unsigned value;
        bool good;
    } cases[] =
        {
            {16, 0, false},  {16, 17, false},    {16, 65535, false},
            {16, 16, true},                                      /* length */
            {18, 0, false},  {18, 11, false},    {18, 10, true}, /* a_length */
            {20, 5, false},  {20, 65535, false}, {20, 0, true},  /* masked */
            {22, 2, false},  {22, 1, true},                      /* is_random_next */
            {24, 10, false}, {24, 9, true},      {42, 10, false},
            {44, 10, true},                                      /* ids; those after the length are not checked */
            {56, 10, false}, {58, 65535, false}, {60, 10, true}, /* labels; those after `masked` are not checked */
            {64, 3, false},  {64, 4, false},     {66, 1, false},
            {66, 10, false}, {66, 9, true}, /* positions: 1, 3 */
        };
    const struct shard_layout layout = shard_layout_make(16, 4, 10);
    uint32_t ids[16] = {2, 4, 6, 4, 8, 3, 5, 6, 7, 3}, positions[4] = {1, 3}, labels[4] = {5, 7};
    const struct sample sample = {
        .length = 10, .a_length = 6, .masked = 2, .ids = ids, .positions = positions, .labels = labels};
    SCOPED(sample_release) struct sample out = sample_make(&layout);
    uint8_t record[128];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        record_encode(&layout, &sample, record);
        set16(record + cases[i].at, cases[i].value);
        const char *fault = record_decode(&layout, record, &out);
        if ((fault == NULL) != cases[i].good)
            fail_msg("case %zu: %s", i, fault ? fault : "accepted");
    }
    record_encode(&layout, &sample, record);
    set16(record + 20, 5); /* one more than fits */
    assert_string_equal(record_decode(&layout, record, &out), "a sample has more masked tokens than the header allows");
}

TEST(random_bytes_stay_in_bounds)
{
    const struct random_stream stream = random_stream(1, RANDOM_PAIR, 0, 0, 0, 0, 0);
    const struct shard_layout layout = shard_layout_make(16, 4, 65536);
    SCOPED(sample_release) struct sample out = sample_make(&layout);
    uint8_t *record = mem_alloc(layout.record_bytes); /* a separate allocation, so that the address sanitizer sees its
                                                       * ends */
    unsigned accepted = 0;
    for (uint32_t n = 0; n < 20000; n++) {
        for (uint32_t i = 0; i < layout.record_bytes; i += 4) {
            uint32_t word = random_at(&stream, n, i);
            word &= random_at(&stream, n, i + 1) & random_at(&stream, n, i + 2) & 0x000F000F; /* mostly small */
            memcpy(record + i, &word, 4);
        }
        accepted += record_decode(&layout, record, &out) == NULL;
    }
    assert_in_range(accepted, 1, 19999);
    mem_free(record);
}

/* CRC-32C: the published values (RFC 3720, appendix B.4), every single flipped bit, and the masked form in TFRecord
 * files. */
#include "tests/base/help.h"

#include "base/tfrecord.h"

TEST(known_values)
{
    unsigned char bytes[32];
    assert_int_equal(crc32c("", 0), 0);
    assert_int_equal(crc32c("123456789", 9), 0xe3069283);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(crc32c(bytes, sizeof bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(crc32c(bytes, sizeof bytes), 0x62a8ab43);
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)i;
    assert_int_equal(crc32c(bytes, sizeof bytes), 0x46dd794e);
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(31 - i);
    assert_int_equal(crc32c(bytes, sizeof bytes), 0x113fdb5c);
}

/* The CRC by its definition, bit by bit. */
static uint32_t by_definition(const unsigned char *bytes, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

TEST(equals_its_definition)
{
    unsigned char bytes[300];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37 + i / 7);
    for (size_t size = 0; size <= sizeof bytes; size++)
        assert_int_equal(crc32c(bytes, size), by_definition(bytes, size));
    const uint32_t whole = crc32c(bytes, 40);
    for (size_t bit = 0; bit < 320; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        assert_true(crc32c(bytes, 40) != whole);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}

TEST(masked_as_in_tfrecords)
{
    /* The CRC of "123456789" is 0xe3069283, which rotated right by 15 is 0x2507c60d. */
    assert_int_equal(crc32c_masked("123456789", 9), 0x2507c60du + 0xa282ead8u);
    assert_int_equal(crc32c_masked("", 0), 0xa282ead8u);
}

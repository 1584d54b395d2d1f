/* Framing: a record known byte by byte, and input that is not a complete record. */
#include "base/tfrecord.h"
#include "tests/unit.h"

/* A record without a message: its CRCs are those of eight zeros and of no bytes. */
TEST(an_empty_message)
{
    static const char expected[16] = {0,    0,    0,          0,    0,          0,          0,          0,
                                      0x29, 0x03, (char)0x98, 0x07, (char)0xd8, (char)0xea, (char)0x82, (char)0xa2};
    char record[16];
    struct str message;
    assert_int_equal(tfrecord_frame(record, 0), 16);
    assert_memory_equal(record, expected, sizeof record);
    assert_true(tfrecord_message((struct str){record, sizeof record}, &message));
    assert_int_equal(message.size, 0);
}

TEST(damage_is_refused)
{
    char record[16 + 5] = "............water", copy[16 + 5];
    struct str message;
    const size_t bytes = tfrecord_frame(record, 5);
    assert_int_equal(bytes, sizeof record);
    assert_true(tfrecord_message((struct str){record, bytes}, &message));
    assert_true(str_equal(message, STR("water")));
    for (size_t cut = 0; cut < bytes; cut++) {
        char *exact = malloc(cut + 1); /* so that a sanitizer sees what is read after it */
        memcpy(exact + 1, record, cut);
        assert_false(tfrecord_message((struct str){exact + 1, cut}, &message));
        free(exact);
        assert_false(tfrecord_message((struct str){record, cut}, &message)); /* although the missing bytes follow in
                                                                              * memory */
    }
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        memcpy(copy, record, bytes);
        copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
        assert_false(tfrecord_message((struct str){copy, bytes}, &message));
    }
}

/* XXH3-64 with seed 0, in one call or in parts, and its text form. */
#include "tests/base/help.h"

#include "base/hash.h"

TEST(known_values)
{
    /* Made with `printf '' | xxhsum -H3`, and so on. */
    assert_true(hash64("", 0) == 0x2d06800538d394c2);
    assert_true(hash64(NULL, 0) == 0x2d06800538d394c2);
    assert_true(hash64("a", 1) == 0xe6c632b61e964e1f);
    assert_true(hash64("abc", 3) == 0x78af5f94892f3950);
}

TEST(parts_make_the_whole)
{
    static char data[5000];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)(i * 7 + i / 251);
    for (size_t part = 1; part < 1500; part = part * 3 + 1) {
        struct hash *hash = hash_open();
        assert_true(hash_value(hash) == hash64("", 0));
        hash_add(hash, NULL, 0);
        for (size_t at = 0; at < sizeof(data); at += part) {
            const size_t size = at + part < sizeof(data) ? part : sizeof(data) - at;
            hash_add(hash, data + at, size);
            assert_true(hash_value(hash) == hash64(data, at + size));
        }
        hash_close(hash);
    }
}

TEST(text_and_back)
{
    char text[17];
    uint64_t value = 5;
    assert_string_equal(hash_text(0x0123456789abcdef, text), "0123456789abcdef");
    assert_int_equal(hash_parse(text, &value), 0);
    assert_true(value == 0x0123456789abcdef);
    assert_int_equal(hash_parse("FFFFFFFFFFFFFFFF", &value), 0);
    assert_true(value == UINT64_MAX);
    static const char *const bad[] = {"",
                                      "0",
                                      "0123456789abcde",
                                      "0123456789abcdef0",
                                      "0123456789abcdeg",
                                      "0x23456789abcdef",
                                      " 123456789abcdef",
                                      "-123456789abcdef"};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(hash_parse(bad[i], &value), -1);
    assert_true(value == UINT64_MAX);
}

/* Every sequence of one to three bytes, and the edge cases of four, against tables 3-7 and 3-8 of the Unicode standard,
 * stated here independently of the product: as rows of byte ranges. */
#include "tests/base/help.h"

#include "base/str.h"

/* Table 3-7, "Well-Formed UTF-8 Byte Sequences". */
static const struct {
    unsigned length;
    unsigned char low[4], high[4];
} table[] = {
    {1, {0x00}, {0x7F}},
    {2, {0xC2, 0x80}, {0xDF, 0xBF}},
    {3, {0xE0, 0xA0, 0x80}, {0xE0, 0xBF, 0xBF}},
    {3, {0xE1, 0x80, 0x80}, {0xEC, 0xBF, 0xBF}},
    {3, {0xED, 0x80, 0x80}, {0xED, 0x9F, 0xBF}},
    {3, {0xEE, 0x80, 0x80}, {0xEF, 0xBF, 0xBF}},
    {4, {0xF0, 0x90, 0x80, 0x80}, {0xF0, 0xBF, 0xBF, 0xBF}},
    {4, {0xF1, 0x80, 0x80, 0x80}, {0xF3, 0xBF, 0xBF, 0xBF}},
    {4, {0xF4, 0x80, 0x80, 0x80}, {0xF4, 0x8F, 0xBF, 0xBF}},
};

/* Returns the length of a well-formed sequence; else 0, with *skip = the length of the longest prefix that begins some
 * row, at least 1. */
static unsigned expected(const unsigned char *text, size_t size, unsigned *skip)
{
    *skip = 1;
    for (size_t row = 0; row < COUNT(table); row++) {
        unsigned same = 0;
        while (same < table[row].length && same < size && text[same] >= table[row].low[same] &&
               text[same] <= table[row].high[same])
            same++;
        if (same == table[row].length)
            return same;
        if (same > *skip)
            *skip = same;
    }
    return 0;
}

static void check(const unsigned char *text, size_t size)
{
    uint32_t code_point = 0xFFFFFFFF;
    unsigned skip = 0, skip_expected;
    char back[4];
    const unsigned length = utf8_decode((const char *)text, size, &code_point, &skip);
    if (length != expected(text, size, &skip_expected) || (!length && skip != skip_expected))
        fail_msg("%02x %02x %02x (size %zu): length %u, skip %u", text[0], text[1], text[2], size, length, skip);
    if (length && (utf8_write(code_point, back) != length || memcmp(back, text, length) != 0))
        fail_msg("%02x %02x %02x: U+%04X does not encode back", text[0], text[1], text[2], code_point);
}

TEST(all_short_sequences)
{
    for (uint32_t bits = 0; bits < 1 << 24; bits++) {
        const unsigned char text[4] = {(unsigned char)(bits >> 16), (unsigned char)(bits >> 8), (unsigned char)bits,
                                       0x80};
        check(text, 3);
        if ((bits & 0xFF) == 0)
            check(text, 2);
        if ((bits & 0xFFFF) == 0)
            check(text, 1);
    }
}

TEST(corners_of_four_bytes)
{
    static const unsigned char corners[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xF0, 0xFF};
    for (unsigned lead = 0xEF; lead <= 0xFF; lead++)
        for (size_t i = 0; i < COUNT(corners); i++)
            for (size_t j = 0; j < COUNT(corners); j++)
                for (size_t k = 0; k < COUNT(corners); k++)
                    check((unsigned char[]){(unsigned char)lead, corners[i], corners[j], corners[k]}, 4);
}

TEST(every_code_point_reads_back)
{
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        char text[4];
        uint32_t back;
        unsigned skip;
        if (c >= 0xD800 && c <= 0xDFFF)
            continue;
        const unsigned length = utf8_write(c, text);
        if (utf8_decode(text, length, &back, &skip) != length || back != c)
            fail_msg("U+%04X", c);
    }
}

TEST(repair_drops_what_is_ill_formed)
{
    /* The examples of tables 3-8 to 3-11 of the standard. Where they have U+FFFD, we drop the bytes. */
    static const struct {
        const char *from;
        size_t size;
        const char *to;
    } cases[] = {
        {"", 0, ""},
        {"plain", 5, "plain"},
        {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", 9, "A"},
        {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", 9, "A"},
        {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", 9, "AB"},
        {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", 9, "A"},
        {"caf\xC3\xA9\xC3", 6, "caf\xC3\xA9"},
        {"\xE2\x82\xC3\xA9", 4, "\xC3\xA9"}, /* a lead byte ends a broken sequence before it and begins its own */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[32];
        uint64_t dropped = 100;
        memcpy(text, cases[i].from, cases[i].size);
        const size_t size = utf8_repair(text, cases[i].size, &dropped);
        assert_int_equal(size, strlen(cases[i].to));
        assert_memory_equal(text, cases[i].to, size);
        assert_int_equal(dropped, 100 + cases[i].size - size);
        assert_int_equal(utf8_valid((struct str){cases[i].from, cases[i].size}), size == cases[i].size);
        assert_int_equal(utf8_repair(text, size, NULL), size);
    }
}

/* As Python's bytes.decode("utf-8", "replace"). */
TEST(replace_writes_one_mark_for_each_part)
{
    static const struct {
        struct str from;
        const char *to; /* "?" for U+FFFD */
    } cases[] = {
        {STR(""), ""},
        {STR("plain"), "plain"},
        {STR("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), "????????A"},
        {STR("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), "????????A"},
        {STR("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"), "?????A??B"},
        {STR("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "????A"},
        {STR("caf\xC3"), "caf?"},
        {STR("\xE2\x82\xC3\xA9"), "?\xC3\xA9"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        SCOPED(buf_release) struct buf out = {0}, expected = {0};
        for (const char *at = cases[i].to; *at; at++)
            buf_add(&expected, *at == '?' ? "\xEF\xBF\xBD" : at, *at == '?' ? 3 : 1);
        buf_add_byte(&out, '<');
        utf8_replace(cases[i].from, &out);
        assert_true(str_equal((struct str){out.data + 1, out.size - 1}, buf_str(&expected)));
    }
}

/* A well-formed character between letters, and the same without its last byte. */
TEST(a_character_is_found_at_any_position)
{
    static const char *const characters[] = {"\xC2\x80",     "\xDF\xBF",     "\xE0\xA0\x80",     "\xE3\x81\x82",
                                             "\xED\x9F\xBF", "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"};
    for (size_t i = 0; i < COUNT(characters); i++)
        for (size_t at = 0; at <= 100; at++) {
            const size_t size = strlen(characters[i]);
            char text[112];
            memset(text, 'a', sizeof text);
            memcpy(text + at, characters[i], size);
            assert_int_equal(utf8_repair(text, 100 + size, NULL), 100 + size);
            assert_true(utf8_valid((struct str){text, 100 + size}));
            memmove(text + at + size - 1, text + at + size, 100 - at);
            assert_false(utf8_valid((struct str){text, 99 + size}));
            assert_int_equal(utf8_repair(text, 99 + size, NULL), 100);
            for (size_t k = 0; k < 100; k++)
                assert_int_equal(text[k], 'a');
        }
}

/* Unicode's White_Space, and the characters that show nothing and have no width. */
static bool should_be_blank(uint32_t c)
{
    static const uint32_t ranges[][2] = {{0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},
                                         {0x61C, 0x61C},   {0x1680, 0x1680}, {0x180E, 0x180E}, {0x2000, 0x200A},
                                         {0x200B, 0x200F}, {0x2028, 0x2029}, {0x202A, 0x202E}, {0x202F, 0x202F},
                                         {0x205F, 0x2060}, {0x2066, 0x2069}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
    for (size_t i = 0; i < COUNT(ranges); i++)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    return false;
}

TEST(blank_characters_are_known_in_parts_too)
{
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        if (c >= 0xD800 && c <= 0xDFFF)
            continue;
        char text[8] = " ";
        const unsigned size = 1 + utf8_write(c, text + 1);
        assert_int_equal(str_is_blank((struct str){text, size}), should_be_blank(c));
        for (unsigned cut = 0; cut <= size; cut++) {
            const unsigned so_far = utf8_blank(BLANK_SO_FAR, (struct str){text, cut});
            assert_true(so_far < 1u << 16);
            assert_int_equal(utf8_blank(so_far, (struct str){text + cut, size - cut}) == BLANK_SO_FAR,
                             should_be_blank(c));
        }
    }
    assert_true(str_is_blank(STR("")));
    assert_true(str_is_blank(STR("\xE3\x80\x80 \xC2\xA0\t\xEF\xBB\xBF")));
    static const char *const shown[] = {"\xE3\x80", "\xE3",     "\xC2", "\xE3\x80 ",     "\xE3 \x80",
                                        "\xA0",     "\xC0\xA0", "\xF0", "\xE3\x80\x80.", "\xE0\x82\xA0"};
    for (size_t i = 0; i < COUNT(shown); i++)
        assert_false(str_is_blank(str_of(shown[i])));
}

/* Names of encodings, the first and last characters of every size for any room, and the check of UTF-8 over parts. What
 * decoders give is compared with Python's by tests/flow/encodings.py. */
#include "pipeline/dump/encodings.h"

#include "base/str.h"
#include "pipeline/dump/guess_encoding.h"
#include "pipeline/dump/well_formed.h"
#include "tests/unit.h"

TEST(names_are_found_in_any_spelling)
{
    static const char *const spellings[][2] = {
        {"UTF8", "utf-8"},
        {"utf_16_le", "utf-16le"},
        {"CP1251", "windows-1251"},
        {"1251", "windows-1251"},
        {"win-1251", "windows-1251"},
        {"Latin1", "iso-8859-1"},
        {"ISO_8859-15", "iso-8859-15"},
        {"l2", "iso-8859-2"},
        {"KOI8R", "koi8-r"},
        {"cp866", "ibm866"},
        {"SJIS", "shift_jis"},
        {"Windows-31J", "shift_jis"},
        {"gbk", "gb18030"},
        {"gb2312", "gb18030"},
        {"uhc", "euc-kr"},
        {"Big5-HKSCS", "big5-hkscs"},
        {"mac", "macintosh"},
        {"mac_cyrillic", "x-mac-cyrillic"},
        {"TIS-620", "iso-8859-11"},
        {"ascii", "utf-8"},
    };
    struct encoding encoding;
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        assert_true(encoding_find(spellings[i][0], &encoding));
        assert_string_equal(encoding.name, spellings[i][1]);
        assert_true(encoding_find(encoding.name, &encoding)); /* a manifest's name is a name, too */
        assert_string_equal(encoding.name, spellings[i][1]);
    }
    assert_false(encoding_find("", &encoding));
    assert_false(encoding_find("windows-1260", &encoding));
    assert_false(encoding_find("a name that is longer than that of any encoding is", &encoding));
    assert_string_equal(encoding_nearest("kio8"), "koi8-r");
    assert_string_equal(encoding_nearest("winodws-1252"), "windows-1252");
    assert_string_equal(encoding_nearest("shif_jis"), "shift_jis");
}

struct wide {
    const char *name;
    size_t width;
    enum byte_order order;
};
static const struct wide wides[] = {{"utf-16le", 2, ORDER_LITTLE},
                                    {"utf-16be", 2, ORDER_BIG},
                                    {"utf-32le", 4, ORDER_LITTLE},
                                    {"utf-32be", 4, ORDER_BIG}};

static void add_unit(struct buf *out, uint32_t unit, const struct wide *wide)
{
    for (size_t i = 0; i < wide->width; i++)
        buf_add_byte(out, (char)(unit >> 8 * (wide->order == ORDER_BIG ? wide->width - 1 - i : i)));
}

static void add_wide(struct buf *out, uint32_t character, const struct wide *wide)
{
    const uint32_t rest = character - 0x10000;
    const bool pair = wide->width == 2 && character > 0xFFFF;
    add_unit(out, pair ? 0xD800 + (rest >> 10) : character, wide);
    if (pair)
        add_unit(out, 0xDC00 + (rest & 0x3FF), wide);
}

/* Decodes `step` bytes at a time into `room` bytes, and returns where the decoder stopped. The rest is untouched. */
static size_t decode(const struct encoding *encoding, struct str text, size_t step, size_t room, struct buf *out)
{
    char made[64];
    struct decoder *decoder;
    struct error err;
    enum decoder_result result = DECODER_MORE;
    size_t at = 0;
    buf_reset(out);
    assert_int_equal(decoder_open(&decoder, encoding, &err), 0);
    for (size_t end = 0; result != DECODER_BAD && end < text.size;) {
        end = end + step < text.size ? end + step : text.size;
        do {
            struct decoder_step part = {(const uint8_t *)text.data + at, end - at, made, room, end == text.size};
            memset(made, 'Z', sizeof made);
            result = decoder_step(decoder, &part);
            assert_in_range(part.out_bytes, 0, room);
            for (size_t i = room; i < sizeof made; i++)
                assert_int_equal(made[i], 'Z');
            at = end - part.in_bytes;
            buf_add(out, made, room - part.out_bytes);
        } while (result == DECODER_FULL);
    }
    decoder_close(decoder);
    return at;
}

TEST(the_first_and_last_characters_of_every_size_fit_any_room)
{
    static const uint32_t edges[] = {0x10FFFF, 0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFE};
    SCOPED(buf_release) struct buf text = {0}, out = {0}, expected = {0};
    struct encoding encoding;
    for (size_t w = 0; w < sizeof wides / sizeof *wides; w++) {
        buf_reset(&text);
        buf_reset(&expected);
        for (size_t i = 0; i < 3 * sizeof edges / sizeof *edges; i++) {
            const uint32_t character = edges[i % (sizeof edges / sizeof *edges)];
            char bytes[4];
            add_wide(&text, character, &wides[w]);
            buf_add(&expected, bytes, utf8_write(character, bytes));
        }
        assert_true(encoding_find(wides[w].name, &encoding));
        for (size_t room = 4; room < 40; room++)
            for (size_t step = 1; step < 12; step++) {
                assert_int_equal(decode(&encoding, buf_str(&text), step, room, &out), text.size);
                assert_true(str_equal(buf_str(&out), buf_str(&expected)));
            }
    }
}

/* What is next to the characters that exist, and half a pair of UTF-16. */
TEST(units_that_are_no_character_stop_the_decoder)
{
    static const uint32_t bad[] = {0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0x110000, UINT32_MAX};
    SCOPED(buf_release) struct buf text = {0}, out = {0};
    struct encoding encoding;
    for (size_t w = 0; w < sizeof wides / sizeof *wides; w++)
        for (size_t i = 0; i < (wides[w].width == 2 ? 4 : sizeof bad / sizeof *bad); i++)
            for (int follows = 0; follows < 2; follows++) { /* nothing, or a character that is no second half */
                buf_reset(&text);
                add_wide(&text, 'a', &wides[w]);
                add_unit(&text, bad[i], &wides[w]);
                if (follows)
                    add_wide(&text, 0xE000, &wides[w]);
                assert_true(encoding_find(wides[w].name, &encoding));
                assert_int_equal(decode(&encoding, buf_str(&text), 3, 16, &out), wides[w].width);
                assert_true(str_equal(buf_str(&out), STR("a")));
            }
}

TEST(only_iconv_has_a_library)
{
    struct encoding encoding;
    assert_true(encoding_find("koi8-r", &encoding));
    assert_null(encoding_library(&encoding));
    assert_true(encoding_find("euc-jp", &encoding));
    assert_non_null(encoding_library(&encoding));
}

TEST(a_gap_may_cut_a_character_at_both_sides)
{
    struct well_formed utf8 = {0};
    uint64_t bad = 0;
    assert_true(well_formed_feed(&utf8, STR("a\xe2\x82"), &bad));
    assert_false(well_formed_end(&utf8, &bad));
    assert_int_equal(bad, 1);
    well_formed_gap(&utf8);
    assert_true(well_formed_feed(&utf8, STR("\x98"), &bad));
    assert_true(well_formed_feed(&utf8, STR("\x80z"), &bad));
    assert_true(well_formed_end(&utf8, &bad));
    assert_false(well_formed_feed(&utf8, STR("z\x80"), &bad) && well_formed_end(&utf8, &bad));
    assert_int_equal(bad, 7);
}

TEST(a_guess_needs_text)
{
    assert_string_equal(encoding_guess(STR("plain")).encoding, "utf-8");
    assert_string_equal(encoding_guess(STR("caf\xe9")).encoding, "windows-1252");
    assert_null(encoding_guess(STR("\x01\x02\x03\x04\xe9\xff\x05")).encoding);
    assert_null(encoding_guess(STR("\x7f"
                                   "ELF\0\0\0\1\2\3"))
                    .encoding);
}

/* Names of encodings, and the check of UTF-8 over parts. What decoders give is compared with Python's by
 * tests/flow/encodings.py, its independence of parts by the fuzz target. */
#include "pipeline/dump/encodings.h"
#include "pipeline/dump/guess_encoding.h"
#include "pipeline/dump/well_formed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void names_are_found_in_any_spelling(void **state)
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
    (void)state;
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

static void only_iconv_has_a_library(void **state)
{
    struct encoding encoding;
    (void)state;
    assert_true(encoding_find("koi8-r", &encoding));
    assert_null(encoding_library(&encoding));
    assert_true(encoding_find("euc-jp", &encoding));
    assert_non_null(encoding_library(&encoding));
}

static void a_gap_may_cut_a_character_at_both_sides(void **state)
{
    struct well_formed utf8 = {0};
    uint64_t bad = 0;
    (void)state;
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

static void a_guess_needs_text(void **state)
{
    (void)state;
    assert_string_equal(encoding_guess(STR("plain")).encoding, "utf-8");
    assert_string_equal(encoding_guess(STR("caf\xe9")).encoding, "windows-1252");
    assert_null(encoding_guess(STR("\x01\x02\x03\x04\xe9\xff\x05")).encoding);
    assert_null(encoding_guess(STR("\x7f"
                                   "ELF\0\0\0\1\2\3"))
                    .encoding);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_in_any_spelling),
        cmocka_unit_test(only_iconv_has_a_library),
        cmocka_unit_test(a_gap_may_cut_a_character_at_both_sides),
        cmocka_unit_test(a_guess_needs_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

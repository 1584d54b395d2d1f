/* Language codes: which are valid, and which code is suggested for an invalid one. */
#include "pipeline/text/words/codes.h"
#include "tests/unit.h"

static void assert_code(const char *typed, const char *expected)
{
    char code[CODE_BYTES_MAX];
    const bool read = code_read(str_of(typed), code);
    if (!expected) {
        if (read)
            fail_msg("%s was read as %s", typed, code);
        return;
    }
    if (!read)
        fail_msg("%s is none", typed);
    assert_string_equal(code, expected);
}

TEST(codes_of_wikipedias_and_of_iso_639_are_known)
{
    static const char *const cases[][2] = {{"fi", "fi"},
                                           {"FI", "fi"},
                                           {"fin", "fi"},
                                           {"ger", "de"},
                                           {"deu", "de"},
                                           {"simple", "simple"},
                                           {"zh-yue", "zh-yue"},
                                           {"be-x-old", "be-x-old"},
                                           {"krl", "krl"},
                                           {"smi", "smi"},
                                           {"fiwiki", "fi"},
                                           {"de-AT", "de-at"},
                                           {"sr_Latn", "sr-latn"},
                                           {"ae", "ae"},
                                           {"zza", "zza"},
                                           {"xx", NULL},
                                           {"Finnish", NULL},
                                           {"", NULL},
                                           {"de,fi", NULL},
                                           {"de-", NULL},
                                           {"de-a", NULL},
                                           {"-", NULL},
                                           {"wiki", NULL},
                                           {"zzz", NULL},
                                           {"de--at", NULL},
                                           {"fi=x", NULL},
                                           {"a-very-long-name-of-nothing", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_code(cases[i][0], cases[i][1]);
}

TEST(the_nearest_code_is_named)
{
    assert_string_equal(code_nearest(STR("Finnish")), "fi");
    assert_string_equal(code_nearest(STR("finish")), "fi");
    assert_string_equal(code_nearest(STR("german")), "de");
    assert_string_equal(code_nearest(STR("Swedsh")), "sv");
    assert_string_equal(code_nearest(STR("xx")), "xh");
    assert_null(code_nearest(STR("")));
    assert_null(code_nearest(STR("qqqqqqqqqqqq")));
    assert_string_equal(code_name(STR("fi")), "Finnish");
    assert_string_equal(code_name(STR("de-at")), "German");
    assert_null(code_name(STR("simple")));
}

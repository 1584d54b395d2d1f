/* Results of {{#time:}} and of numbers in words. */
#include "pipeline/text/templates/numbers.h"
#include "pipeline/text/templates/time_format.h"
#include "tests/unit.h"

static const struct moment now = {2026, 2, 3, 4, 5, 6};

static const struct {
    const char *format, *text, *shown; /* NULL: not known */
} cases[] = {
    {"Y", "", "2026"},
    {"j F Y", "now", "3 February 2026"},
    {"Y-m-d H:i:s", "", "2026-02-03 04:05:06"},
    {"H:i", "today", "00:00"},
    {"F j, Y", "3 May 1999", "May 3, 1999"},
    {"Y-m-d", "May 3, 1999", "1999-05-03"},
    {"Y-m-d", "sep 1999", "1999-09-01"},
    {"Y-m-d", "1999", "1999-02-03"},
    {"Y-m-d", "3 May", "2026-05-03"},
    {"Y-m-d", "May 4", "2026-05-04"},
    {"Y-m-d", "May", "2026-05-03"},
    {"Y-m-d H:i", "12:30", "2026-02-03 12:30"},
    {"Y-m-d", "1999-12", "1999-12-01"},
    {"j. n. y", "2001-02-03T10:20:30Z", "3. 2. 01"},
    {"g:i a / h A", "2001-02-03 13:07", "1:07 pm / 01 PM"},
    {"l, D, N, w", "1970-01-01", "Thursday, Thu, 4, 4"},
    {"l", "2000-02-29", "Tuesday"},
    {"z t L", "2000-12-31", "365 31 1"},
    {"z t L", "1900-02-28", "58 28 0"},
    {"W", "2021-01-03", "53"},
    {"W", "2018-12-31", "01"},
    {"W", "2014-12-29", "01"},
    {"W", "2020-12-28", "53"},
    {"W", "2020-12-31", "53"},
    {"W", "2026-02-03", "06"},
    {"U", "2001-09-09 01:46:40", "1000000000"},
    {"c", "", "2026-02-03T04:05:06+00:00"},
    {"\"Year\" Y \\Y", "", "Year 2026 Y"},
    {"xnY xg", "", "2026 February"},
    {"Y-m-d", "20010203", "2001-02-03"},
    {"c", "20010203040506", "2001-02-03T04:05:06+00:00"},
    {"Y-m-d", "2001/2/3", "2001-02-03"},
    {"Y-m-d", "2/3/2001", "2001-02-03"},
    {"Y-m-d", "3.2.2001", "2001-02-03"},
    {"Y-m-d", "2001-02-30", "2001-03-02"},
    {"Y-m-d", "12 Mar 04", "2004-03-12"},
    {"Y-m-d", "12 Mar 70", "1970-03-12"},
    {"Y", "1 January 0800", "0800"},
    {"Y-m-d H:i", "@86400", "1970-01-02 00:00"},
    {"Y-m-d", "next month", "2026-03-03"},
    {"Y-m-d", "2001-12-31 last year", "2000-12-31"},
    {"o", "2021-01-03", "2020"},
    {"o", "2018-12-31", "2019"},
    {"r", "2001-02-03", "Sat, 03 Feb 2001 00:00:00 +0000"},
    {"xrY xrn xkY Y", "2014-09-01", "MMXIV IX 2557 2014"},
    {"e T O P Z I", "", "UTC UTC +0000 +00:00 0 0"},
    {"Y-m-d H", "yesterday", "2026-02-02 00"},
    {"Y-m-d H", "+1 day", "2026-02-04 04"},
    {"Y-m-d", "-1 month", "2026-01-03"},
    {"Y-m-d", "2001-01-31 +1 month", "2001-03-03"},
    {"Y-m-d", "2000-02-28 + 2 days", "2000-03-01"},
    {"Y-m-d H:i", "2001-01-01 -1 hour", "2000-12-31 23:00"},
    {"Y-m-d", "2001-12-31 +1 day +2 years", "2004-01-01"},
    {"Y-m-d", "1970-01-01 -1 week", "1969-12-25"},
    {"Y", "+1 aeon", NULL},
    {"Y", "32 May 1999", NULL},
    {"Y", "1999-13", NULL},
    {"xij", "", NULL},
    {"Q", "", "Q"},
    {"Y", "2001-02-32", NULL},
};

TEST(dates_are_written)
{
    const struct magic magic = magic_find(language_english(), STR("en"));
    const struct time_names *const english = time_names_find(&magic);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(buf_release) struct buf out = {0};
        struct moment moment;
        const bool known = moment_read(str_of(cases[i].text), &now, &moment) &&
                           moment_format(&moment, str_of(cases[i].format), english, '0', &out);
        if (known != (cases[i].shown != NULL) || (known && strcmp(buf_text(&out), cases[i].shown) != 0))
            fail_msg("%s of '%s': expected %s, got %s", cases[i].format, cases[i].text,
                     cases[i].shown ? cases[i].shown : "nothing", known ? buf_text(&out) : "nothing");
    }
}

/* As MediaWiki writes them; of fallback languages too. */
TEST(names_are_those_of_the_language)
{
    static const struct {
        const char *code, *format, *shown;
        uint32_t zero;
    } rows[] = {{"pl", "j F, j xg, M, l, D", "3 luty, 3 lutego, lut, wtorek, Wt", '0'},
                {"ru", "j xg Y", "3 февраля 2026", '0'},
                {"de-AT", "l, j. F", "Dienstag, 3. Februar", '0'},
                {"fr", "M", "fév.", '0'},
                {"szl", "xg", "lutego", '0'},
                {"fa", "Y xnY j", "۲۰۲۶ 2026 ۳", 0x6F0},
                {"zz", "F", "February", '0'}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        SCOPED(buf_release) struct buf out = {0};
        const struct magic magic = magic_find(language_english(), str_of(rows[i].code));
        assert_true(moment_format(&now, str_of(rows[i].format), time_names_find(&magic), rows[i].zero, &out));
        assert_string_equal(buf_text(&out), rows[i].shown);
    }
}

/* A row has as many names as there are months and days. */
TEST(generated_names_are_whole)
{
    for (size_t i = 0; i < time_names_count; i++) {
        const struct time_names *row = &time_names[i];
        const struct {
            const char *names;
            unsigned count;
        } lists[] = {
            {row->months, 12}, {row->genitives, 12}, {row->short_months, 12}, {row->days, 7}, {row->short_days, 7}};
        assert_true(i == 0 || strcmp(time_names[i - 1].code, row->code) < 0);
        for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
            unsigned count = 1;
            for (const char *at = lists[k].names; *at; at++)
                count += *at == '|';
            assert_int_equal(count, lists[k].count);
        }
    }
}

TEST(numbers_are_spelled)
{
    static const struct {
        uint64_t number;
        const char *words;
    } numbers[] = {{0, "zero"},
                   {13, "thirteen"},
                   {20, "twenty"},
                   {42, "forty-two"},
                   {100, "one hundred"},
                   {105, "one hundred and five"},
                   {999, "nine hundred and ninety-nine"},
                   {1000, "one thousand"},
                   {2010, "two thousand and ten"},
                   {1000000, "one million"},
                   {1200300, "one million two hundred thousand three hundred"}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        SCOPED(buf_release) struct buf out = {0};
        number_words_add(numbers[i].number, true, &out);
        assert_string_equal(buf_text(&out), numbers[i].words);
    }
    SCOPED(buf_release) struct buf out = {0};
    number_words_add(1105, false, &out);
    assert_string_equal(buf_text(&out), "one thousand one hundred five");
}

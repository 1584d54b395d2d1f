/* What each filter keeps and drops. */
#include "base/file.h"
#include "pipeline/clean/filter.h"
#include "tests/unit.h"

static enum page_fate fate_of(const struct dsdata_settings *settings, const char *text, const char *language)
{
    struct filters *filters;
    struct filter_scratch scratch = {0};
    struct error err = {0};
    assert_int_equal(filters_open(&filters, settings, &err), 0);
    const enum page_fate fate = filters_judge(filters, &scratch, str_of(text), language);
    filters_close(filters);
    filter_scratch_release(&scratch);
    return fate;
}

static void assert_words(const char *text, uint64_t words)
{
    assert_int_equal(fate_of(&(struct dsdata_settings){.min_words = words, .max_words = words}, text, ""), PAGE_KEPT);
    assert_int_equal(fate_of(&(struct dsdata_settings){.min_words = words + 1}, text, ""), PAGE_SHORT);
    if (words > 1)
        assert_int_equal(fate_of(&(struct dsdata_settings){.max_words = words - 1}, text, ""), PAGE_LONG);
}

TEST(words_are_counted)
{
    assert_words("word", 1);
    assert_words("three words, here", 3);
    assert_words("  blanks\taround  ", 2);
    assert_words("one\xe3\x80\x80two", 2); /* U+3000, the ideographic space */
    assert_words("\xe5\xb1\xb1\xe3\x81\xae", 2);
    assert_words("\xe5\xb1\xb1run\xe5\xb1\xb1", 3);
    assert_int_equal(fate_of(&(struct dsdata_settings){0}, "word", ""), PAGE_KEPT);
}

static void assert_refused(const struct dsdata_settings *settings)
{
    struct filters *filters;
    struct error err = {0};
    assert_int_equal(filters_open(&filters, settings, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
}

TEST(bounds_that_leave_nothing_are_refused)
{
    assert_refused(&(struct dsdata_settings){.min_words = 3, .max_words = 2});
}

/* What the filters add to the recipe under an option's name. */
static struct buf identity_of(const struct dsdata_settings *settings, const char *option)
{
    struct filters *filters;
    struct error err = {0};
    struct buf identity = {0};
    json_auto_t *recipe = json_object();
    assert_int_equal(filters_open(&filters, settings, &err), 0);
    filters_identify(filters, recipe);
    buf_add_text(&identity, json_string_value(json_object_get(recipe, option)));
    filters_close(filters);
    return identity;
}

#define ENGLISH "It was the best of times, and it was the worst of times that the people of the town had seen.\n"
#define GERMAN                                                                                                         \
    "Es war die beste Zeit, und es war die Zeit, in der die Leute nicht mehr auf den Straßen zu sehen waren.\n"

TEST(languages_are_guessed_or_stated)
{
    const struct dsdata_settings one = {.only_lang = "en"}, two = {.only_lang = "fi,de"};
    assert_int_equal(fate_of(&one, ENGLISH, ""), PAGE_KEPT);
    assert_int_equal(fate_of(&one, GERMAN, "en"), PAGE_LANGUAGE);
    assert_int_equal(fate_of(&two, ENGLISH, "fi"), PAGE_LANGUAGE);
    assert_int_equal(fate_of(&two, GERMAN, ""), PAGE_KEPT);
    assert_int_equal(fate_of(&two, "Berlin.\n", "de"), PAGE_KEPT);
    assert_int_equal(fate_of(&two, "Berlin.\n", "en"), PAGE_LANGUAGE);
    assert_int_equal(fate_of(&two, "Berlin.\n", ""), PAGE_LANGUAGE);
    struct buf identity = identity_of(&two, "only-lang");
    assert_string_equal(buf_text(&identity), "fi,de");
    buf_release(&identity);
    assert_refused(&(struct dsdata_settings){.only_lang = "xx"});
    assert_refused(&(struct dsdata_settings){.only_lang = "de,"});
    assert_refused(&(struct dsdata_settings){.only_lang = ""});
}

/* The verdict on `head` and 60 words of 4 letters on 6 lines. */
static enum page_fate fate_of_prose(const char *filter, const char *head)
{
    SCOPED(buf_release) struct buf text = {0};
    buf_add_text(&text, head);
    for (int i = 0; i < 60; i++)
        buf_addf(&text, "%s%s", i % 10 == 0 ? "that" : i == 7 ? "with" : "word", i % 10 == 9 ? "\n" : " ");
    const enum page_fate fate = fate_of(&(struct dsdata_settings){.filter = filter}, buf_text(&text), "");
    return fate;
}

TEST(gopher_has_a_reason_for_each_rule)
{
    static const struct {
        const char *filter, *head;
        enum page_fate fate;
    } cases[] = {
        {"gopher", "", PAGE_KEPT},
        {"gopher,min-words=60", "-- \u2026 ", PAGE_KEPT}, /* signs are no words */
        {"gopher,min-words=61", "-- \u2026 ", PAGE_GOPHER_FEW_WORDS},
        {"gopher,min-words=61", "\u2022 ", PAGE_KEPT}, /* but a bullet is one, as in datatrove */
        {"gopher,max-words=59", "", PAGE_GOPHER_MANY_WORDS},
        {"gopher,min-length=4", "", PAGE_KEPT},
        {"gopher,min-length=4.001", "", PAGE_GOPHER_WORD_LENGTH},
        {"gopher,max-length=3.999", "", PAGE_GOPHER_WORD_LENGTH},
        {"gopher,stop-words=2", "", PAGE_KEPT},
        {"gopher,stop-words=3", "", PAGE_GOPHER_STOP_WORDS},
        {"gopher,stop-words=3", "The THE the\n", PAGE_KEPT},
        {"gopher,bullets=0.1", "  - first\n", PAGE_GOPHER_BULLETS}, /* 1 of 7 */
        {"gopher,bullets=0.15", "\u2022 first\n", PAGE_KEPT},
        {"gopher,bullets=0.13", "- first\r\n", PAGE_GOPHER_BULLETS}, /* CR LF ends one line */
        {"gopher,ellipses=0.1", "and so on...\n", PAGE_GOPHER_ELLIPSES},
        {"gopher,ellipses=0.1", "and so on ...not\n", PAGE_KEPT},
        {"gopher,symbols=0.01", "#word\n", PAGE_GOPHER_SYMBOLS}, /* 1 of 61 */
        {"gopher,symbols=0.02", "#word\n", PAGE_KEPT},
        {"gopher,symbols=0.01", "wo\u2026rd\n", PAGE_GOPHER_SYMBOLS},
        {"gopher,alphabetic=0.99", "1234\n", PAGE_GOPHER_ALPHABETIC},
        {"gopher,alphabetic=0", "1234\n", PAGE_KEPT},
        {"gopher,alphabetic=1", "\u00e9 \u044f \u5c71\n", PAGE_KEPT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (fate_of_prose(cases[i].filter, cases[i].head) != cases[i].fate)
            fail_msg("%s, %s: %d", cases[i].filter, cases[i].head, fate_of_prose(cases[i].filter, cases[i].head));
    assert_int_equal(fate_of(&(struct dsdata_settings){.filter = "gopher,min-words=1,symbols=0,ellipses=0.4"},
                             "to be\nof and...", ""),
                     PAGE_GOPHER_ELLIPSES); /* the last line has no end */
    struct buf identity = identity_of(&(struct dsdata_settings){.filter = "gopher,bullets=0.25"}, "filter");
    assert_non_null(strstr(buf_text(&identity), ",symbols=0.1,bullets=0.25,ellipses=0.3,"));
    buf_release(&identity);
    assert_refused(&(struct dsdata_settings){.filter = "gopher,bullets=.5"});
    assert_refused(&(struct dsdata_settings){.filter = "c4"});
    assert_refused(&(struct dsdata_settings){.filter = "gopher,"});
    assert_refused(&(struct dsdata_settings){.filter = "gopher,bullets"});
    assert_refused(&(struct dsdata_settings){.filter = "gopher,bullets=many"});
    assert_refused(&(struct dsdata_settings){.filter = "gopher,bullets=0.1234"});
}

TEST(texts_of_other_files_are_excluded)
{
    static const char *const path = BINARY_DIR "/test_filter_excluded.jsonl";
    static const char content[] =
        "\xef\xbb\xbf{\"q\": \"\\u00dc b c d e f g h i j k l m\"}\n"
        "one two three four five six seven eight nine ten eleven twelve thirteen\nfourteen\n"
        "{\"q\": \"a b c d e f g h i j k l\", \"more\": [\"\\u00c4 b c d e f g h i j k l m n\"]}\n";
    struct error err = {0};
    assert_int_equal(file_write_all(path, content, sizeof content - 1, &err), 0);
    const char *files[] = {path};
    const struct dsdata_settings settings = {.exclude = {files, 1}};
    assert_int_equal(
        fate_of(&settings, "x two, THREE four five six seven eight nine ten eleven twelve thirteen 14", ""), PAGE_KEPT);
    assert_int_equal(
        fate_of(&settings, "x two, THREE four five six seven eight nine ten eleven twelve thirteen fourteen", ""),
        PAGE_EXCLUDED);
    assert_int_equal(fate_of(&settings, "a b c d e f g h i j k l more", ""), PAGE_KEPT);
    assert_int_equal(fate_of(&settings, "\u00dc b c d e f g h i j k l m", ""), PAGE_EXCLUDED); /* after the mark */
    assert_int_equal(fate_of(&settings, "and a\u0308 b c d e f g h i j k l m", ""), PAGE_EXCLUDED);
    path_remove(path, &err);
}

#define ALPHABET "a b c d e f g h i j k l m"

/* The identity of --exclude FILE --exclude FILE, whose texts are `one` and `two`; "": the second file is refused. */
static struct buf identity_of_two(const char *one, const char *two)
{
    static const char *paths[] = {BINARY_DIR "/test_filter_one.txt", BINARY_DIR "/test_filter_two.txt"};
    const struct dsdata_settings settings = {.exclude = {paths, 2}};
    struct filters *filters;
    struct error err = {0};
    struct buf identity = {0};
    assert_int_equal(file_write_all(paths[0], one, strlen(one), &err), 0);
    assert_int_equal(file_write_all(paths[1], two, strlen(two), &err), 0);
    if (filters_open(&filters, &settings, &err) == 0) {
        identity = identity_of(&settings, "exclude");
        filters_close(filters);
    } else {
        assert_int_equal(err.kind, ERR_INPUT);
        assert_string_equal(err.file, paths[1]);
    }
    path_remove(paths[0], &err);
    path_remove(paths[1], &err);
    return identity;
}

TEST(every_excluded_file_counts)
{
    SCOPED(buf_release)
    struct buf other = identity_of_two(ALPHABET " ", ALPHABET), same = identity_of_two(ALPHABET, " " ALPHABET),
               few = identity_of_two(ALPHABET, "too few words");
    assert_int_equal(same.size, 16); /* a file without a new n-gram is none without an n-gram */
    assert_string_not_equal(buf_text(&same), buf_text(&other)); /* the same bytes in a row */
    assert_int_equal(few.size, 0);
}

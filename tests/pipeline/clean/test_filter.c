/* What each filter keeps and drops. */
#include "pipeline/clean/filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

static void words_are_counted(void **state)
{
    (void)state;
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

static void bounds_that_leave_nothing_are_refused(void **state)
{
    (void)state;
    assert_refused(&(struct dsdata_settings){.min_words = 3, .max_words = 2});
}

#define ENGLISH "It was the best of times, and it was the worst of times that the people of the town had seen.\n"
#define GERMAN                                                                                                         \
    "Es war die beste Zeit, und es war die Zeit, in der die Leute nicht mehr auf den Straßen zu sehen waren.\n"

static void languages_are_guessed_or_stated(void **state)
{
    (void)state;
    const struct dsdata_settings one = {.only_lang = "en"}, two = {.only_lang = "fi,de"};
    assert_int_equal(fate_of(&one, ENGLISH, ""), PAGE_KEPT);
    assert_int_equal(fate_of(&one, GERMAN, "en"), PAGE_LANGUAGE);
    assert_int_equal(fate_of(&two, ENGLISH, "fi"), PAGE_LANGUAGE);
    assert_int_equal(fate_of(&two, GERMAN, ""), PAGE_KEPT);
    assert_int_equal(fate_of(&two, "Berlin.\n", "de"), PAGE_KEPT);
    assert_int_equal(fate_of(&two, "Berlin.\n", "en"), PAGE_LANGUAGE);
    assert_int_equal(fate_of(&two, "Berlin.\n", ""), PAGE_LANGUAGE);
    assert_refused(&(struct dsdata_settings){.only_lang = "xx"});
    assert_refused(&(struct dsdata_settings){.only_lang = "de,"});
    assert_refused(&(struct dsdata_settings){.only_lang = ""});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_are_counted),
                                       cmocka_unit_test(bounds_that_leave_nothing_are_refused),
                                       cmocka_unit_test(languages_are_guessed_or_stated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

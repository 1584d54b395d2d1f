/* Sentences: the rules (sentences.cases), and what holds for any text. */
#include "pipeline/text/sentences.h"
#include "tests/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

static void run_case(const struct test_case *each, struct buf *out)
{
    const struct str lang = cases_setting(each, "lang");
    struct sentences sentences = {0};
    sentences_split(language_find(lang.size > 0 ? lang : STR("en")), each->input, &sentences);
    for (size_t i = 0; i < sentences.count; i++) {
        buf_add_str(out, sentences.items[i]);
        buf_add_byte(out, '\n');
    }
    sentences_release(&sentences);
}

static void cases_are_split(void **state)
{
    (void)state;
    assert_int_equal(cases_run(SOURCE_DIR "/tests/pipeline/sentences.cases", run_case), 0);
}

/* Splits `text` and checks what must hold of any sentences: in order, inside the text, nothing but blanks between. */
static size_t check(struct str text, const char *lang)
{
    struct sentences sentences = {0};
    sentences_split(language_find(str_of(lang)), text, &sentences);
    const char *at = text.data;
    for (size_t i = 0; i <= sentences.count; i++) {
        const char *next = i < sentences.count ? sentences.items[i].data : text.data + text.size;
        for (; at < next; at++)
            assert_true(*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r');
        if (i == sentences.count)
            break;
        const struct str sentence = sentences.items[i];
        assert_true(sentence.data == at && sentence.size > 0 && sentence.size <= SENTENCE_BYTES_MAX);
        assert_true(sentence.data + sentence.size <= text.data + text.size);
        assert_true(!memchr(sentence.data, '\n', sentence.size) && str_trim(sentence).size == sentence.size);
        assert_true(utf8_valid(sentence));
        at = sentence.data + sentence.size;
    }
    const size_t count = sentences.count;
    sentences_release(&sentences);
    return count;
}

static void repeat(struct buf *text, const char *unit, size_t bytes)
{
    buf_reset(text);
    while (text->size < bytes)
        buf_add_text(text, unit);
}

static void long_sentences_are_cut(void **state)
{
    (void)state;
    struct buf text = {0};
    repeat(&text, "word ", 10000);
    assert_in_range(check(buf_str(&text), "en"), 5, 6);
    repeat(&text, "漢字", 10002); /* no blank to cut at */
    assert_int_equal(check(buf_str(&text), "ja"), 6);
    repeat(&text, "some twenty letters; ", 1990);
    assert_int_equal(check(buf_str(&text), "en"), 1);
    buf_add_text(&text, "and more");
    for (unsigned i = 0; i < 5; i++)
        buf_add_text(&text, ", and more");
    struct sentences sentences = {0};
    sentences_split(language_find(STR("en")), buf_str(&text), &sentences);
    assert_int_equal(sentences.count, 2);
    assert_true(str_ends(sentences.items[0], STR(";")));
    sentences_release(&sentences);
    buf_release(&text);
}

static void any_text_is_split(void **state)
{
    (void)state;
    static const char *const units[] = {
        ".",    ". ", "A. ",  "a. A", ".\n", "!",    "? ", "...",    ". . ",     "。",        "「。", "」。",  "（",
        "）。", "\"", ".\" ", ". \"", ". (", ".)",   "» ", ". »",    "\xC2\xA0", ".\xC2\xA0", "1. ",  "U.S. ", "x.y",
        " ",    "\n", "\t",   "؟",    "।",   "é. É", "…",  "A. A. ", "Mr. ",     "No. 5 ",    "; ",   "Ａ．"};
    const char *const langs[] = {"en", "de", "ja", "xx"};
    struct buf text = {0};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        repeat(&text, units[i], 5000);
        check(buf_str(&text), langs[i % 4]);
    }
    const size_t count = sizeof units / sizeof units[0];
    for (uint32_t round = 0; round < 2000; round++) {
        buf_reset(&text);
        for (uint32_t k = 0; k < round % 50; k++) {
            const uint64_t draw = ((uint64_t)round * 977 + k) * 0x9E3779B97F4A7C15u;
            buf_add_text(&text, draw >> 63 ? "Word" : units[(draw >> 32) % count]);
        }
        check(buf_str(&text), langs[round % 4]);
    }
    check(STR(""), "en");
    check(STR("x"), "en");
    buf_release(&text);
}

static void sentences_are_appended(void **state)
{
    (void)state;
    struct sentences sentences = {0};
    sentences_split(language_find(STR("en")), STR("One. Two."), &sentences);
    sentences_split(language_find(STR("en")), STR("Three."), &sentences);
    assert_int_equal(sentences.count, 3);
    assert_true(str_equal(sentences.items[0], STR("One.")) && str_equal(sentences.items[2], STR("Three.")));
    sentences_release(&sentences);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_are_split),
        cmocka_unit_test(long_sentences_are_cut),
        cmocka_unit_test(any_text_is_split),
        cmocka_unit_test(sentences_are_appended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The number of words of a document, for --min-words: runs between blanks, and each ideograph or kana. */
#include "pipeline/input/input_kind.h"
#include "pipeline/text/words/languages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static enum page_fate fate_of(const char *text, uint64_t min_words)
{
    struct article_reader *reader = article_open();
    const struct article_options options = {
        .kind = &text_kind, .language = language_english(), .code = "", .form = FORM_LINES, .min_words = min_words};
    struct record record = {.size = strlen(text)};
    struct group group = {.records = &record, .record_count = 1, .record_capacity = 1};
    struct article article;
    buf_add(&group.text, text, strlen(text));
    article_read(reader, &options, &group, 0, &article);
    const enum page_fate fate = article.fate;
    buf_release(&group.text);
    article_close(reader);
    return fate;
}

static void assert_words(const char *text, uint64_t words)
{
    assert_int_equal(fate_of(text, words), PAGE_KEPT);
    assert_int_equal(fate_of(text, words + 1), PAGE_SHORT);
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
    assert_int_equal(fate_of("word", 0), PAGE_KEPT);
}

/* The text of a document, `{"text":"…"}` for JSON lines. */
static void assert_text(enum source_kind kind, enum text_form form, bool wrapped, const char *text,
                        const char *expected)
{
    struct article_reader *reader = article_open();
    const struct article_options options = {
        .kind = input_kinds[kind], .language = language_english(), .code = "", .form = form, .wrapped = wrapped};
    struct record record = {.size = strlen(text)};
    struct group group = {.records = &record, .record_count = 1, .record_capacity = 1};
    struct article article;
    buf_add(&group.text, text, strlen(text));
    article_read(reader, &options, &group, 0, &article);
    assert_int_equal(article.fate, *expected ? PAGE_KEPT : PAGE_EMPTY);
    if (*expected)
        assert_true(str_equal(article.text, str_of(expected)));
    buf_release(&group.text);
    article_close(reader);
}

static void blank_lines_are_left_out(void **state)
{
    (void)state;
    const char *lines = "One.\n\u00a0\nTwo.\n \u3000\t\n\u200b\nThree.\n\u2028";
    assert_text(SOURCE_TEXT, FORM_SENTENCES, false, lines, "One.\nTwo.\nThree.\n");
    assert_text(SOURCE_TEXT, FORM_PARAGRAPHS, false, lines, "One.\nTwo.\nThree.\n");
    assert_text(SOURCE_TEXT, FORM_FILE, false, lines, "One.\nTwo.\nThree.\n");
    assert_text(SOURCE_JSONL, FORM_SENTENCES, false, "{\"text\": \"One.\\n\\u00a0\\nTwo.\\n\\ufeff\\n\"}",
                "One.\nTwo.\n");
    assert_text(SOURCE_JSONL, FORM_SENTENCES, false, "{\"text\": \"\\u3000\\n\\u00a0\\u200b\"}", "");
}

/* Lines of a wrapped paragraph are joined; blank lines and U+3000 begin another one. */
static void wrapped_lines_are_joined(void **state)
{
    (void)state;
    assert_text(SOURCE_TEXT, FORM_WRAPPED, true, "One\n  and a\t\r\nhalf.\n", "One and a half.\n");
    assert_text(SOURCE_TEXT, FORM_FILE, true, "One\nhalf.\n\n\nTwo\n \u3000\nThree and a well-\nknown four.\n",
                "One half.\nTwo\nThree and a well-known four.\n");
    assert_text(SOURCE_TEXT, FORM_SECTIONS, true, "\u3000\u3000山の\n向こう。\n\u3000\u3000雨だ\nった。\n",
                "\u3000\u3000山の向こう。\n\u3000\u3000雨だった。\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_are_counted), cmocka_unit_test(blank_lines_are_left_out),
                                       cmocka_unit_test(wrapped_lines_are_joined)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

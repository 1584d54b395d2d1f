/* How records become the text of documents. */
#include "pipeline/input/input_kind.h"
#include "pipeline/text/words/languages.h"
#include "tests/unit.h"

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

TEST(blank_lines_are_left_out)
{
    const char *lines = "One.\n\u00a0\nTwo.\n \u3000\t\n\u200b\nThree.\n\u2028";
    assert_text(SOURCE_TEXT, FORM_SENTENCES, false, lines, "One.\nTwo.\nThree.\n");
    assert_text(SOURCE_TEXT, FORM_PARAGRAPHS, false, lines, "One.\nTwo.\nThree.\n");
    assert_text(SOURCE_TEXT, FORM_FILE, false, lines, "One.\nTwo.\nThree.\n");
    assert_text(SOURCE_JSONL, FORM_SENTENCES, false, "{\"text\": \"One.\\n\\u00a0\\nTwo.\\n\\ufeff\\n\"}",
                "One.\nTwo.\n");
    assert_text(SOURCE_JSONL, FORM_SENTENCES, false, "{\"text\": \"\\u3000\\n\\u00a0\\u200b\"}", "");
}

/* Lines of a wrapped paragraph are joined; blank lines and U+3000 begin another one. */
TEST(wrapped_lines_are_joined)
{
    assert_text(SOURCE_TEXT, FORM_WRAPPED, true, "One\n  and a\t\r\nhalf.\n", "One and a half.\n");
    assert_text(SOURCE_TEXT, FORM_FILE, true, "One\nhalf.\n\n\nTwo\n \u3000\nThree and a well-\nknown four.\n",
                "One half.\nTwo\nThree and a well-known four.\n");
    assert_text(SOURCE_TEXT, FORM_SECTIONS, true, "\u3000\u3000山の\n向こう。\n\u3000\u3000雨だ\nった。\n",
                "\u3000\u3000山の向こう。\n\u3000\u3000雨だった。\n");
}

static uint64_t hash_of(struct article_reader *reader, struct str text)
{
    return article_hash(reader, &(struct article){.text = text});
}

/* Runs of blanks of every length at every place, also across blocks that are read at once, count as one ' '. */
TEST(hashes_do_not_depend_on_white_space)
{
    static const char blanks[] = " \t\n\v\f\r";
    struct article_reader *reader = article_open();
    for (size_t at = 1; at < 100; at++)
        for (size_t size = 1; size < 40; size += 3) {
            char once[101], many[140];
            memset(once, 'x', sizeof once);
            memset(many, 'x', sizeof many);
            once[at] = ' ';
            for (size_t i = 0; i < size; i++)
                many[at + i] = blanks[(at + i) % (sizeof blanks - 1)];
            assert_int_equal(hash_of(reader, (struct str){once, sizeof once}),
                             hash_of(reader, (struct str){many, sizeof once + size - 1}));
            assert_int_not_equal(hash_of(reader, (struct str){once, sizeof once}),
                                 hash_of(reader, (struct str){once, sizeof once - 1}));
        }
    article_close(reader);
}

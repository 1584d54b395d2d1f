/* Sentences: the rules (sentences.cases), and properties for any text. */
#include "base/file.h"
#include "pipeline/text/sentences/sentences.h"
#include "pipeline/text/sentences/sentences_marks.h"
#include "tests/unit.h"

/* Adds the input of a case: " | " becomes the blank between sentences, "|" becomes nothing. */
static void add_input(struct buf *input, struct str line)
{
    for (size_t i = 0; i < line.size; i++)
        if (line.data[i] != '|')
            buf_add_byte(input, line.data[i]);
        else if (i + 1 < line.size && line.data[i + 1] == ' ')
            i++;
}

/* Adds the line of a case without the blanks around its marks. */
static void add_expected(struct buf *expected, struct str line)
{
    while (line.size > 0) {
        const char *mark = memchr(line.data, '|', line.size);
        const char *end = line.data + line.size;
        buf_add_str(expected, str_trim(str_range(line.data, mark ? mark : end)));
        if (mark)
            buf_add_byte(expected, '|');
        line = str_range(mark ? mark + 1 : end, end);
    }
}

static bool case_holds(struct str language, struct str line)
{
    SCOPED(buf_release) struct buf input = {0}, expected = {0}, got = {0};
    SCOPED(sentences_release) struct sentences sentences = {0};
    add_input(&input, line);
    add_expected(&expected, line);
    sentences_split(language_find(language), buf_str(&input), &sentences);
    for (size_t i = 0; i < sentences.count; i++) {
        if (i > 0)
            buf_add_byte(&got, '|');
        buf_add_str(&got, sentences.items[i]);
    }
    const bool holds = str_equal(buf_str(&got), buf_str(&expected));
    if (!holds)
        fprintf(stderr, "%.*s: expected %s\n         got %s\n", (int)language.size, language.data, buf_text(&expected),
                buf_text(&got));
    return holds;
}

/* Runs a file of cases; under each heading, up to `misses` may fail. `told`: prints the counts of each heading. */
static void run_cases(const char *name, size_t misses, bool told, size_t *count, size_t *languages)
{
    struct buf file = {0};
    struct error err;
    assert_int_equal(file_read_all(name, 1u << 20, &file, &err), 0);
    struct str language = STR("en");
    size_t wrong = 0, wrong_before = 0, before = 0;
    *count = *languages = 0;
    for (const char *at = file.data, *end = at + file.size, *stop; at <= end; at = stop + 1) {
        stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : end;
        assert_non_null(stop);
        const struct str line = str_range(at, stop);
        const size_t setting = str_find(line, STR("[lang="));
        if (at == end || str_starts(line, STR("==="))) {
            if (told && *count > before)
                print_message("%.*s: %zu cases, %zu do not hold\n", (int)language.size, language.data, *count - before,
                              wrong - wrong_before);
            assert_true(wrong - wrong_before <= misses);
            *languages += *count > before;
            before = *count;
            wrong_before = wrong;
            language = setting == SIZE_MAX ? STR("en") : (struct str){at + setting + 6, 2};
        } else if (line.size > 0 && line.data[0] != '#') {
            ++*count;
            wrong += !case_holds(language, line);
        }
    }
    buf_release(&file);
    print_message("%s: %zu cases, %zu do not hold\n", name, *count, wrong);
}

TEST(cases_are_split)
{
    size_t count, headings;
    run_cases(SOURCE_DIR "/tests/pipeline/text/sentences.cases", 0, false, &count, &headings);
    assert_true(count >= 300);
}

/* 19 of 20 in each language: rules without knowledge of meaning may miss ambiguous cases. */
TEST(every_language_is_split)
{
    size_t count, languages;
    run_cases(SOURCE_DIR "/tests/pipeline/text/sentences_languages.cases", 1, true, &count, &languages);
    assert_true(languages >= 30 && count >= 20 * languages);
}

TEST(paragraphs_are_never_joined)
{
    SCOPED(sentences_release) struct sentences sentences = {0};
    sentences_split(language_find(STR("en")), STR("One\nand two. Three,\n\n \tMr.\nFour。　\u00A0Five. \r\n"),
                    &sentences);
    static const char *const expected[] = {"One", "and two.", "Three,", "Mr.", "Four。", "Five."};
    assert_int_equal(sentences.count, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < sentences.count; i++)
        assert_true(str_equal(sentences.items[i], str_of(expected[i])));
}

/* A bar is typed for the danda. The files of cases cannot have it. */
TEST(bars_end_sentences_of_hindi)
{
    SCOPED(sentences_release) struct sentences sentences = {0};
    sentences_split(language_find(STR("hi")), STR("राम आया | सीता गई |"), &sentences);
    assert_int_equal(sentences.count, 2);
    assert_true(str_equal(sentences.items[0], STR("राम आया |")) && str_equal(sentences.items[1], STR("सीता गई |")));
}

/* Splits `text` and checks that sentences are in order, inside the text, with only blanks between them. */
static size_t check(struct str text, const char *lang)
{
    SCOPED(sentences_release) struct sentences sentences = {0};
    sentences_split(language_find(str_of(lang)), text, &sentences);
    const char *at = text.data;
    for (size_t i = 0; i <= sentences.count; i++) {
        const char *next = i < sentences.count ? sentences.items[i].data : text.data + text.size;
        while (at < next) {
            const size_t blank = blank_at(str_range(at, next), 0);
            assert_true(blank > 0 || *at == '\n' || *at == '\r');
            at += blank > 0 ? blank : 1;
        }
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
    return count;
}

static void repeat(struct buf *text, const char *unit, size_t bytes)
{
    buf_reset(text);
    while (text->size < bytes)
        buf_add_text(text, unit);
}

/* Thai has no full stop: a sentence longer than 400 bytes ends at a blank between clauses, but not at one beside a
 * number. */
TEST(clauses_of_thai_are_cut)
{
    SCOPED(buf_release) struct buf text = {0};
    struct sentences sentences = {0};
    repeat(&text, "แม่น้ำขึ้นสูงในตอนกลางคืน ", 3000);
    sentences_split(language_find(STR("th")), buf_str(&text), &sentences);
    assert_in_range(sentences.count, 3000 / 400, 3000 / 100);
    for (size_t i = 0; i < sentences.count; i++)
        assert_true(sentences.items[i].size <= 400 && (sentences.items[i].size >= 100 || i + 1 == sentences.count));
    sentences_release(&sentences);
    assert_int_equal(check(buf_str(&text), "en"), 2); /* only in languages where blanks separate clauses */
    repeat(&text, "ปี 2423 ", 1000);
    assert_int_equal(check(buf_str(&text), "th"), 1);
    repeat(&text, "เด็ก ๆ", 1000);
    assert_int_equal(check(buf_str(&text), "th"), 1);
}

TEST(long_sentences_are_cut)
{
    SCOPED(buf_release) struct buf text = {0};
    repeat(&text, "word ", 10000);
    assert_in_range(check(buf_str(&text), "en"), 5, 6);
    repeat(&text, "漢字", 10002); /* no blank to cut at */
    assert_int_equal(check(buf_str(&text), "ja"), 6);
    repeat(&text, "some twenty letters; ", 1990);
    assert_int_equal(check(buf_str(&text), "en"), 1);
    buf_add_text(&text, "and more");
    for (unsigned i = 0; i < 5; i++)
        buf_add_text(&text, ", and more");
    SCOPED(sentences_release) struct sentences sentences = {0};
    sentences_split(language_find(STR("en")), buf_str(&text), &sentences);
    assert_int_equal(sentences.count, 2);
    assert_true(str_ends(sentences.items[0], STR(";")));
}

/* The number of sentences in `before`, then `times` repetitions of "It was so. ", then `end`. */
static size_t count_held(const char *before, unsigned times, const char *end)
{
    SCOPED(buf_release) struct buf text = {0};
    buf_add_text(&text, before);
    for (unsigned i = 0; i < times; i++)
        buf_add_text(&text, "It was so. ");
    buf_add_text(&text, end);
    const size_t count = check(buf_str(&text), "en");
    return count;
}

/* Quotations and brackets keep their sentences together up to 600 bytes; a longer one counts as never closed. */
TEST(long_quotations_and_brackets_hold_nothing)
{
    static const char *const quotes[][2] = {{"He said: \"", "Enough.\" Then he left."},
                                            {"He said: \u201C", "Enough.\u201D Then he left."}};
    for (size_t i = 0; i < 2; i++) {
        for (unsigned times = 1; times * 11 < 590; times += 10)
            assert_int_equal(count_held(quotes[i][0], times, quotes[i][1]), 2);
        for (unsigned times = 55; times < 500; times += 89)
            assert_int_equal(count_held(quotes[i][0], times, quotes[i][1]), times + 2);
    }
    for (unsigned times = 1; times * 11 < 590; times += 10)
        assert_int_equal(count_held("He came (as he said. ", times, "Enough.) Then he left."), 2);
    /* From the first full stops, the end of the bracket is too far away; from the last ones, its beginning is. */
    assert_int_equal(count_held("He came (as he said. ", 120, "Enough.) Then he left."), 120 + 3);
    SCOPED(buf_release) struct buf text = {0};
    repeat(&text, "and it was so ", 700);
    SCOPED(buf_release) struct buf page = {0};
    buf_addf(&page, "He came (%s. Later, too.) Then he left.", buf_text(&text));
    assert_int_equal(check(buf_str(&page), "en"), 3);
}

TEST(any_text_is_split)
{
    static const char *const units[] = {
        ".",    ". ", "A. ",  "a. A", ".\n", "!",    "? ", "...",    ". . ",     "。",        "「。", "」。",  "（",
        "）。", "\"", ".\" ", ". \"", ". (", ".)",   "» ", ". »",    "\xC2\xA0", ".\xC2\xA0", "1. ",  "U.S. ", "x.y",
        " ",    "\n", "\t",   "؟",    "।",   "é. É", "…",  "A. A. ", "Mr. ",     "No. 5 ",    "; ",   "Ａ．"};
    const char *const langs[] = {"en", "de", "ja", "xx"};
    SCOPED(buf_release) struct buf text = {0};
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
}

/* Each of these would take minutes with a quadratic scan. */
TEST(hostile_text_takes_linear_time)
{
    static const char *const units[][2] = {{"\"", "! a"}, {"- ", "! a"},    {"(", ". a"},      {"(", "? A "},
                                           {" ", ". a "}, {"a.", "[...] "}, {"a. ", "[...]"},  {"1", ". "},
                                           {"「", "。"},  {".", " ."},      {"\u00A0", ". a"}, {"a", ".) "}};
    SCOPED(buf_release) struct buf text = {0}, part = {0};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        repeat(&text, units[i][0], 500000);
        repeat(&part, units[i][1], 500000);
        buf_add_str(&text, buf_str(&part));
        check(buf_str(&text), "en");
    }
}

TEST(sentences_are_appended)
{
    SCOPED(sentences_release) struct sentences sentences = {0};
    sentences_split(language_find(STR("en")), STR("One. Two."), &sentences);
    sentences_split(language_find(STR("en")), STR("Three."), &sentences);
    assert_int_equal(sentences.count, 3);
    assert_true(str_equal(sentences.items[0], STR("One.")) && str_equal(sentences.items[2], STR("Three.")));
}

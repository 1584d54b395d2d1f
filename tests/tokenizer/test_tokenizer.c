/* Text to words to pieces: published vectors, the order of the steps, and results that must not depend on state. */
#include "tests/tokenizer/help.h"

#include <time.h>

#define PUBLISHED "[UNK] [CLS] [SEP] want ##want ##ed wa un runn ##ing ,"

TEST(published_vectors)
{
    assert_string_equal(words_of(STR("ah\u535A\u63A8zz"), false, true), "ah|\u535A|\u63A8|zz");
    assert_string_equal(words_of(STR(" \tHeLLo!how  \n Are yoU?  "), false, true), "hello|!|how|are|you|?");
    assert_string_equal(words_of(STR(" \tHeLLo!how  \n Are yoU?  "), true, false), "HeLLo|!|how|Are|yoU|?");
    assert_string_equal(words_of(STR("H\u00E9llo"), false, true), "hello");
    SCOPED(vocab_close_at) struct vocab *vocab = vocab_of(PUBLISHED);
    assert_string_equal(pieces_of(vocab, STR("UNwant\u00E9d,running"), false, true), "un ##want ##ed , runn ##ing");
    assert_string_equal(pieces_of(vocab, STR(""), false, true), "");
    assert_string_equal(pieces_of(vocab, STR("unwanted running"), false, true), "un ##want ##ed runn ##ing");
    assert_string_equal(pieces_of(vocab, STR("unwantedX running"), false, true), "[UNK] runn ##ing");
}

TEST(each_step_is_done_in_its_order)
{
    /* Deleted characters join their neighbours; the controls VT, FF and NEL are deleted, not white space. */
    assert_string_equal(words_of(STR("a\0b\x0B"
                                     "c\xC2\x85"
                                     "d\u00ADe\u200Df\uFFFDg\uE000h\uFEFF"),
                                 false, true),
                        "abcdefgh");
    assert_string_equal(words_of(STR("a\u2028b\u3000c\u1680d"), true, false), "a|b|c|d");
    /* Lowercase without context: a final sigma stays a sigma. */
    assert_string_equal(words_of(STR("\u039F\u0394\u039F\u03A3"), false, true), "\u03BF\u03B4\u03BF\u03C3");
    /* U+0130 becomes i, with the dot where accents are kept. */
    assert_string_equal(words_of(STR("\u0130I\u0131"), false, true), "ii\u0131");
    assert_string_equal(words_of(STR("\u0130\u0130x"), false, false), "i\u0307i\u0307x");
    /* A decomposition that contains punctuation. */
    assert_string_equal(words_of(STR("a\u2260b"), false, true), "a|=|b");
    assert_string_equal(words_of(STR("a\u2260b"), false, false), "a\u2260b");
    assert_string_equal(words_of(STR("a\u037Eb \u1FEF"), false, true), "a|;|b|`");
    /* Hangul decomposes only where accents are stripped; kana loses its voicing mark. */
    assert_string_equal(words_of(STR("\uAC01 \u304C"), false, true), "\u1100\u1161\u11A8|\u304B");
    assert_string_equal(words_of(STR("\uAC01"), true, false), "\uAC01");
    /* Compatibility ideographs become separate words, then decompose. */
    assert_string_equal(words_of(STR("a\uF900\u8C48"), false, true), "a|\u8C48|\u8C48");
    assert_string_equal(words_of(STR("a\uF900"), true, false), "a|\uF900");
    /* The gap at U+2B820 in BERT's ranges of ideographs. */
    assert_string_equal(words_of(STR("a\U0002B81Fb"), true, false), "a|\U0002B81F|b");
    assert_string_equal(words_of(STR("a\U0002B820b"), true, false), "a\U0002B820b");
    assert_string_equal(words_of(STR("a\U0002B920b"), true, false), "a|\U0002B920|b");
    /* Marks that are not nonspacing stay, in canonical order: U+302E (class 224) comes after U+1D165 (216). */
    assert_string_equal(words_of(STR("a\u302E\U0001D165"), false, true), "a\U0001D165\u302E");
    assert_string_equal(words_of(STR("a\u302E\U0001D165"), true, false), "a\u302E\U0001D165");
    assert_string_equal(words_of(STR("a\u0301"), true, false), "a\u0301");
    assert_string_equal(words_of(STR("a\u0301"), true, true), "a");
    assert_string_equal(words_of(STR("\u0301 \u0301"), false, true), "");
}

static const char *google_words_of(struct str text, bool cased, bool strip)
{
    return words_by(&(struct tokenizer_options){.cased = cased, .strip_accents = strip, .profile = PROFILE_GOOGLE},
                    text);
}

TEST(a_final_sigma_is_final_by_google_alone)
{
    /* The context is the whole token between white space; ignorable and deleted letters are skipped. */
    const struct {
        const char *text, *words;
    } cases[] = {
        {"\u039F\u0394\u039F\u03A3", "\u03BF\u03B4\u03BF\u03C2"},
        {"\u0391\u03A3.\u0391", "\u03B1\u03C3|.|\u03B1"},
        {"\u0391\u03A3,\u0391", "\u03B1\u03C2|,|\u03B1"},
        {"\u0391.\u03A3", "\u03B1|.|\u03C2"},
        {"\u0391,\u03A3", "\u03B1|,|\u03C3"},
        {"\u03A3 \u03A3\u03A3", "\u03C3|\u03C3\u03C2"},
        {"a\u03A3\u0301\u00AD\xFFz a\u03A3 z", "a\u03C3z|a\u03C2|z"},
        {"a\u03A3\u4E2Dz", "a\u03C2|\u4E2D|z"},
        {"a\u03A3\u2028z", "a\u03C2|z"},
        {"a\u03A3", "a\u03C2"},
        {"a\u03A3\xCE", "a\u03C2"},
        {"\u03A3", "\u03C3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(google_words_of(str_of(cases[i].text), false, true), cases[i].words);
        assert_null(strstr(words_of(str_of(cases[i].text), false, true), "\u03C2"));
    }
    assert_string_equal(google_words_of(STR("a\u03A3"), true, false), "a\u03A3");
    /* Other differences: private use and new capitals stay, a gap in the ideographs is closed, newer punctuation. */
    assert_string_equal(google_words_of(STR("a\uE000b \u1C89 a\U0002B820b a\u2E52b"), false, true),
                        "a\uE000b|\u1C89|a|\U0002B820|b|a|\u2E52|b");
}

/* The cache of runs must not keep a form of sigma that depended on its neighbours. */
TEST(remembered_runs_forget_no_sigma)
{
    SCOPED(vocab_close_at) struct vocab *vocab = vocab_of("a\u03C2 a\u03C3 . b");
    SCOPED(tokenizer_close_at)
    struct tokenizer *tokenizer =
        tokenizer_open(vocab, &(struct tokenizer_options){.strip_accents = true, .profile = PROFILE_GOOGLE});
    SCOPED(tokenizer_state_close_at) struct tokenizer_state *words = tokenizer_state_open(tokenizer);
    SCOPED(ids_release) struct ids ids = {0};
    for (int i = 0; i < 2; i++)
        tokenizer_ids(words, STR("A\u03A3 A\u03A3.b A\u03A3."), &ids);
    const uint32_t expected[] = {0, 1, 2, 3, 0, 2};
    assert_int_equal(ids.count, 12);
    assert_memory_equal(ids.data, expected, sizeof expected);
    assert_memory_equal(ids.data + 6, expected, sizeof expected);
}

TEST(specials_in_a_text_are_text)
{
    SCOPED(vocab_close_at) struct vocab *vocab = vocab_of("[ mask ] ##s # ing ##ing x");
    assert_string_equal(pieces_of(vocab, STR("[MASK]x[mask]"), false, true), "[ mask ] x [ mask ]");
    assert_string_equal(pieces_of(vocab, STR("##ing ing xing s"), false, true), "# # ing ing x ##ing [UNK]");
}

TEST(ideographs_are_words_unless_they_are_joined)
{
    struct tokenizer_options options = {.strip_accents = true};
    assert_string_equal(words_by(&options, STR("a\u4E2D\u6587b \u4E2D")), "a|\u4E2D|\u6587|b|\u4E2D");
    options.joined = true;
    assert_string_equal(words_by(&options, STR("a\u4E2D\u6587b \u4E2D")), "a\u4E2D\u6587b|\u4E2D");
}

TEST(ill_formed_bytes_are_dropped)
{
    assert_string_equal(words_of(STR("a\xFF"
                                     "b\xC0\xAF"
                                     "c\xE0\x80\xAF\xE2\x82"
                                     "d\xED\xA0\x80"
                                     "e\xF0\x9F\x98"),
                                 false, true),
                        "abcde");
    assert_string_equal(words_of(STR("\x80\xBF"), false, true), "");
    assert_string_equal(words_of(STR("\xE4\xB8 \xE4\xB8\xAD\xE4"), false, true), "\u4E2D");
}

TEST(a_word_has_at_most_100_letters)
{
    SCOPED(vocab_close_at) struct vocab *vocab = vocab_of("a ##a e ##e \u1100 ##\u1161 ##\u1100");
    SCOPED(tokenizer_close_at)
    struct tokenizer *tokenizer = tokenizer_open(vocab, &(struct tokenizer_options){.strip_accents = true});
    SCOPED(tokenizer_state_close_at) struct tokenizer_state *words = tokenizer_state_open(tokenizer);
    const struct {
        const char *letter;
        size_t times, ids;
    } cases[] = {
        {"a", 99, 99},         {"a", 100, 100},     {"a", 101, 1},         {"a", 200, 1},
        {"\u00E9", 100, 100},  {"\u00E9", 101, 1},  {"a\u0301", 100, 100}, /* counted after marks are removed */
        {"\uAC00", 50, 100},   {"\uAC00", 51, 1},                          /* and after Hangul is decomposed */
        {"a\u00AD", 100, 100}, {"a\u00AD", 101, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(buf_release) struct buf text = {0};
        for (size_t k = 0; k < cases[i].times; k++)
            buf_add_text(&text, cases[i].letter);
        SCOPED(ids_release) struct ids ids = {0};
        tokenizer_ids(words, buf_str(&text), &ids);
        assert_int_equal(ids.count, cases[i].ids);
        assert_true((ids.data[0] == vocab->unk) == (cases[i].ids == 1));
    }
}

/* Results must not depend on earlier texts, nor on where in memory the text ends. */
TEST(memory_never_changes_a_result)
{
    SCOPED(vocab_close_at)
    struct vocab *vocab = vocab_of("a ##a b ##b c ##c ab ##abc bca \u00E9 ##\u00E9 \u4E2D . , e");
    const char *const parts[] = {"a", "b", "c", "A", "\u00C9", "\u00E9", " ", ".", "\u4E2D", "\xC3", "e\u0301", "\x01"};
    SCOPED(tokenizer_close_at) struct tokenizer *tokenizer = tokenizer_open(vocab, &(struct tokenizer_options){0});
    SCOPED(tokenizer_state_close_at) struct tokenizer_state *old = tokenizer_state_open(tokenizer);
    uint32_t draw = 1;
    for (int round = 0; round < 3000; round++) {
        SCOPED(buf_release) struct buf text = {0};
        for (int i = 0; i < round % 70; i++) {
            draw = draw * 1664525 + 1013904223;
            buf_add_text(&text, parts[(draw >> 16) % 12]);
        }
        SCOPED(mem_free_at)
        char *exact = mem_alloc(text.size); /* so that the sanitizer sees a byte read after the end */
        if (text.size)
            memcpy(exact, text.data, text.size);
        SCOPED(ids_release) struct ids remembered = {0}, fresh = {0};
        tokenizer_ids(old, (struct str){exact, text.size}, &remembered);
        if (round % 50 == 49 || round < 300) {
            struct tokenizer_state *new = tokenizer_state_open(tokenizer);
            tokenizer_ids(new, (struct str){exact, text.size}, &fresh);
            tokenizer_state_close(new);
            assert_int_equal(remembered.count, fresh.count);
            if (fresh.count)
                assert_memory_equal(remembered.data, fresh.data, fresh.count * sizeof *fresh.data);
        }
    }
}

TEST(ids_are_appended)
{
    SCOPED(vocab_close_at) struct vocab *vocab = vocab_of("a b");
    SCOPED(tokenizer_close_at) struct tokenizer *tokenizer = tokenizer_open(vocab, &(struct tokenizer_options){0});
    SCOPED(tokenizer_state_close_at) struct tokenizer_state *words = tokenizer_state_open(tokenizer);
    SCOPED(ids_release) struct ids ids = {0};
    tokenizer_ids(words, STR("a"), &ids);
    tokenizer_ids(words, STR(""), &ids);
    tokenizer_ids(words, (struct str){0}, &ids);
    tokenizer_ids(words, STR("b"), &ids);
    assert_int_equal(ids.count, 2);
    assert_int_equal(ids.data[0], 0);
    assert_int_equal(ids.data[1], 1);
}

static double seconds_for(struct str part, size_t bytes, enum profile profile)
{
    SCOPED(buf_release) struct buf text = {0};
    buf_add_text(&text, "a");
    while (text.size < bytes)
        buf_add_str(&text, part);
    SCOPED(vocab_close_at) struct vocab *vocab = vocab_of("a ##a");
    SCOPED(tokenizer_close_at)
    struct tokenizer *tokenizer =
        tokenizer_open(vocab, &(struct tokenizer_options){.strip_accents = true, .profile = profile});
    SCOPED(tokenizer_state_close_at) struct tokenizer_state *words = tokenizer_state_open(tokenizer);
    SCOPED(ids_release) struct ids ids = {0};
    struct timespec before, after;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    tokenizer_ids(words, buf_str(&text), &ids);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    assert_true(ids.count >= 1);
    return (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
}

/* A quadratic step would take minutes. */
TEST(hostile_megabytes_take_linear_time)
{
    assert_true(seconds_for(STR("a"), 4 << 20, PROFILE_HF) < 10);
    assert_true(seconds_for(STR("\u0301\u0327\u302E\u0345"), 4 << 20, PROFILE_HF) < 10);
    assert_true(seconds_for(STR("\u1E69\uAC01"), 4 << 20, PROFILE_HF) < 10);
    assert_true(seconds_for(STR("\u0130"), 4 << 20, PROFILE_HF) < 10);
    assert_true(seconds_for(STR("\xFF\xC3"), 4 << 20, PROFILE_HF) < 10);
    assert_true(seconds_for(STR("\u0301 "), 4 << 20, PROFILE_HF) < 10);
    assert_true(seconds_for(STR("\u03A3"), 4 << 20, PROFILE_GOOGLE) < 10);
    assert_true(seconds_for(STR("\u03A3......"), 4 << 20, PROFILE_GOOGLE) < 10);
}

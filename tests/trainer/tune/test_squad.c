/* Questions to windows, logits to answers, answers to scores: one case for each rule. tests/flow/tasks_like_hf.py
 * compares thousands of them with transformers. */
#include <sys/stat.h>

#include "base/file.h"
#include "tests/unit.h"
#include "tokenizer/bpe.h"
#include "trainer/tune/answers.h"
#include "trainer/tune/squad_scores.h"
#include "trainer/tune/squad_windows.h"

#define FILE_NAME "test_squad.json"

static struct text text_of_words(bool cased)
{
    struct text text = {0};
    struct error err;
    const struct str pieces[] = {STR("[PAD]"), STR("[UNK]"), STR("[CLS]"), STR("[SEP]"), STR("[MASK]"),
                                 STR("a"),     STR("b"),     STR("c"),     STR("d"),     STR("##x"),
                                 STR("?"),     STR("("),     STR(")"),     STR("cafe")};
    assert_int_equal(vocab_from_pieces(&text.vocab, pieces, sizeof pieces / sizeof *pieces, &err), 0);
    text.words = (struct tokenizer_options){.profile = PROFILE_HF, .cased = cased, .strip_accents = !cased};
    text.tokenizer = tokenizer_open(text.vocab, &text.words);
    text.state = tokenizer_state_open(text.tokenizer);
    return text;
}

/* One question; answer NULL: it has none. */
static void make(const char *context, const char *answer, int start, const struct squad_limits *limits, bool training,
                 struct text *text, struct squad_file *file, struct squad_features *features)
{
    struct error err;
    char json[2000];
    snprintf(json, sizeof json,
             "{\"data\":[{\"paragraphs\":[{\"context\":\"%s\",\"qas\":[{\"id\":\"q\",\"question\":\"a?\",\"answers\":[{"
             "\"text\":"
             "\"%s\",\"answer_start\":%d}]}]}]}]}",
             context, answer, start);
    assert_int_equal(file_write_all(FILE_NAME, json, strlen(json), &err), 0);
    *text = text_of_words(false);
    if (squad_read(file, FILE_NAME, &err) < 0)
        fail_msg("%s", err.text);
    squad_features_make(file, text, limits, training, features);
}

static void release(struct text *text, struct squad_file *file, struct squad_features *features)
{
    squad_features_release(features);
    squad_release(file);
    text_close(text);
    unlink(FILE_NAME);
}

static const struct squad_limits limits = {11, 3, 64}; /* 6 pieces of context per window */

TEST(a_long_context_has_several_windows)
{
    struct text text;
    struct squad_file file;
    struct squad_features f;
    make("a b c d a b c d a b", "c d", 12, &limits, true, &text, &file, &f); /* pieces 6 and 7 */
    static const uint32_t starts[] = {0, 3, 6}, lengths[] = {6, 6, 4}, begins[] = {0, 7, 4}, ends[] = {0, 8, 5};
    assert_true(f.count == 1 && f.items[0].window_count == 3 && f.items[0].piece_count == 10);
    for (uint32_t w = 0; w < 3; w++) {
        const struct task_sample *sample = &f.samples.items[f.items[0].windows[w].sample];
        assert_true(f.items[0].windows[w].start == starts[w] && f.items[0].windows[w].length == lengths[w]);
        assert_true(sample->token == begins[w] && sample->label == ends[w] && sample->a_length == 4);
        assert_int_equal(sample->length, lengths[w] + 5);
    }
    static const bool best[3][10] = {{1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 0, 0, 1, 1}};
    for (uint32_t w = 0; w < 3; w++)
        for (uint32_t piece = 0; piece < 10; piece++)
            assert_true(squad_is_best_window(&f.items[0], w, piece) == best[w][piece]);
    release(&text, &file, &f);
}

/* An answer that ends one piece after a window is not in that window. */
TEST(an_answer_across_a_border_is_in_one_window)
{
    struct text text;
    struct squad_file file;
    struct squad_features f;
    make("a b c d a b c d a b", "b c", 10, &limits, true, &text, &file, &f); /* pieces 5 and 6 */
    static const uint32_t begins[] = {0, 6, 0}, ends[] = {0, 7, 0};
    assert_true(f.count == 1 && f.items[0].window_count == 3);
    for (uint32_t w = 0; w < 3; w++) {
        const struct task_sample *sample = &f.samples.items[f.items[0].windows[w].sample];
        assert_true(sample->token == begins[w] && sample->label == ends[w]);
    }
    release(&text, &file, &f);
}

/* A window's score for a piece is its context on the shorter side plus 0.01 times the window's length. Piece 190 has 59
 * pieces to its right in the first window, and 60 to its left in the second, which is 125 shorter. */
TEST(a_long_window_is_better_than_a_short_one)
{
    struct squad_window windows[] = {{.start = 0, .length = 250}, {.start = 130, .length = 125}};
    const struct squad_feature f = {.windows = windows, .window_count = 2};
    assert_true(squad_is_best_window(&f, 0, 190) && !squad_is_best_window(&f, 1, 190));
    assert_true(squad_is_best_window(&f, 1, 191) && !squad_is_best_window(&f, 0, 191));
}

TEST(an_answer_is_narrowed_to_its_own_pieces)
{
    struct text text;
    struct squad_file file;
    struct squad_features f;
    make("a (b) c", "b", 3, &limits, true, &text, &file, &f); /* the word is "(b)" */
    assert_true(f.count == 1 && f.samples.items[0].token == 4 + 2 && f.samples.items[0].label == 4 + 2);
    release(&text, &file, &f);
    make("a bx c", "x", 3, &limits, true, &text, &file, &f); /* inside a word: the whole word */
    assert_true(f.count == 1 && f.samples.items[0].token == 4 + 1 && f.samples.items[0].label == 4 + 2);
    release(&text, &file, &f);
    make("a bx c", "x ", 3, &limits, true, &text, &file, &f); /* a blank at its end belongs to the word before */
    assert_true(f.count == 1 && f.samples.items[0].token == 4 + 1 && f.samples.items[0].label == 4 + 2);
    release(&text, &file, &f);
    make("a \u00e9 b c", "\u00e9 b", 2, &limits, true, &text, &file, &f); /* characters count, not bytes */
    assert_true(f.count == 1 && file.questions[0].answers[0].length == 3);
    release(&text, &file, &f);
    make("a b c", "d", 2, &limits, true, &text, &file, &f);
    assert_true(f.count == 0 && f.left_out == 1);
    release(&text, &file, &f);
}

/* A byte-level BPE whose pieces are bytes, composed by NFC, from files. */
static struct text text_of_bytes(void)
{
    struct text text;
    struct error err;
    struct model_config config = {.vocabulary = 259};
    json_t *vocab = json_pack("{s:i, s:i, s:i}", "[CLS]", 256, "[SEP]", 257, "[PAD]", 258);
    for (int byte = 0; byte < 256; byte++) {
        char letter[5] = {0};
        utf8_write(bpe_letter((unsigned char)byte), letter);
        json_object_set_new(vocab, letter, json_integer(byte));
    }
    json_auto_t *json = json_pack("{s:{s:s, s:o, s:[]}, s:{s:s}, s:{s:s, s:b}, s:{s:s, s:[s,i], s:[s,i]}}", "model",
                                  "type", "BPE", "vocab", vocab, "merges", "normalizer", "type", "NFC", "pre_tokenizer",
                                  "type", "ByteLevel", "add_prefix_space", 1, "post_processor", "type",
                                  "RobertaProcessing", "cls", "[CLS]", 256, "sep", "[SEP]", 257);
    mkdir("test_squad.d", 0777);
    assert_int_equal(json_dump_file(json, "test_squad.d/tokenizer.json", 0), 0);
    assert_int_equal(text_open(&text, "test_squad.d", &config, &err), 0);
    unlink("test_squad.d/tokenizer.json");
    rmdir("test_squad.d");
    return text;
}

static struct window_logits two_rows(const void *context, uint32_t sample)
{
    const float(*const rows)[64] = context;
    (void)sample;
    return (struct window_logits){rows[0], rows[1], 1, 64};
}

/* The pieces of a context that a question is trained on, and the text that they give when they are the answer. */
TEST(bytes_answer_with_whole_characters)
{
    static const struct {
        const char *context, *answer;
        int start;                    /* code points */
        uint32_t first, last, pieces; /* of the context, which has a blank before it */
        const char *text;
    } cases[] = {
        {"a \U0001f642b", "\U0001f642", 2, 3, 6, 8, "\U0001f642"}, /* four bytes */
        {"ae\u0301 b", "e\u0301", 1, 2, 3, 6, "e\u0301"},          /* composed to two bytes */
        {"ae\u0301 b", "b", 4, 5, 5, 6, "b"},                      /* what follows is where it was */
        {"\u6771\u4eac", "\u4eac", 1, 4, 6, 7, "\u4eac"},
        {"a  b c", " b ", 2, 4, 4, 7, "b"}, /* white space is not the answer */
        {"a b c", "b", 3, 3, 3, 6, "b"},    /* not quite where the file says */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const struct squad_limits wide = {64, 32, 8};
        struct text bytes = text_of_bytes(), unused;
        struct squad_file file;
        struct squad_features f;
        make(cases[i].context, cases[i].answer, cases[i].start, &wide, true, &unused, &file, &f);
        squad_features_release(&f);
        squad_features_make(&file, &bytes, &wide, true, &f);
        const uint32_t before = 1 + 3 + 2; /* "a?" with a blank */
        assert_int_equal(f.count, 1);
        assert_int_equal(f.items[0].piece_count, cases[i].pieces);
        assert_int_equal(f.samples.items[0].a_length, before + cases[i].pieces + 1); /* token types are all 0 */
        assert_int_equal(f.samples.items[0].token, before + cases[i].first);
        assert_int_equal(f.samples.items[0].label, before + cases[i].last);
        float logits[2][64] = {0};
        const struct logits_source source = {two_rows, logits};
        const struct answer_rules rules = {.n_best = 4, .longest = 30};
        struct answers answers = {0};
        logits[0][f.samples.items[0].token] = logits[1][f.samples.items[0].label] = 1;
        answers_choose(&f.items[0], &source, &rules, &bytes, &answers);
        assert_true(str_equal(answers.best, str_of(cases[i].text)));
        answers_release(&answers);
        text_close(&bytes);
        release(&unused, &file, &f);
    }
}

/* ---- answers ---- */

static void check_original(const char *pieces, const char *original, bool cased, const char *expected)
{
    struct text text = text_of_words(cased);
    SCOPED(buf_release) struct buf out = {0};
    answers_original(str_of(pieces), str_of(original), &text, &out);
    assert_string_equal(buf_text(&out), expected);
    text_close(&text);
}

TEST(answers_are_stretches_of_the_original)
{
    check_original("steve smith", "Steve Smith's", false, "Steve Smith");
    check_original("b", "(B),", false, "B");
    check_original("cafe", "Caf\xc3\xa9", false, "Caf\xc3\xa9");
    check_original("cafe", "le Cafe\xcc\x81!", false,
                   "le Cafe\xcc\x81!");             /* another number of code points: the whole text */
    check_original("##x b", "ax b", false, "ax b"); /* not found: the whole text */
    check_original("B", "(B),", true, "B");
    check_original("b", "(B),", true, "(B),");
}

struct given {
    const float *begin, *end;
};

static struct window_logits window(const void *context, uint32_t sample)
{
    const struct given *given = context;
    return (struct window_logits){given[sample].begin, given[sample].end, 1, 9};
}

TEST(the_best_spans_become_text_once)
{
    struct text text;
    struct squad_file file;
    struct squad_features f;
    make("A (b) a", "b", 3, &(struct squad_limits){16, 8, 64}, false, &text, &file, &f);
    /* [CLS] a ? [SEP] a ( b ) a [SEP]: the largest logits are outside the context, backwards, or for a text that was
     * already chosen */
    const float begin[9] = {9, 0, 0, 0, 3, 0, 4, 0, 2}, end[9] = {0, 9, 0, 0, 1, 0, 5, 4, 1};
    const struct given given[] = {{begin, end}};
    const struct logits_source source = {window, given};
    struct answer_rules rules = {.n_best = 5, .longest = 2};
    struct answers answers = {0};
    answers_choose(&f.items[0], &source, &rules, &text, &answers);
    assert_true(str_equal(answers.best, STR("b")));
    static const char *const texts[] = {"b", "b)", "A", "a"};
    assert_int_equal(answers.count, 4); /* "A (b" and "b) a" are too long */
    double sum = 0;
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(str_equal(answers_text(&answers, i), str_of(texts[i])));
        sum += answers.items[i].probability;
    }
    assert_true(fabs(sum - 1) < 1e-12);

    rules.version_2 = true; /* no answer: 9 + 0, the best: 4 + 5 */
    answers_choose(&f.items[0], &source, &rules, &text, &answers);
    assert_true(answers.null_odds == 0);
    assert_true(str_equal(answers.best, STR("b")));
    rules.null_threshold = -0.5;
    answers_choose(&f.items[0], &source, &rules, &text, &answers);
    assert_int_equal(answers.best.size, 0);
    answers_release(&answers);
    release(&text, &file, &f);
}

/* ---- scores ---- */

TEST(texts_are_compared_without_articles_case_and_punctuation)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"The  Cat.", "a cat", true},
        {"an", "", true},
        {"U.S.", "us", true},
        {"\xce\xa3\xce\x9f\xce\xa6\xce\x9f\xce\xa3", "\xcf\x83\xce\xbf\xcf\x86\xce\xbf\xcf\x82", true},
        {"a\xcc\x81", "\xcc\x81", true},
        {"theme", "me", false},
        {"the\xe2\x82\xac", "\xe2\x82\xac", true},
        {"\xc3\xa4", "\xc3\x84", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true((squad_exact(str_of(cases[i].a), str_of(cases[i].b)) == 1) == cases[i].equal);
}

TEST(f1_counts_common_words)
{
    assert_true(fabs(squad_f1(STR("x y z"), STR("y z w v"), false) - 2 * (2.0 / 3) * 0.5 / (2.0 / 3 + 0.5)) < 1e-12);
    assert_true(fabs(squad_f1(STR("x x"), STR("x"), false) - 2.0 / 3) < 1e-12);
    assert_true(fabs(squad_f1(STR("x"), STR("x x"), false) - 2.0 / 3) < 1e-12);
    assert_true(squad_f1(STR(""), STR("the"), false) == 0 && squad_f1(STR(""), STR("the"), true) == 1);
    assert_true(squad_f1(STR("x"), STR(""), true) == 0);
}

/* A threshold of -2 admits the right answer; one of -1 also admits a wrong one, which does not change the score. */
TEST(the_first_of_equal_thresholds_is_the_best)
{
    static const char questions[] =
        "{\"version\": \"v2.0\", \"data\": [{\"paragraphs\": [{\"context\": \"a b c\", \"qas\": ["
        "{\"id\": \"none\", \"question\": \"a?\", \"is_impossible\": true, "
        "\"answers\": [{\"text\": \"\", \"answer_start\": -1}]}, "
        "{\"id\": \"wrong\", \"question\": \"b?\", \"answers\": [{\"text\": \"b\", \"answer_start\": 2}]}, "
        "{\"id\": \"right\", \"question\": \"c?\", \"answers\": [{\"text\": \"c\", \"answer_start\": 4}]}]}]}]}";
    struct squad_file file;
    struct error err;
    assert_int_equal(file_write_all(FILE_NAME, questions, sizeof questions - 1, &err), 0);
    if (squad_read(&file, FILE_NAME, &err) < 0)
        fail_msg("%s", err.text);
    json_auto_t *answers = json_pack("{s:s, s:s, s:s}", "none", "c", "wrong", "c", "right", "c");
    json_auto_t *odds = json_pack("{s:f, s:f, s:f}", "none", 0.0, "wrong", -1.0, "right", -2.0);
    json_auto_t *score = squad_score(&file, answers, odds);
    static const char *const names[] = {"best_exact", "best_f1"}, *const thresholds[] = {"best_exact_thresh",
                                                                                         "best_f1_thresh"};
    for (int i = 0; i < 2; i++) {
        assert_true(fabs(json_real_value(json_object_get(score, names[i])) - 100 * 2.0 / 3) < 1e-12);
        assert_true(json_real_value(json_object_get(score, thresholds[i])) == -2);
    }
    squad_release(&file);
    unlink(FILE_NAME);
}

/* ---- invalid files ---- */

static const char whole[] =
    "{\"version\": \"1.1\", \"data\": [{\"title\": \"t\", \"paragraphs\": [{\"context\": \"a \\u00e9 b\\ud83d\\ude42 "
    "c\", "
    "\"qas\": [{\"id\": \"one\", \"question\": \"a?\", \"answers\": [{\"text\": \"b\", \"answer_start\": 4}]}, "
    "{\"id\": \"two\", \"question\": \"c?\", \"answers\": [{\"text\": \"c\", \"answer_start\": 7}]}]}]}]}";

/* ERR_NONE: it is accepted. */
static enum error_kind read_bytes(const char *bytes, size_t size, struct error *err)
{
    struct squad_file file;
    *err = (struct error){0};
    assert_int_equal(file_write_all(FILE_NAME, bytes, size, err), 0);
    const enum error_kind kind = squad_read(&file, FILE_NAME, err) < 0 ? err->kind : ERR_NONE;
    squad_release(&file);
    unlink(FILE_NAME);
    assert_true(kind == ERR_NONE || err->text[0]);
    return kind;
}

TEST(a_file_that_is_cut_anywhere_is_refused)
{
    struct error err;
    assert_int_equal(read_bytes(whole, sizeof whole - 1, &err), ERR_NONE);
    for (size_t size = 0; size < sizeof whole - 1; size++)
        assert_int_equal(read_bytes(whole, size, &err), ERR_INPUT);
    for (size_t at = 0; at < sizeof whole - 1; at++) { /* a byte that is invalid in JSON, or in UTF-8 */
        char other[sizeof whole];
        memcpy(other, whole, sizeof whole);
        other[at] = '\xff';
        assert_int_equal(read_bytes(other, sizeof other - 1, &err), ERR_INPUT);
        other[at] = '\0';
        assert_int_equal(read_bytes(other, sizeof other - 1, &err), ERR_INPUT);
    }
}

/* The valid file with `from` replaced must be refused with these words. */
static void refused_with(const char *from, const char *to, const char *words)
{
    struct error err;
    SCOPED(buf_release) struct buf text = {0};
    const char *at = strstr(whole, from);
    assert_non_null(at);
    buf_add(&text, whole, (size_t)(at - whole));
    buf_add_text(&text, to);
    buf_add_text(&text, at + strlen(from));
    assert_int_equal(read_bytes(text.data, text.size, &err), ERR_INPUT);
    if (!strstr(err.text, words))
        fail_msg("%s -> %s: %s", from, to, err.text);
}

/* The id of the second question as it is written in the file, and as it is read. */
TEST(numbers_are_ids_too)
{
    static const char *const ids[][2] = {
        {"17", "17"}, {"0", "0"}, {"-5", "-5"}, {"9223372036854775807", "9223372036854775807"}, {"\"1e3\"", "1e3"}};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct squad_file file;
        struct error err;
        SCOPED(buf_release) struct buf text = {0};
        const char *at = strstr(whole, "\"two\"");
        buf_add(&text, whole, (size_t)(at - whole));
        buf_add_text(&text, ids[i][0]);
        buf_add_text(&text, at + 5);
        assert_int_equal(file_write_all(FILE_NAME, text.data, text.size, &err), 0);
        if (squad_read(&file, FILE_NAME, &err) < 0)
            fail_msg("%s: %s", ids[i][0], err.text);
        assert_true(str_equal(file.questions[1].id, str_of(ids[i][1])));
        squad_release(&file);
        unlink(FILE_NAME);
    }
}

TEST(odd_files_are_refused_by_name)
{
    refused_with(
        "\"one\", \"question\": \"a?\", \"answers\": [{\"text\": \"b\", \"answer_start\": 4}]}, {\"id\": \"two\"",
        "\"7\", \"question\": \"a?\", \"answers\": []}, {\"id\": 7", "7 occurs twice");
    refused_with("\"two\"", "1e3", "question number 2 has an id with a fraction or an exponent");
    refused_with("\"two\"", "2.0", "question number 2 has an id with a fraction");
    refused_with("\"two\"", "null", "question number 2 has the id null");
    refused_with("\"two\"", "[2]", "question number 2 has an id of another type");
    refused_with("\"two\"", "9223372036854775808", "not JSON");
    refused_with("\"two\"", "\"one\"", "one occurs twice");
    refused_with("start\": 7", "start\": 8", "two has an answer that begins outside");
    refused_with("start\": 7", "start\": -1", "two has an answer that begins outside");
    refused_with("start\": 7", "start\": 4294967303", "two has an answer that begins outside");
    refused_with("start\": 7", "start\": 9223372036854775807", "two has an answer that begins outside");
    refused_with("start\": 7", "start\": 9223372036854775808", "not JSON");
    refused_with("start\": 7", "start\": 7.0", "two has an answer without");
    refused_with("start\": 7", "start\": \"7\"", "two has an answer without");
    refused_with("\"text\": \"c\"", "\"text\": \"\"", "two has an answer without");
    refused_with("\\ude42", "", "not JSON");
    refused_with("\\ud83d", "", "not JSON");
    refused_with("\\ud83d", "\\ude42", "not JSON");
    refused_with("\\u00e9", "\\u0000", "not JSON");
    refused_with("\"two\"", "\"t\\u0000o\"", "not JSON");
    refused_with("\"id\": \"two\", ", "", "question number 2 has no \"id\"");
    refused_with("\"context\": ", "\"context\": [", "not JSON");
    refused_with("\"data\"", "\"date\"", "has no \"data\"");
    refused_with("\"qas\"", "\"questions\"", "data[0].paragraphs[0] has no \"context\" or no \"qas\"");
    refused_with("\"paragraphs\"", "\"paragraph\"", "holds no questions");
    SCOPED(buf_release) struct buf deep = {0};
    buf_add_text(&deep, "{\"data\": ");
    for (int i = 0; i < 100000; i++)
        buf_add_byte(&deep, '[');
    struct error err;
    assert_int_equal(read_bytes(deep.data, deep.size, &err), ERR_INPUT);
    for (int i = 0; i < 100000; i++)
        buf_add_byte(&deep, ']');
    buf_add_byte(&deep, '}');
    assert_int_equal(read_bytes(deep.data, deep.size, &err), ERR_INPUT);
}

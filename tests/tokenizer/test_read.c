/* The files of a tokenizer: which of them is read, their settings for case, accents and ideographs, and which are
 * refused. */
#include "tests/tokenizer/help.h"

#include "base/file.h"
#include "tokenizer/tokenizer_files.h"

#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "test_read.d"
#define VOCAB  "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n"

static const char *const names[] = {FOLDER "/vocab.txt", FOLDER "/tokenizer_config.json", FOLDER "/tokenizer.json"};

static void put(const char *path, const char *text)
{
    struct error err;
    mkdir(FOLDER, 0777);
    assert_int_equal(file_write_all(path, text, strlen(text), &err), 0);
}

static int clear(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(names[i]);
    rmdir(FOLDER);
    return 0;
}

static struct tokenizer_facts good(const char *path, uint32_t pieces)
{
    struct tokenizer_facts facts;
    struct error err = {0};
    assert_int_equal(tokenizer_read(&facts, path, PROFILE_HF, &err), 0);
    assert_int_equal(facts.vocab->count, pieces);
    vocab_close(facts.vocab);
    return facts;
}

static void bad(const char *path, enum error_kind kind, const char *says)
{
    struct tokenizer_facts facts;
    struct error err = {0};
    assert_int_equal(tokenizer_read(&facts, path, PROFILE_HF, &err), -1);
    assert_int_equal(err.kind, kind);
    assert_non_null(strstr(err.text, says));
    assert_null(facts.vocab);
}

static void a_lone_vocabulary_says_nothing(void **state)
{
    (void)state;
    put(names[0], VOCAB);
    for (int i = 0; i < 2; i++) { /* by its file, and by its folder */
        const struct tokenizer_facts facts = good(i ? FOLDER : names[0], 7);
        assert_false(facts.said);
        assert_false(facts.words.cased);
        assert_true(facts.words.strip_accents);
        assert_false(facts.words.joined);
    }
}

static void a_config_beside_it_says_how_text_is_cut(void **state)
{
    (void)state;
    put(names[0], VOCAB);
    put(names[1], "{\"do_lower_case\": false}");
    struct tokenizer_facts facts = good(FOLDER, 7);
    assert_true(facts.said);
    assert_true(facts.words.cased);
    assert_false(facts.words.strip_accents); /* by default it follows the case */
    put(names[1], "{\"strip_accents\": false, \"tokenize_chinese_chars\": false}");
    facts = good(FOLDER, 7);
    assert_false(facts.words.cased);
    assert_false(facts.words.strip_accents);
    assert_true(facts.words.joined);
    put(names[1], "{\"do_basic_tokenize\": false}");
    bad(FOLDER, ERR_UNSAFE, "do_basic_tokenize");
}

static void tokenizer_json_comes_first(void **state)
{
    (void)state;
    put(names[0], VOCAB);
    put(names[1], "{\"do_lower_case\": true}");
    put(names[2], "{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"[PAD]\": 0, \"[UNK]\": 1, \"[CLS]\": 2, "
                  "\"[SEP]\": 3, \"[MASK]\": 4, \"x\": 5}}, \"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}, "
                  "\"normalizer\": {\"type\": \"BertNormalizer\", \"lowercase\": false, \"strip_accents\": true}}");
    const struct tokenizer_facts facts = good(FOLDER, 6);
    assert_true(facts.words.cased);
    assert_true(facts.words.strip_accents);
}

static void others_are_refused(void **state)
{
    (void)state;
    bad("test_read.none", ERR_USAGE, "");
    put(names[2], "{\"model\": {\"type\": \"BPE\"}}");
    bad(FOLDER, ERR_UNSAFE, "BPE");
    put(names[2], "{\"model\"");
    bad(FOLDER, ERR_INPUT, "");
    unlink(names[2]);
    bad(FOLDER, ERR_USAGE, "neither tokenizer.json nor vocab.txt");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_lone_vocabulary_says_nothing, clear),
        cmocka_unit_test_teardown(a_config_beside_it_says_how_text_is_cut, clear),
        cmocka_unit_test_teardown(tokenizer_json_comes_first, clear),
        cmocka_unit_test_teardown(others_are_refused, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

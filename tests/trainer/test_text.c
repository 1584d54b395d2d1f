/* The tokenizer files of a checkpoint: they are read back, and text is tokenized as before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "tokenizer/ids.h"
#include "trainer/keep/tokenizer_write.h"
#include "trainer/tune/text.h"

#define FOLDER "test_text.d"
#define VOCAB  "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nCafé\nCafe\ncafé\ncafe\n中\n中国\n"

/* Writes the files of a checkpoint for a tokenizer with these settings. */
static void write_files(const struct tokenizer_words *words)
{
    struct tokenizer_files files;
    struct error err;
    assert_int_equal(tokenizer_make(&files, "vocab.txt", STR(VOCAB), words, 64, &err), 0);
    mkdir(FOLDER, 0777);
    assert_int_equal(file_write_all(FOLDER "/vocab.txt", files.vocab.data, files.vocab.size, &err), 0);
    assert_int_equal(file_write_all(FOLDER "/tokenizer.json", files.tokenizer.data, files.tokenizer.size, &err), 0);
    assert_int_equal(file_write_all(FOLDER "/tokenizer_config.json", files.config.data, files.config.size, &err), 0);
    tokenizer_release(&files);
}

static int clear(void **state)
{
    (void)state;
    unlink(FOLDER "/vocab.txt");
    unlink(FOLDER "/tokenizer.json");
    unlink(FOLDER "/tokenizer_config.json");
    rmdir(FOLDER);
    return 0;
}

static void text_is_cut_as_the_files_say(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        const struct tokenizer_words words = {i & 1, i >> 1 & 1, i >> 2};
        write_files(&words);
        for (int without_json = 0; without_json < 2; without_json++) {
            struct text text;
            struct ids ids = {0};
            struct error err = {0};
            struct model_config config = {.vocabulary = 13};
            assert_int_equal(text_open(&text, FOLDER, &config, &err), 0);
            assert_int_equal(config.spare, 2);
            tokenizer_ids(text.state, STR("Café 中国"), &ids);
            assert_int_equal(ids.count, words.joined ? 2 : 3);
            assert_int_equal(ids.data[0], 5u + (words.strip_accents ? 1 : 0) + (words.cased ? 0 : 2));
            assert_int_equal(ids.data[1], words.joined ? 10 : 9);
            ids_release(&ids);
            text_close(&text);
            unlink(FOLDER "/tokenizer.json");
        }
    }
}

static void more_pieces_than_embeddings_are_refused(void **state)
{
    struct model_config config = {.vocabulary = 10};
    struct text text;
    struct error err = {0};
    (void)state;
    write_files(&(struct tokenizer_words){0});
    assert_int_equal(text_open(&text, FOLDER, &config, &err), -1);
    assert_int_equal(err.kind, ERR_MISMATCH);
    text_close(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(text_is_cut_as_the_files_say, clear),
        cmocka_unit_test_teardown(more_pieces_than_embeddings_are_refused, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

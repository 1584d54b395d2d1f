/* The tokenizer files of a checkpoint: they are read back, and text is tokenized as before. */
#include <sys/stat.h>

#include "base/file.h"
#include "tests/unit.h"
#include "tokenizer/ids.h"
#include "tokenizer/tokenizer_files.h"
#include "trainer/keep/tokenizer_write.h"
#include "trainer/recipe/grow.h"
#include "trainer/recipe/text.h"

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
    unlink(FOLDER "/added_tokens.json");
    unlink(FOLDER "/special_tokens_map.json");
    rmdir(FOLDER);
    return 0;
}

TEST_WITH(text_is_cut_as_the_files_say, NULL, clear)
{
    for (unsigned i = 0; i < 8; i++) {
        const struct tokenizer_words words = {i & 1, i >> 1 & 1, i >> 2};
        write_files(&words);
        for (int without_json = 0; without_json < 2; without_json++) {
            struct text text;
            SCOPED(ids_release) struct ids ids = {0};
            struct error err = {0};
            struct model_config config = {.vocabulary = 13};
            assert_int_equal(text_open(&text, FOLDER, &config, &err), 0);
            assert_int_equal(config.spare, 2);
            tokenizer_ids(text.state, STR("Café 中国"), &ids);
            assert_int_equal(ids.count, words.joined ? 2 : 3);
            assert_int_equal(ids.data[0], 5u + (words.strip_accents ? 1 : 0) + (words.cased ? 0 : 2));
            assert_int_equal(ids.data[1], words.joined ? 10 : 9);
            text_close(&text);
            unlink(FOLDER "/tokenizer.json");
        }
    }
}

TEST_WITH(more_pieces_than_embeddings_are_refused, NULL, clear)
{
    struct model_config config = {.vocabulary = 10};
    struct text text;
    struct error err = {0};
    write_files(&(struct tokenizer_words){0});
    assert_int_equal(text_open(&text, FOLDER, &config, &err), -1);
    assert_int_equal(err.kind, ERR_MISMATCH);
    text_close(&text);
}

static void expect_parts(const struct growth *growth, uint32_t piece, const char *parts)
{
    char found[80] = "";
    for (size_t i = piece > 0 ? growth->ends[piece - 1] : 0; i < growth->ends[piece]; i++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%u ", growth->parts[i]);
    assert_string_equal(found, parts);
}

static void write_vocab(const char *vocab)
{
    struct error err;
    mkdir(FOLDER, 0777);
    assert_int_equal(file_write_all(FOLDER "/vocab.txt", vocab, strlen(vocab), &err), 0);
}

TEST_WITH(new_pieces_are_cut_into_old_ones, NULL, clear)
{
#define OLD "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##b\n##bc\nab\n-\n"
    const struct tokenizer_words words = {.strip_accents = true};
    struct model_config config = {.vocabulary = 12};
    struct growth growth;
    struct error err = {0};
    write_vocab(OLD);
    assert_int_equal(grow_plan(FOLDER, STR(OLD "abbc\n##bbc\n##a\nzz\n##z\nb-a\n"), &words, &config, &growth, &err), 0);
    assert_int_equal(growth.rows, 12);
    assert_int_equal(growth.pieces, 11);
    assert_int_equal(growth.count, 6);
    expect_parts(&growth, 0, "9 8 ");
    expect_parts(&growth, 1, "7 8 ");
    expect_parts(&growth, 2, "5 "); /* nothing continues a word with it */
    expect_parts(&growth, 3, "1 ");
    expect_parts(&growth, 4, "1 ");
    expect_parts(&growth, 5, "6 10 5 "); /* no word of a text, but spelt by these */
    assert_int_equal(config.vocabulary, 17);
    assert_int_equal(config.spare, 0);
    growth_release(&growth);

    config = (struct model_config){.vocabulary = 20}; /* spare rows suffice */
    assert_int_equal(grow_plan(FOLDER, STR(OLD "abbc\n"), &words, &config, &growth, &err), 0);
    assert_int_equal(config.vocabulary, 20);
    assert_int_equal(config.spare, 8);
    growth_release(&growth);
    assert_int_equal(grow_plan(FOLDER, STR(OLD), &words, &config, &growth, &err), 0); /* nothing is new */
    assert_int_equal(growth.pieces, 0);
    growth_release(&growth);
}

TEST_WITH(only_the_end_grows, NULL, clear)
{
    static const struct {
        const char *pieces, *says;
    } cases[] = {
        {"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nnew\nb\n", "piece 6 is b, in the dataset it is new"},
        {"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n", "piece 6 is b, in the dataset it is missing"},
    };
    write_vocab("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n");
    for (size_t i = 0; i < 2; i++) {
        struct model_config config = {.vocabulary = 7};
        struct growth growth;
        struct error err = {0};
        const struct tokenizer_words words = {.strip_accents = true};
        assert_int_equal(grow_plan(FOLDER, str_of(cases[i].pieces), &words, &config, &growth, &err), -1);
        assert_int_equal(err.kind, ERR_MISMATCH);
        assert_non_null(strstr(err.text, cases[i].says));
        growth_release(&growth);
    }
}

/* tokenizer.json has the added tokens that a dataset made with it has too; the vocab.txt beside it has none. */
TEST_WITH(pieces_are_compared_with_the_tokenizer_in_use, NULL, clear)
{
    static const struct {
        const char *vocab, *dataset, *says; /* what the vocab.txt and the dataset have */
    } cases[] = {
        {VOCAB, VOCAB, NULL},
        {"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n", VOCAB, NULL},
        {"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nCafe\n", VOCAB, "vocab.txt: is not the dataset's vocabulary: piece 5"},
        {VOCAB "more\n", VOCAB, "vocab.txt: has 12 pieces, the dataset only the first 11 of them (the next is more)"},
        {"[PAD]\n", VOCAB "more\n", "tokenizer.json: has 11 pieces, the first of the dataset's"},
        {"[PAD]\n", "[PAD]\n[UNK]\n", "tokenizer.json: has 11 pieces, the dataset only the first 2"},
    };
    const struct tokenizer_words words = {.cased = true};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {0};
        write_files(&words);
        write_vocab(cases[i].vocab);
        assert_int_equal(text_check(FOLDER, str_of(cases[i].dataset), &words, true, &err), cases[i].says ? -1 : 0);
        SCOPED(buf_release) struct buf said = {0};
        buf_addf(&said, "%s: %s", err.file, err.text);
        assert_true(!cases[i].says || strstr(buf_text(&said), cases[i].says));
    }
}

static void put(const char *name, const char *text)
{
    struct error err;
    char path[80];
    snprintf(path, sizeof path, FOLDER "/%s", name);
    assert_int_equal(file_write_all(path, text, strlen(text), &err), 0);
}

static void expect_added(const char *expected)
{
    json_auto_t *names = tokenizer_added(FOLDER);
    char *text = json_dumps(names, JSON_COMPACT);
    assert_string_equal(text, expected);
    free(text);
}

/* A training's files are the model's, byte for byte, if it has a tokenizer.json. */
TEST_WITH(files_of_the_model_are_kept, NULL, clear)
{
    const struct tokenizer_words words = {0};
    struct tokenizer_files files;
    struct error err = {0};
    for (int with_json = 0; with_json < 2; with_json++) {
        write_files(&words);
        put("vocab.txt", VOCAB "of the model, not taken\n");
        put("tokenizer_config.json", "{\"padding_side\": \"left\"}");
        if (with_json)
            put("tokenizer.json", "{\"added_tokens\": [{\"content\": \"<e1>\"}, {\"content\": \"[CLS]\"}]}");
        else
            unlink(FOLDER "/tokenizer.json");
        assert_int_equal(tokenizer_make(&files, "vocab.txt", STR(VOCAB), &words, 64, &err), 0);
        assert_int_equal(text_keep(FOLDER, 0, &files, &err), 0);
        assert_true(str_equal(buf_str(&files.vocab), STR(VOCAB)));
        assert_int_equal(str_starts(buf_str(&files.tokenizer), STR("{\"added_tokens\": [{\"content\": \"<e1>")),
                         with_json);
        assert_int_equal(str_equal(buf_str(&files.config), STR("{\"padding_side\": \"left\"}")), with_json);
        expect_added(with_json ? "[\"<e1>\"]" : "[]");
        tokenizer_release(&files);
    }
    unlink(FOLDER "/tokenizer.json");
    put("tokenizer_config.json",
        "{\"added_tokens_decoder\": {\"0\": {\"content\": \"[PAD]\"}, \"9\": {\"content\": \"x y\"}}}");
    expect_added("[\"x y\"]");
    put("added_tokens.json", "{\"one\": 11, \"[MASK]\": 4, \"two\": 12}");
    expect_added("[\"one\",\"two\"]");
    put("added_tokens.json", "no JSON");
    expect_added("[\"x y\"]");
}

/* The length of a model that got more positions; a longer one, and one that is no count, stay. */
TEST_WITH(a_kept_length_is_raised, NULL, clear)
{
    static const char *const lengths[][2] = {{"64", "512"}, {"512", "512"}, {"8192", "8192"}, {"1e30", "1e30"}};
    const struct tokenizer_words words = {0};
    struct tokenizer_files files;
    struct error err = {0};
    for (int i = 0; i < 4; i++) {
        const char *form = "{\"model_max_length\": %s, \"padding_side\": \"left\"}";
        char text[80], expected[80];
        snprintf(text, sizeof text, form, lengths[i][0]);
        snprintf(expected, sizeof expected, form, lengths[i][1]);
        write_files(&words);
        put("tokenizer.json", "{}");
        put("tokenizer_config.json", text);
        assert_int_equal(tokenizer_make(&files, "vocab.txt", STR(VOCAB), &words, 64, &err), 0);
        assert_int_equal(text_keep(FOLDER, 512, &files, &err), 0);
        json_t *json = json_loadb(files.config.data, files.config.size, 0, NULL),
               *should = json_loads(expected, 0, NULL);
        assert_true(json_equal(json, should));
        json_decref(json);
        json_decref(should);
        tokenizer_release(&files);
    }
}

TEST_WITH(words_of_another_cut_are_refused, NULL, clear)
{
    for (unsigned i = 1; i < 8; i++) {
        const struct tokenizer_words theirs = {i & 1, i >> 1 & 1, i >> 2}, ours = {0};
        struct error err = {0};
        write_files(&theirs);
        assert_int_equal(text_check(FOLDER, STR(VOCAB), &ours, true, &err), -1);
        assert_int_equal(err.kind, ERR_MISMATCH);
        assert_int_equal(text_check(FOLDER, STR(VOCAB), &theirs, true, &err), 0);
    }
}

/* ---- byte-level BPE ---- */

#define BPE                                                                                                            \
    "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"<s>\": 0, \"<pad>\": 1, \"</s>\": 2, \"<mask>\": 3, \"a\": 4, "     \
    "\"\\u0120\": 5, \"\\u0120a\": 6, \"\\u00c3\": 7, \"\\u00a9\": 8}, \"merges\": [\"\\u0120 a\"]}, "                 \
    "\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false}, \"added_tokens\": [{\"id\": 3, "       \
    "\"content\": \"<mask>\", \"special\": true, \"lstrip\": true}]"
#define ROBERTA ", \"post_processor\": {\"type\": \"RobertaProcessing\", \"cls\": [\"<s>\", 0], \"sep\": [\"</s>\", 2]}"

static void open_bpe(struct text *text)
{
    struct model_config config = {.vocabulary = 9};
    struct error err = {0};
    mkdir(FOLDER, 0777);
    put("tokenizer.json", BPE ROBERTA "}");
    put("special_tokens_map.json", "{\"mask_token\": \"<mask>\"}");
    assert_int_equal(text_open(text, FOLDER, &config, &err), 0);
    assert_int_equal(config.spare, 0);
}

static void expect_ids(const struct ids *ids, size_t count, const uint32_t *expected)
{
    assert_int_equal(ids->count, count);
    assert_memory_equal(ids->data, expected, count * sizeof *expected);
}

TEST_WITH(a_bpe_cuts_words_and_masks, NULL, clear)
{
    struct text text;
    SCOPED(ids_release) struct ids ids = {0};
    SCOPED(buf_release) struct buf out = {0};
    open_bpe(&text);
    text_word(&text, STR("a"), &ids);
    text_word(&text, STR(" a"), &ids);
    tokenizer_ids(text.state, STR("a"), &ids);
    expect_ids(&ids, 3, (const uint32_t[]){6, 6, 4});
    ids.count = 0;
    text_take_masks(&text); /* the other special tokens stay text, of which this vocabulary has one letter */
    tokenizer_ids(text.state, STR("a <mask> a<s>"), &ids);
    expect_ids(&ids, 3, (const uint32_t[]){4, 3, 6});
    text_piece(&text, 6, &out);
    text_piece(&text, 7, &out);
    text_piece(&text, 8, &out);
    text_piece(&text, 3, &out);
    assert_string_equal(buf_text(&out), " a\u00e9<mask>");
    text_close(&text);
}

/* The option asks for it, or the run did. */
TEST_WITH(special_tokens_are_found_on_request, NULL, clear)
{
    for (int i = 0; i < 4; i++) {
        struct text text;
        struct ids ids = {0};
        const struct settings settings = {.special_in_text = i & 1};
        const struct origin origin = {.identity = i & 2 ? json_pack("{s:b}", "special_in_text", 1) : NULL};
        open_bpe(&text);
        assert_int_equal(text_take_specials(&text, &settings, &origin), i > 0);
        tokenizer_ids(text.state, STR("a <mask>"), &ids);
        expect_ids(&ids, i > 0 ? 2 : 3, (const uint32_t[]){4, i > 0 ? 3 : 5, 4}); /* of the spelling, a letter */
        ids_release(&ids);
        text_close(&text);
        json_decref(origin.identity);
    }
}

/* A training that keeps the tokenizer has its files, and names the class that reads them. */
TEST_WITH(files_of_a_bpe_are_copied, NULL, clear)
{
    struct text text;
    struct tokenizer_files files;
    struct error err = {0};
    open_bpe(&text);
    assert_int_equal(text_files(&text, 64, 0, &files, &err), 0);
    assert_string_equal(buf_text(&files.tokenizer), BPE ROBERTA "}");
    assert_string_equal(buf_text(&files.specials), "{\"mask_token\": \"<mask>\"}");
    assert_non_null(strstr(buf_text(&files.config), "\"tokenizer_class\": \"PreTrainedTokenizerFast\""));
    assert_true(files.vocab.size == 0 && files.pieces.size == 0 && files.merges.size == 0 && files.added.size == 0);
    tokenizer_release(&files);
    static const char *const config = /* with transformers' number for no length */
        "{\"tokenizer_class\": \"X\", \"model_max_length\": 1000000000000000019884624838656}";
    put("tokenizer_config.json", config);
    assert_int_equal(text_files(&text, 64, 0, &files, &err), 0);
    assert_string_equal(buf_text(&files.config), config);
    tokenizer_release(&files);
    text_close(&text);
}

/* Refused, with a message that says what is missing. */
TEST_WITH(a_bpe_needs_its_roles, NULL, clear)
{
    static const struct {
        const char *json, *map, *said;
        enum error_kind kind;
        int32_t rows;
    } cases[] = {
        {BPE "}", "{}", "puts 0 tokens before a text and 0 after it", ERR_UNSAFE, 9},
        {BPE ROBERTA "}", "{}", "no padding token", ERR_UNSAFE, 9},
        {BPE ROBERTA "}", "{\"pad_token\": \"none\"}", "no piece \"none\"", ERR_UNSAFE, 9},
        {BPE ROBERTA "}", "{}", "has 9 pieces, the model has embeddings of 8", ERR_MISMATCH, 8},
        {"{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\", 0.5]]}}", "{}", "Unigram", ERR_UNSAFE, 9},
    };
    mkdir(FOLDER, 0777);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text;
        struct model_config config = {.vocabulary = cases[i].rows};
        struct error err = {0};
        char *json = mem_copy_text(cases[i].json);
        if (strstr(cases[i].said, "padding"))
            memcpy(strstr(json, "<pad>"), "<pod>", 5);
        put("tokenizer.json", json);
        mem_free(json);
        put("special_tokens_map.json", cases[i].map);
        assert_int_equal(text_open(&text, FOLDER, &config, &err), -1);
        assert_int_equal(err.kind, cases[i].kind);
        assert_non_null(strstr(err.text, cases[i].said));
        text_close(&text);
    }
}

/* A dataset's pieces are not those of such a model, whichever files it has. */
TEST_WITH(a_bpe_is_compared_with_the_dataset, NULL, clear)
{
    const struct tokenizer_words words = {0};
    for (int merges = 0; merges < 2; merges++) {
        struct error err = {0};
        mkdir(FOLDER, 0777);
        if (merges) {
            put("vocab.json", "{\"<s>\": 0, \"<pad>\": 1, \"</s>\": 2}");
            put("merges.txt", "#version: 0.2\n");
        } else
            put("tokenizer.json", BPE ROBERTA "}");
        assert_int_equal(text_check(FOLDER, STR(VOCAB), &words, false, &err), -1);
        assert_int_equal(err.kind, ERR_MISMATCH);
        assert_non_null(strstr(err.text, "is a byte-level BPE, the dataset's vocabulary is WordPiece"));
        unlink(FOLDER "/tokenizer.json");
        unlink(FOLDER "/vocab.json");
        unlink(FOLDER "/merges.txt");
    }
}

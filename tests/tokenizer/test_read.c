/* The files of a tokenizer: which of them is read, their settings for case, accents and ideographs, and which are
 * refused. */
#include "tests/tokenizer/help.h"

#include "tokenizer/tokenizer_files.h"

#include <sys/stat.h>

#define FOLDER "test_read.d"
#define VOCAB  "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n"

static const char *const names[] = {FOLDER "/vocab.txt",   FOLDER "/tokenizer_config.json", FOLDER "/tokenizer.json",
                                    FOLDER "/config.json", FOLDER "/added_tokens.json",     FOLDER "/spiece.model"};

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

TEST_WITH(a_lone_vocabulary_says_nothing, NULL, clear)
{
    put(names[0], VOCAB);
    for (int i = 0; i < 2; i++) { /* by its file, and by its folder */
        const struct tokenizer_facts facts = good(i ? FOLDER : names[0], 7);
        assert_false(facts.said);
        assert_false(facts.words.cased);
        assert_true(facts.words.strip_accents);
        assert_false(facts.words.joined);
    }
}

TEST_WITH(a_config_beside_it_says_how_text_is_cut, NULL, clear)
{
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

static void put_json(const char *normalizer)
{
    char text[600];
    snprintf(
        text, sizeof text,
        "{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"[PAD]\": 0, \"[UNK]\": 1, \"[CLS]\": 2, \"[SEP]\": 3, "
        "\"[MASK]\": 4, \"x\": 5}}, \"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}, "
        "\"normalizer\": {\"type\": \"BertNormalizer\"%s}}",
        normalizer);
    put(names[2], text);
}

/* Which of the files holds. The settings are those that AutoTokenizer of transformers 5.24 had for each directory, seen
 * in how it cut "The Café 中国". */
TEST_WITH(settings_are_those_of_autotokenizer, NULL, clear)
{
#define KEPT  ", \"lowercase\": false"
#define LOWER ", \"lowercase\": true"
#define BERT  "\"tokenizer_class\": \"BertTokenizer\""
    static const struct {
        const char *json, *config, *model; /* the normalizer; tokenizer_config.json and config.json, NULL: none */
        bool cased, strip, joined;
    } cases[] = {
        {LOWER, "{\"do_lower_case\": false, " BERT "}", NULL, true, false, false},
        {KEPT, "{\"do_lower_case\": true, " BERT "}", NULL, false, true, false},
        {KEPT, "{" BERT "}", NULL, false, true, false},
        {KEPT, "{\"do_lower_case\": false, " BERT "}", NULL, true, false, false},
        {KEPT, "{\"tokenizer_class\": \"BertTokenizerFast\"}", NULL, false, true, false},
        {KEPT, "{\"tokenizer_class\": \"ElectraTokenizerFast\"}", NULL, false, true, false},
        {LOWER, "{\"do_lower_case\": false, \"tokenizer_class\": \"DistilBertTokenizer\"}", NULL, true, false, false},
        {LOWER, "{\"do_lower_case\": false, \"tokenizer_class\": \"PreTrainedTokenizerFast\"}", NULL, false, true,
         false},
        {KEPT, "{\"tokenizer_class\": \"TokenizersBackend\"}", "{\"model_type\": \"bert\"}", true, false, false},
        {KEPT, "{\"tokenizer_class\": \"ConvBertTokenizer\"}", NULL, true, false, false},
        {KEPT, "{\"tokenizer_class\": \"FooTokenizer\"}", NULL, true, false, false},
        {KEPT, NULL, NULL, true, false, false},
        {KEPT, "{\"do_lower_case\": true}", NULL, true, false, false},
        {KEPT, NULL, "{\"model_type\": \"bert\"}", false, true, false},
        {LOWER, "{\"do_lower_case\": false}", "{\"model_type\": \"distilbert\"}", true, false, false},
        {KEPT, NULL, "{\"model_type\": \"modernbert\"}", true, false, false},
        {KEPT, NULL, "not JSON", true, false, false},
        {LOWER ", \"strip_accents\": false", "{" BERT "}", NULL, false, true, false},
        {LOWER, "{\"strip_accents\": false, " BERT "}", NULL, false, false, false},
        {KEPT, "{\"strip_accents\": true, \"do_lower_case\": false, " BERT "}", NULL, true, true, false},
        {LOWER, "{\"strip_accents\": null, " BERT "}", NULL, false, true, false},
        {LOWER ", \"handle_chinese_chars\": false", "{" BERT "}", NULL, false, true, false},
        {LOWER, "{\"tokenize_chinese_chars\": false, " BERT "}", NULL, false, true, true},
        {LOWER ", \"handle_chinese_chars\": false", NULL, NULL, false, true, true},
    };
    put(names[0], VOCAB);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_json(cases[i].json);
        for (int file = 0; file < 2; file++) {
            const char *text = file ? cases[i].model : cases[i].config, *name = names[file ? 3 : 1];
            unlink(name);
            if (text)
                put(name, text);
        }
        const struct tokenizer_facts facts = good(FOLDER, 6);
        if (!facts.said || facts.words.cased != cases[i].cased || facts.words.strip_accents != cases[i].strip ||
            facts.words.joined != cases[i].joined)
            fail_msg("case %zu: cased %d, strip %d, joined %d", i, facts.words.cased, facts.words.strip_accents,
                     facts.words.joined);
        assert_int_equal(good(names[2], 6).words.cased, strstr(cases[i].json, KEPT) != NULL); /* the file alone */
    }
    put(names[1], "{\"do_lower");
    bad(FOLDER, ERR_INPUT, "");
}

/* What is said on standard error while the folder is read. */
static void expect_said(const char *words, int times)
{
    char text[4000] = {0};
    FILE *out = tmpfile();
    const int before = dup(2);
    fflush(stderr);
    dup2(fileno(out), 2);
    good(FOLDER, 6);
    fflush(stderr);
    dup2(before, 2);
    close(before);
    rewind(out);
    assert_true(fread(text, 1, sizeof text - 1, out) < sizeof text - 1);
    fclose(out);
    for (const char *at = strstr(text, words); at; at = strstr(at + 1, words))
        times--;
    if (times != 0)
        fail_msg("%s", text);
}

TEST_WITH(disagreement_is_noted_once, NULL, clear)
{
    put_json(LOWER);
    put(names[1], "{\"do_lower_case\": true, " BERT "}");
    expect_said("note", 0);
    put_json(KEPT ", \"strip_accents\": true");
    expect_said("tokenizer.json says case kept; tokenizer_config.json says lower case, and that holds", 1);
    unlink(names[1]);
    put(names[3], "{\"model_type\": \"bert\"}");
    expect_said("without a tokenizer_config.json AutoTokenizer takes lower case", 1);
}

/* Expects what text is searched for, each token with its flags: s special, w single_word, l lstrip, r rstrip,
 * n normalized, o outside. */
static void expect_added(const char *path, enum profile profile, const char *expected)
{
    struct tokenizer_facts facts;
    struct error err = {0};
    SCOPED(buf_release) struct buf found = {0};
    if (tokenizer_read(&facts, path, profile, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < facts.vocab->added.count; i++) {
        const struct added_token *token = &facts.vocab->added.items[i];
        assert_true(str_equal(facts.vocab->pieces[token->id], token->content));
        buf_addf(&found, "%s%.*s:%u:%s%s%s%s%s%s", i ? " " : "", (int)token->content.size, token->content.data,
                 token->id, token->special ? "s" : "", token->single_word ? "w" : "", token->lstrip ? "l" : "",
                 token->rstrip ? "r" : "", token->normalized ? "n" : "", token->outside ? "o" : "");
    }
    assert_string_equal(buf_text(&found), expected);
    vocab_close(facts.vocab);
}

/* As AutoTokenizer of transformers 5.24 has them. */
TEST_WITH(added_tokens_are_those_of_autotokenizer, NULL, clear)
{
#define ADDED                                                                                                          \
    "}, \"added_tokens\": [{\"content\": \"[MASK]\", \"id\": 4, \"special\": true, \"lstrip\": true}, {\"content\": "  \
    "\"y\", \"id\": 6, \"single_word\": true}], \"a\": {"
#define REST " [UNK]:1:s [SEP]:3:s [PAD]:0:s [CLS]:2:s"
    static const struct {
        const char *vocab, *json, *config, *beside, *model; /* NULL: there is none */
        const char *added;
    } cases[] = {
        {VOCAB, NULL, NULL, NULL, NULL, ""},
        {NULL, ADDED, NULL, NULL, NULL, "[MASK]:4:sl y:6:wno"},
        {NULL, ADDED, "{" BERT "}", NULL, NULL, "[MASK]:4:sl y:6:wno" REST},
        {NULL, ADDED, "{" BERT ", \"added_tokens_decoder\": {\"5\": {\"content\": \"x\", \"rstrip\": true}}}", NULL,
         NULL, "x:5:rn" REST " [MASK]:4:s"},
        {NULL, ADDED, "{\"tokenizer_class\": \"PreTrainedTokenizerFast\", \"cls_token\": \"[CLS]\"}", NULL, NULL,
         "[MASK]:4:sl y:6:wno [CLS]:2:s"},
        {NULL, "", "{" BERT ", \"additional_special_tokens\": [\"x\"]}", NULL, NULL,
         "[UNK]:1:s [SEP]:3:s [PAD]:0:s [CLS]:2:s [MASK]:4:s x:5:s"},
        {VOCAB, NULL, NULL, NULL, "{\"model_type\": \"bert\"}", "[UNK]:1:s [SEP]:3:s [PAD]:0:s [CLS]:2:s [MASK]:4:s"},
        {VOCAB, NULL, "{" BERT "}", "{\"y\": 7, \"[MASK]\": 4}", NULL, "y:7:no [MASK]:4:s" REST},
        {VOCAB, NULL, "{" BERT ", \"added_tokens_decoder\": {\"7\": {\"content\": \"y\"}}}", "{\"z\": 7}", NULL,
         "y:7:no" REST " [MASK]:4:s"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clear(NULL);
        if (cases[i].json)
            put_json(cases[i].json);
        const char *const texts[] = {cases[i].vocab, cases[i].config, NULL, cases[i].model, cases[i].beside};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            if (texts[k])
                put(names[k], texts[k]);
        expect_added(FOLDER, PROFILE_HF, cases[i].added);
        expect_added(FOLDER, PROFILE_GOOGLE, ""); /* that program knows none */
    }
}

TEST_WITH(added_tokens_are_refused, NULL, clear)
{
    static const struct {
        const char *config;
        enum error_kind kind;
        const char *says;
    } cases[] = {
        {"{\"added_tokens_decoder\": {\"7\": {}}}", ERR_INPUT, "an added token has no content"},
        {"{\"added_tokens_decoder\": {\"5\": {\"content\": \"b\"}}}", ERR_INPUT, "\"b\" has not the id of its piece"},
        {"{\"added_tokens_decoder\": {\"9\": {\"content\": \"y\"}}}", ERR_INPUT, "no id from 0 to 7"},
        {"{\"added_tokens_decoder\": {\"6\": {\"content\": \"y\"}}}", ERR_INPUT, "two pieces have the id 6"},
        {"{\"mask_token\": \"<mask>\"}", ERR_UNSAFE, "no piece \"<mask>\", which its settings name"},
    };
    put(names[0], VOCAB);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put(names[1], cases[i].config);
        bad(FOLDER, cases[i].kind, cases[i].says);
    }
}

TEST_WITH(others_are_refused, NULL, clear)
{
#define WORDS "\"normalizer\": {\"type\": \"BertNormalizer\"}, \"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}"
#define FIVE  "\"[PAD]\": 0, \"[UNK]\": 1, \"[CLS]\": 2, \"[SEP]\": 3, \"[MASK]\": 4"
    static const struct {
        const char *json;
        enum error_kind kind;
        const char *says;
    } others[] = {
        {"{}", ERR_INPUT, "no \"model\""},
        {"{\"model\": {\"type\": \"BPE\"}}", ERR_UNSAFE, "BPE without a pre_tokenizer"},
        {"{\"model\": {\"vocab\": {}, \"merges\": []}}", ERR_UNSAFE, "BPE without a pre_tokenizer"},
        {"{\"model\": {\"vocab\": []}}", ERR_UNSAFE, "Unigram"},
        {"{\"model\": {\"type\": \"WordPiece\"}}", ERR_UNSAFE, "other than BertNormalizer"},
        {"{\"model\": {\"type\": \"WordPiece\"}, \"normalizer\": {\"type\": \"BertNormalizer\"}}", ERR_UNSAFE,
         "other than BertPreTokenizer"},
        {"{" WORDS ", \"model\": {\"type\": \"WordPiece\", \"unk_token\": \"?\"}}", ERR_UNSAFE, "unk_token"},
        {"{" WORDS ", \"model\": {\"type\": \"WordPiece\", \"continuing_subword_prefix\": \"@\"}}", ERR_UNSAFE,
         "other than ##"},
        {"{" WORDS ", \"model\": {\"type\": \"WordPiece\", \"max_input_chars_per_word\": 101}}", ERR_UNSAFE,
         "other than 100"},
        {"{" WORDS ", \"model\": {\"type\": \"WordPiece\"}}", ERR_INPUT, "no vocabulary"},
        {"{" WORDS ", \"model\": {\"type\": \"WordPiece\", \"vocab\": {" FIVE ", \"a\\n\": 5}}}", ERR_INPUT,
         "piece 5 holds a line feed"},
        {"{" WORDS ", \"model\": {\"type\": \"WordPiece\", \"vocab\": {" FIVE ", \"a\": 4}}}", ERR_INPUT,
         "two pieces have the id 4"},
        {"{" WORDS ", \"model\": {\"type\": \"WordPiece\", \"vocab\": {" FIVE ", \"a\": 6}}}", ERR_INPUT,
         "no id from 0 to 5"},
        {"{" WORDS ", \"model\": {\"type\": \"WordPiece\", \"vocab\": {" FIVE ", \"a\": \"5\"}}}", ERR_INPUT,
         "no id from 0 to 5"},
        {"{" WORDS ", \"added_tokens\": [{\"content\": \"x\", \"id\": 4}], \"model\": {\"type\": \"WordPiece\", "
         "\"vocab\": {" FIVE "}}}",
         ERR_INPUT, "two pieces have the id 4"},
    };
    bad("test_read.none", ERR_USAGE, "");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        put(names[2], others[i].json);
        bad(FOLDER, others[i].kind, others[i].says);
    }
    put(names[2], "{\"model\"");
    bad(FOLDER, ERR_INPUT, "");
    unlink(names[2]);
    bad(FOLDER, ERR_USAGE, "neither tokenizer.json nor vocab.txt");
    put(names[5], "");
    bad(FOLDER, ERR_UNSAFE, "SentencePiece is not supported");
}

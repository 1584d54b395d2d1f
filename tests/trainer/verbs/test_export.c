/* Which files an export has, and what it writes of a model in published forms. */
#include "tests/shards/tiny.h"

#include <jansson.h>

#include "base/target.h"
#include "trainer/keep/safetensors.h"
#include "trainer/model/head.h"
#include "trainer/verbs/about.h"
#include "trainer/verbs/export_files.h"
#include "trainer/verbs/use.h"

static struct error *const err = &tiny_err;

struct fixture {
    char *directory, *from, *to;
};

static int set_up(void **state)
{
    struct fixture *f = mem_clear(1, sizeof *f);
    f->directory = tiny_directory();
    f->from = path_join(f->directory, "from");
    f->to = path_join(f->directory, "to");
    assert_ok(path_make_directory(f->from, err));
    assert_ok(path_make_directory(f->to, err));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    SCOPED(mem_free_at) struct fixture *f = *state;
    tiny_remove(f->directory);
    mem_free(f->from);
    mem_free(f->to);
    return 0;
}

static void put(const struct fixture *f, const char *name, const char *text)
{
    tiny_write(f->from, name, text, strlen(text));
}

/* Every kind of tokenizer: all of its files, with their bytes, and nothing else of the directory. */
TEST_WITH(all_files_of_a_tokenizer_are_copied, set_up, tear_down)
{
    const struct fixture *f = *state;
    static const char *const wanted[] = {
        "added_tokens.json",       "chat_template.jinja",     "merges.txt",   "odd-words.json",
        "sentencepiece.bpe.model", "special_tokens_map.json", "spiece.model", "tokenizer.json",
        "tokenizer.model",         "tokenizer_config.json",   "vocab.json",   "vocab.txt",
    };
    static const char *const others[] = {
        "README.md",         "config.json", "model.safetensors", "model.safetensors.index.json",
        "optimizer.pt",      "other.json",  "rng_state.pth",     "state.json",
        "tokenizer.py",      "run.json",    "vocab.txt.tmp",     "trainer_state.json",
        "training_args.bin", ".vocab.json",
    };
    const size_t count = sizeof wanted / sizeof *wanted;
    for (size_t i = 0; i < count; i++)
        put(f, wanted[i], wanted[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        put(f, others[i], "x");
    put(f, "tokenizer_config.json",
        "{\"vocab_file\": \"odd-words.json\", \"a\": \"../from/other.json\", \"b\": \"state.json\", \"c\": "
        "\"optimizer.pt\"}");
    json_auto_t *copied = json_array();
    assert_ok(export_part_tokenizer.write(&(struct export_job){.from = f->from}, f->to, copied, err));
    struct path_list list;
    assert_ok(path_list(&list, f->to, err));
    assert_int_equal(json_array_size(copied), count);
    assert_int_equal(list.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(list.names[i], wanted[i]);
        assert_string_equal(json_string_value(json_array_get(copied, i)), wanted[i]);
        assert_true(export_is_file(wanted[i])); /* an interrupted export is recognised */
        SCOPED(buf_release) struct buf bytes = tiny_read(f->to, wanted[i]);
        if (strcmp(wanted[i], "tokenizer_config.json") != 0)
            assert_true(str_equal(buf_str(&bytes), str_of(wanted[i])));
    }
    path_list_release(&list);
}

static void expect_mask(const struct fixture *f, const char *mask)
{
    SCOPED(mem_free_at) char *said = export_mask_token(f->from);
    assert_string_equal(said, mask);
}

TEST_WITH(the_mask_token_is_the_tokenizers_own, set_up, tear_down)
{
    const struct fixture *f = *state;
    expect_mask(f, "[MASK]");
    put(f, "vocab.json", "{}");
    expect_mask(f, "<mask>");
    put(f, "special_tokens_map.json", "{\"mask_token\": {\"content\": \"<m>\", \"lstrip\": true}}");
    expect_mask(f, "<m>");
    put(f, "tokenizer_config.json", "{\"mask_token\": 7}");
    expect_mask(f, "<m>");
    put(f, "tokenizer_config.json", "{\"mask_token\": \"[M]\"}");
    expect_mask(f, "[M]");
    put(f, "tokenizer_config.json", "not JSON");
    expect_mask(f, "<m>");
}

/* Weights in parts become one file, and bert_config.json a config.json that transformers takes for a BERT. */
TEST_WITH(a_model_in_other_forms_is_written_in_the_usual_one, set_up, tear_down)
{
    const struct fixture *f = *state;
    const uint16_t values[] = {1, 2, 3};
    const struct tensor tensors[] = {{"a", TENSOR_BF16, 1, {2}, values, 4}, {"b", TENSOR_F16, 1, {1}, values + 2, 2}};
    SCOPED(mem_free_at) char *one = path_join(f->from, "one.safetensors"), *two = path_join(f->from, "two.safetensors");
    assert_fails(export_model(f->from, f->to, err), ERR_USAGE);
    assert_ok(safetensors_write(one, &tensors[0], 1, NULL, err));
    assert_ok(safetensors_write(two, &tensors[1], 1, NULL, err));
    put(f, "model.safetensors.index.json",
        "{\"weight_map\": {\"a\": \"one.safetensors\", \"b\": \"two.safetensors\"}}");
    put(f, "bert_config.json", "{\"hidden_size\": 4, \"architectures\": [\"X\"]}");
    assert_ok(export_model(f->from, f->to, err));
    struct safetensors file;
    SCOPED(mem_free_at) char *whole = path_join(f->to, "model.safetensors");
    assert_ok(safetensors_open(&file, whole, err));
    assert_true(file.count == 2 && file.part_count == 0 && file.tensors[0].type == TENSOR_BF16);
    assert_memory_equal(file.tensors[0].data, values, 4);
    assert_memory_equal(file.tensors[1].data, values + 2, 2);
    safetensors_close(&file);
    SCOPED(buf_release) struct buf bytes = tiny_read(f->to, "config.json");
    json_auto_t *config = json_loadb(bytes.data, bytes.size, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(config, "model_type")), "bert");
    assert_string_equal(json_string_value(json_array_get(json_object_get(config, "architectures"), 0)), "X");
}

/* ---- what a model is for ---- */

#define MASKED  "cls.predictions.transform.dense.weight"
#define CLASSES "classifier.weight"

/* The class is that of a head that the file has; no row draws one. */
TEST_WITH(the_use_is_that_of_the_head_in_the_file, set_up, tear_down)
{
    const struct fixture *f = *state;
    static const struct {
        const char *architecture, *heads[3], *tag, *class;
    } models[] = {
        {"BertForPreTraining", {MASKED, "cls.seq_relationship.weight"}, "fill-mask", "AutoModelForMaskedLM"},
        {"BertForMaskedLM", {"module." MASKED}, "fill-mask", "AutoModelForMaskedLM"},
        {"BertForPreTraining", {"cls.seq_relationship.weight"}, NULL, "AutoModelForNextSentencePrediction"},
        {"BertForNextSentencePrediction", {"cls.seq_relationship.weight"}, NULL, "AutoModelForNextSentencePrediction"},
        {"BertForQuestionAnswering", {"qa_outputs.weight"}, "question-answering", "AutoModelForQuestionAnswering"},
        {"BertForSequenceClassification", {CLASSES}, "text-classification", "AutoModelForSequenceClassification"},
        {"RobertaPreLayerNormForSequenceClassification",
         {"classifier.out_proj.weight"},
         "text-classification",
         "AutoModelForSequenceClassification"},
        {"BertForTokenClassification", {CLASSES}, "token-classification", "AutoModelForTokenClassification"},
        {"BertForMultipleChoice", {CLASSES}, "multiple-choice", "AutoModelForMultipleChoice"},
        {"BertModel", {NULL}, "feature-extraction", "AutoModel"},
        {"BertForTokenClassification", {MASKED}, "fill-mask", "AutoModelForMaskedLM"}, /* lacks what it names */
        {"BertForMaskedLM", {"qa_outputs.weight"}, "question-answering", "AutoModelForQuestionAnswering"},
        {"BertForMaskedLM", {NULL}, "feature-extraction", "AutoModel"},
        {NULL, {MASKED}, "fill-mask", "AutoModelForMaskedLM"},
        {NULL, {CLASSES}, "feature-extraction", "AutoModel"}, /* of texts, tokens or choices: nobody knows */
    };
    const float numbers[6] = {0};
    const int64_t ids[2] = {0};
    SCOPED(mem_free_at) char *path = path_join(f->from, "model.safetensors");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char text[200] = "{}";
        struct tensor tensors[8] = {
            {"bert.embeddings.word_embeddings.weight", TENSOR_F32, 2, {3, 2}, numbers, 24},
            {"cls.predictions.decoder.weight", TENSOR_F32, 2, {3, 2}, numbers, 24}, /* tied: counted once */
            {"bert.embeddings.position_ids", TENSOR_I64, 1, {2}, ids, 16},
        };
        uint64_t count = 3;
        for (; models[i].heads[count - 3]; count++)
            tensors[count] = (struct tensor){models[i].heads[count - 3], TENSOR_F32, 1, {5}, numbers, 20};
        assert_ok(safetensors_write(path, tensors, count, NULL, err));
        if (models[i].architecture)
            snprintf(text, sizeof text, "{\"architectures\": [\"%s\"], \"floor\": -Infinity, \"length\": 1%030d}",
                     models[i].architecture, 0); /* numbers that Python writes, and JSON has not */
        put(f, "config.json", text);
        const struct use use = use_of(f->from);
        assert_string_equal(use.class, models[i].class);
        assert_string_equal(use.tag ? use.tag : "none", models[i].tag ? models[i].tag : "none");
        assert_int_equal(use.parameters, 6 + 5 * (count - 3));
    }
}

/* The class, the pipeline and the program of a card, for every head that is trained here. */
TEST_WITH(every_head_has_a_use, set_up, tear_down)
{
    const struct fixture *f = *state;
    const float numbers[5] = {0};
    SCOPED(mem_free_at) char *path = path_join(f->from, "model.safetensors");
    for (enum head_kind h = 0; h < HEAD_KINDS; h++) {
        char text[100], class[64], name[64];
        snprintf(name, sizeof name, "%sweight", head_kinds[h]->prefix);
        snprintf(text, sizeof text, "{\"architectures\": [\"Bert%s\"]}", head_kinds[h]->class_end);
        snprintf(class, sizeof class, "AutoModel%s", head_kinds[h]->class_end);
        const struct tensor tensor = {name, TENSOR_F32, 1, {5}, numbers, 20};
        assert_ok(safetensors_write(path, &tensor, 1, NULL, err));
        put(f, "config.json", text);
        const struct use use = use_of(f->from);
        assert_string_equal(use.class, class);
        assert_ptr_equal(use.tag, head_kinds[h]->pipeline);
        assert_ptr_equal(use.trial, head_kinds[h]->trial);
    }
}

/* No command writes its results over them. */
TEST_WITH(files_of_a_model_are_protected, set_up, tear_down)
{
    const struct fixture *f = *state;
    static const char *const names[] = {"model-00001-of-00002.safetensors",
                                        "model.safetensors.index.json",
                                        "bert_config.json",
                                        "vocab.json",
                                        "merges.txt",
                                        "added_tokens.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        put(f, "bert_config.json", "{}");
        put(f, names[i], "{}");
        SCOPED(mem_free_at) char *path = path_join(f->from, names[i]);
        assert_fails(target_check(&(struct target){.option = "out", .path = path, .force = true}, err), ERR_USAGE);
    }
    put(f, "gradients.safetensors", "{}");
    SCOPED(mem_free_at) char *path = path_join(f->from, "gradients.safetensors");
    assert_ok(target_check(&(struct target){.option = "out", .path = path, .force = true}, err));
}

static void expect_licence(const struct fixture *f, const char *expected)
{
    SCOPED(buf_release) struct buf found = {0};
    export_licence(f->from, &found);
    assert_string_equal(buf_text(&found), expected);
}

/* Licences and the author's card go with the model, also through a second export. */
TEST_WITH(what_the_author_says_is_kept, set_up, tear_down)
{
    const struct fixture *f = *state;
    static const char *const kept[] = {"LICENSE", "license.txt", "COPYING-weights.md", "NOTICE"};
    json_t *copied = json_array();
    expect_licence(f, "");
    assert_ok(export_part_papers.write(&(struct export_job){.from = f->from}, f->to, copied, err));
    assert_int_equal(json_array_size(copied), 0);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        put(f, kept[i], "words");
    put(f, "LICENSES.py", "no");
    put(f, "README.md", "---\nlicense: mit\n---\n# Of the author\n");
    assert_ok(export_part_papers.write(&(struct export_job){.from = f->from}, f->to, copied, err));
    assert_int_equal(json_array_size(copied), sizeof kept / sizeof *kept + 1);
    for (size_t i = 0; i < json_array_size(copied); i++)
        assert_true(export_is_file(json_string_value(json_array_get(copied, i))));
    assert_false(export_is_file("LICENSES.py"));
    json_decref(copied);

    put(f, "README-original.md", "---\nlicense: apache-2.0\n---\n");
    expect_licence(f, "license: apache-2.0\n"); /* README.md is the card of an earlier export */
    SCOPED(mem_free_at) char *again = path_join(f->directory, "again"), *name = path_join(again, "README-original.md");
    SCOPED(buf_release) struct buf text = {0};
    assert_ok(path_make_directory(again, err));
    copied = json_array();
    assert_ok(export_part_papers.write(&(struct export_job){.from = f->from}, again, copied, err));
    assert_ok(file_read_all(name, 100, &text, err));
    assert_string_equal(buf_text(&text), "---\nlicense: apache-2.0\n---\n");
    json_decref(copied);
}

TEST_WITH(a_licence_is_in_the_head_of_a_card, set_up, tear_down)
{
    const struct fixture *f = *state;
    static const struct {
        const char *card, *licence;
    } cases[] = {
        {"---\r\ntags: x\r\nlicense: cc-by-sa-4.0\r\n---\r\n", "license: cc-by-sa-4.0\n"},
        {"---\nlicense: other\nlicense_name: my-own\nlicense_link: https://a.b/c\n---\n",
         "license: other\nlicense_name: my-own\nlicense_link: https://a.b/c\n"},
        {"---\ntags: x\n---\nlicense: mit\n", ""},
        {"license: mit\n", ""},
        {"", ""},
        {"---\nlicense:\n- mit\n---\n", ""},
        {"---\nlicense: \"a\\\"\nlicense: {a\nlicense: a: b\nlicense: -\n  license: mi t\n---\n", ""},
        {"---\nlicense: mit", "license: mit\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put(f, "README.md", cases[i].card);
        expect_licence(f, cases[i].licence);
    }
}

TEST(every_part_is_complete)
{
#define PART_NAME(part) {#part, &part},
    static const struct {
        const char *name;
        const struct export_part *part;
    } parts[] = {EXPORT_PARTS(PART_NAME)};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!parts[i].part->owns || !parts[i].part->write)
            fail_msg("%s lacks owns or write", parts[i].name);
}

/* Of names of dumps, only those of Wikipedias in languages with codes of up to three letters name one. */
TEST_WITH(languages_are_those_of_the_dumps, set_up, tear_down)
{
    struct fixture *f = *state;
    static const struct {
        const char *wiki, *language;
    } cases[] = {{"enwiki", "en"},     {"alswiki", "als"},    {"simplewiki", NULL}, {"wiki", NULL}, {"xwiki", "x"},
                 {"zh_yuewiki", NULL}, {"enwikibooks", NULL}, {"Enwiki", NULL},     {"", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int said = 0; said < 2; said++) { /* --lang: holds */
            char text[200];
            json_auto_t *languages = json_object();
            snprintf(text, sizeof text,
                     "{\"identity\": {\"recipe\": {\"lang\": \"%s\"}}, \"sources\": [{\"wiki\": \"%s\"}]}",
                     said ? "fy" : "", cases[i].wiki);
            put(f, "build.json", text);
            about_languages(languages, f->from);
            const char *language = said ? "fy" : cases[i].language;
            assert_int_equal(json_object_size(languages), language ? 1 : 0);
            assert_true(!language || json_object_get(languages, language));
        }
}

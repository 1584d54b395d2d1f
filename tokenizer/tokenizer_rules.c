/* Makes the settings of a tokenizer from the small files of its directory, and warns where these do not say what they
 * seem to. Names and defaults are those of transformers' BertTokenizer; the classes are those that AutoTokenizer of
 * transformers 5.24 makes with its settings. */
#include "tokenizer/tokenizer_rules.h"

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"

#define CONFIG_BYTES_MAX (16u << 20) /* tokenizer_config.json repeats the added tokens */

int rules_refuse(const char *path, const char *what, struct error *err)
{
    fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "%s is not supported", what);
    return hint(err, "supported are tokenizers like BERT's (WordPiece with BertNormalizer and BertPreTokenizer) and "
                     "byte-level BPE (ByteLevel, alone or after GPT-2's or cl100k's pattern; no normalizer or NFC)");
}

bool rules_flag(const json_t *object, const char *name, bool otherwise)
{
    const json_t *value = json_object_get(object, name);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

int rules_read_beside(const char *directory, const char *name, json_t **json, struct error *err)
{
    char *path = path_join(directory, name);
    *json = NULL;
    const int result = path_exists(path) ? json_read_foreign(path, CONFIG_BYTES_MAX, ERR_INPUT, json, err) : 0;
    mem_free(path);
    return result;
}

/* ---- which file holds ---- */

static bool is_one_of(struct str name, const char *const *names)
{
    for (; *names; names++)
        if (str_equal(name, str_of(*names)))
            return true;
    return false;
}

/* Whether a class has one of these names, without "TokenizerFast" or "Tokenizer". */
static bool is_class(const char *name, const char *const *kinds)
{
    static const struct str ends[] = {STR("Fast"), STR("Tokenizer")};
    struct str kind = str_of(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (str_ends(kind, ends[i]))
            kind.size -= ends[i].size;
    return is_one_of(kind, kinds);
}

/* Classes, and the models whose class is one of these where the directory names no class. */
struct class_names {
    const char *classes[10], *models[22];
};

/* True if one of these classes reads the directory. `config`: its tokenizer_config.json, or NULL. */
static bool is_read_by(const struct class_names *names, const char *directory, const json_t *config)
{
    struct error ignored = {0}; /* who needs config.json reports that it is damaged */
    json_t *model = NULL;
    const char *name = json_string_value(json_object_get(config, "tokenizer_class")), *type = NULL;
    if (!name && rules_read_beside(directory, "config.json", &model, &ignored) == 0) {
        name = json_string_value(json_object_get(model, "tokenizer_class"));
        type = json_string_value(json_object_get(model, "model_type"));
    }
    const bool read = name ? is_class(name, names->classes) : type && is_one_of(str_of(type), names->models);
    json_decref(model);
    return read;
}

enum rules_class rules_class_of(const char *directory, const json_t *config)
{
    static const struct class_names bert = {
        {"Bert", "DistilBert", "Electra", "MobileBert", "LayoutLM", "LayoutLMv2", "Lxmert", "MPNet", "SqueezeBert"},
        {"bert", "distilbert", "electra", "convbert", "mobilebert", "layoutlm", "lxmert", "mpnet", "squeezebert",
         "megatron-bert", "visual_bert", "ernie", "nomic_bert"}};
    static const struct class_names roberta = {{"Roberta", "Bart", "Longformer", "LED"},
                                               {"roberta", "roberta-prelayernorm", "bart", "longformer", "bridgetower",
                                                "clap", "data2vec-text", "ibert", "lilt", "mega", "mra"}};
    static const struct class_names gpt2 = {{"GPT2"},
                                            {"gpt2", "blip-2", "codegen", "dbrx", "emu3", "gpt_neo", "gptj",
                                             "hyperclovax_vision_v2", "instructblip", "instructblipvideo", "jais2",
                                             "opt", "phi", "starcoder2"}};
    if (is_read_by(&roberta, directory, config))
        return RULES_CLASS_ROBERTA;
    if (is_read_by(&bert, directory, config))
        return RULES_CLASS_BERT;
    return is_read_by(&gpt2, directory, config) ? RULES_CLASS_GPT2 : RULES_CLASS_OTHER;
}

/* ---- settings ---- */

static void take_words(const json_t *config, struct tokenizer_options *words)
{
    const bool lower = rules_flag(config, "do_lower_case", true);
    words->cased = !lower;
    words->strip_accents = rules_flag(config, "strip_accents", lower);
    words->joined = !rules_flag(config, "tokenize_chinese_chars", true);
}

/* Adds what each of the two says about a setting in which they differ. */
static void add_difference(struct buf *a, struct buf *b, bool of_a, bool of_b, const char *yes, const char *no)
{
    if (of_a == of_b)
        return;
    buf_addf(a, "%s%s", a->size > 0 ? ", " : "", of_a ? yes : no);
    buf_addf(b, "%s%s", b->size > 0 ? ", " : "", of_b ? yes : no);
}

static void note_difference(const char *directory, const struct tokenizer_options *json,
                            const struct tokenizer_options *config, bool there)
{
    struct buf a = {0}, b = {0};
    add_difference(&a, &b, json->cased, config->cased, "case kept", "lower case");
    add_difference(&a, &b, json->strip_accents, config->strip_accents, "no accents", "accents kept");
    add_difference(&a, &b, json->joined, config->joined, "ideographs joined", "ideographs apart");
    if (a.size > 0 && there)
        log_say(
            "note       %s: tokenizer.json says %s; tokenizer_config.json says %s, and that holds, as in AutoTokenizer",
            directory, buf_text(&a), buf_text(&b));
    else if (a.size > 0)
        log_say("note       %s: tokenizer.json says %s; without a tokenizer_config.json AutoTokenizer takes %s, and so "
                "does this program",
                directory, buf_text(&a), buf_text(&b));
    buf_release(&a);
    buf_release(&b);
}

void rules_settle(const char *directory, const json_t *config, struct tokenizer_options *words)
{
    struct tokenizer_options said = *words;
    take_words(config, &said);
    note_difference(directory, words, &said, config != NULL);
    *words = said;
}

/* ---- added tokens ---- */

static bool is_special(const char *token)
{
    static const char *const specials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", NULL};
    return is_one_of(str_of(token), specials);
}

static void add_token(json_t *names, const char *token)
{
    if (token && !is_special(token))
        json_array_append_new(names, json_string(token));
}

json_t *rules_added(const json_t *added)
{
    json_t *names = json_array(), *value;
    const char *key;
    size_t i;
    json_array_foreach(added, i, value) add_token(names, json_string_value(json_object_get(value, "content")));
    json_object_foreach((json_t *)added, key, value)
    {
        const char *content = json_string_value(json_object_get(value, "content"));
        add_token(names, content ? content : key);
    }
    return names;
}

json_t *rules_added_beside(const char *directory)
{
    struct error ignored = {0};
    json_t *added = NULL, *config = NULL;
    rules_read_beside(directory, "added_tokens.json", &added, &ignored);
    rules_read_beside(directory, "tokenizer_config.json", &config, &ignored);
    json_t *names = rules_added(added ? added : json_object_get(config, "added_tokens_decoder"));
    json_decref(added);
    json_decref(config);
    return names;
}

int rules_read(const char *directory, const json_t *config, struct tokenizer_options *words, struct error *err)
{
    take_words(config, words);
    if (rules_flag(config, "do_basic_tokenize", true))
        return 0;
    char *path = path_join(directory, "tokenizer_config.json");
    const int result = rules_refuse(path, "do_basic_tokenize false", err);
    mem_free(path);
    return result;
}

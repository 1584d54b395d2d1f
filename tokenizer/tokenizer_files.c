/* Reads pieces and settings of a tokenizer. tokenizer.json is what the `tokenizers` library itself reads, so it is
 * preferred; beside a vocab.txt, tokenizer_config.json has the same settings under older names. Settings that the
 * profiles do not implement are refused by name, because silently different pieces would be the worst outcome. */
#include "tokenizer/tokenizer_files.h"

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

#define TOKENIZER_BYTES_MAX (64u << 20) /* enough for three million pieces */
#define CONFIG_BYTES_MAX    (1u << 20)  /* tokenizer_config.json */

static int refuse(const char *path, const char *what, struct error *err)
{
    fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "%s is not supported", what);
    return hint(err, "only tokenizers like BERT's are supported: WordPiece with BertNormalizer and BertPreTokenizer");
}

/* The value as text, or "" where it is missing. */
static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* A boolean that may be missing or null. */
static bool choice_of(const json_t *object, const char *name, bool otherwise)
{
    const json_t *value = json_object_get(object, name);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

static void say(struct tokenizer_facts *facts, bool lower, bool strip, bool apart)
{
    facts->said = true;
    facts->words.cased = !lower;
    facts->words.strip_accents = strip;
    facts->words.joined = !apart;
}

static int check_rules(const char *path, const json_t *root, enum profile profile, struct error *err)
{
    const json_t *model = json_object_get(root, "model"), *normalizer = json_object_get(root, "normalizer");
    char what[128];
    if (!json_is_object(model))
        return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "has no \"model\": not a tokenizer.json");
    const char *type = text_of(model, "type");
    if (*type ? strcmp(type, "WordPiece") != 0 : json_object_get(model, "merges") || !json_object_get(model, "vocab")) {
        snprintf(what, sizeof what, "a model of type %.60s", *type ? type : "BPE or Unigram");
        return refuse(path, what, err);
    }
    if (strcmp(text_of(normalizer, "type"), "BertNormalizer") != 0)
        return refuse(path, "a normalizer other than BertNormalizer", err);
    if (strcmp(text_of(json_object_get(root, "pre_tokenizer"), "type"), "BertPreTokenizer") != 0)
        return refuse(path, "a pre_tokenizer other than BertPreTokenizer", err);
    if (!choice_of(normalizer, "clean_text", true))
        return refuse(path, "clean_text false", err);
    if (profile == PROFILE_GOOGLE && !choice_of(normalizer, "handle_chinese_chars", true))
        return refuse(path, "handle_chinese_chars false with --profile google", err);
    const json_t *prefix = json_object_get(model, "continuing_subword_prefix");
    if (prefix && strcmp(text_of(model, "continuing_subword_prefix"), "##") != 0)
        return refuse(path, "a continuing_subword_prefix other than ##", err);
    if (json_object_get(model, "unk_token") && strcmp(text_of(model, "unk_token"), "[UNK]") != 0)
        return refuse(path, "an unk_token other than [UNK]", err);
    const json_t *letters = json_object_get(model, "max_input_chars_per_word");
    if (profile == PROFILE_HF && letters && json_integer_value(letters) != 100)
        return refuse(path, "a max_input_chars_per_word other than 100", err);
    return 0;
}

/* Puts a piece at its id. */
static int place(const char *path, struct str *pieces, size_t count, const char *piece, const json_t *id,
                 struct error *err)
{
    const json_int_t at = json_is_integer(id) ? json_integer_value(id) : -1;
    if (at < 0 || (uint64_t)at >= count)
        return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET,
                       "piece \"%.60s\" has no id from 0 to %zu: ids must follow each other", piece, count - 1);
    if (strchr(piece, '\n'))
        return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "piece %lld holds a line feed", (long long)at);
    if (strlen(piece) > VOCAB_PIECE_BYTES_MAX)
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "piece %lld is too long", (long long)at);
    if (pieces[at].data && !str_equal(pieces[at], str_of(piece)))
        return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "two pieces have the id %lld", (long long)at);
    pieces[at] = str_of(piece);
    return 0;
}

/* Takes the model's pieces by id, then the added tokens that are not among them. */
static int take_pieces(const char *path, const json_t *root, struct vocab **vocab, struct error *err)
{
    json_t *list = json_object_get(json_object_get(root, "model"), "vocab");
    const json_t *added = json_object_get(root, "added_tokens");
    size_t count = json_object_size(list);
    if (!json_is_object(list) || count == 0)
        return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "the model has no vocabulary");
    for (size_t i = 0; i < json_array_size(added); i++)
        count += !json_object_get(list, text_of(json_array_get(added, i), "content"));
    if (count > VOCAB_PIECES_MAX)
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "more than %u pieces", VOCAB_PIECES_MAX);
    struct str *pieces = mem_clear(count, sizeof *pieces);
    int result = 0;
    const char *piece;
    json_t *id;
    json_object_foreach(list, piece, id)
    {
        result = place(path, pieces, count, piece, id, err);
        if (result < 0)
            break;
    }
    for (size_t i = 0; result == 0 && i < json_array_size(added); i++) {
        const json_t *token = json_array_get(added, i);
        result = place(path, pieces, count, text_of(token, "content"), json_object_get(token, "id"), err);
    }
    if (result == 0)
        result = vocab_from_pieces(vocab, pieces, count, err);
    mem_free(pieces);
    return result;
}

static int read_tokenizer(const char *path, enum profile profile, struct tokenizer_facts *facts, struct error *err)
{
    json_t *root;
    TRY(json_read(path, TOKENIZER_BYTES_MAX, ERR_INPUT, &root, err));
    int result = check_rules(path, root, profile, err);
    if (result == 0)
        result = take_pieces(path, root, &facts->vocab, err);
    if (result == 0) {
        const json_t *normalizer = json_object_get(root, "normalizer");
        const bool lower = choice_of(normalizer, "lowercase", true);
        say(facts, lower, choice_of(normalizer, "strip_accents", lower),
            choice_of(normalizer, "handle_chinese_chars", true));
    }
    json_decref(root);
    return result;
}

/* The settings beside a vocab.txt. Names and defaults are BertTokenizer's. */
static int read_config(const char *path, enum profile profile, struct tokenizer_facts *facts, struct error *err)
{
    json_t *root;
    TRY(json_read(path, CONFIG_BYTES_MAX, ERR_INPUT, &root, err));
    const bool lower = choice_of(root, "do_lower_case", true);
    say(facts, lower, choice_of(root, "strip_accents", lower), choice_of(root, "tokenize_chinese_chars", true));
    const bool basic = choice_of(root, "do_basic_tokenize", true);
    json_decref(root);
    if (profile == PROFILE_GOOGLE && facts->words.joined)
        return refuse(path, "tokenize_chinese_chars false with --profile google", err);
    return basic ? 0 : refuse(path, "do_basic_tokenize false", err);
}

static int read_directory(const char *directory, enum profile profile, struct tokenizer_facts *facts, struct error *err)
{
    char *json = path_join(directory, "tokenizer.json"), *config = path_join(directory, "tokenizer_config.json");
    char *text = path_join(directory, "vocab.txt");
    int result;
    if (path_exists(json)) {
        result = read_tokenizer(json, profile, facts, err);
    } else if (path_exists(text)) {
        result = path_exists(config) ? read_config(config, profile, facts, err) : 0;
        if (result == 0)
            result = vocab_read(&facts->vocab, text, (enum vocab_rules)profile, err);
    } else {
        result = fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET, "has neither tokenizer.json nor vocab.txt");
    }
    mem_free(json);
    mem_free(config);
    mem_free(text);
    return result;
}

int tokenizer_read(struct tokenizer_facts *facts, const char *path, enum profile profile, struct error *err)
{
    int result;
    *facts = (struct tokenizer_facts){.words = {.strip_accents = true, .profile = profile}};
    if (path_is_directory(path))
        result = read_directory(path, profile, facts, err);
    else if (str_ends(str_of(path), STR(".json")))
        result = read_tokenizer(path, profile, facts, err);
    else
        result = vocab_read(&facts->vocab, path, (enum vocab_rules)profile, err);
    if (result < 0) {
        vocab_close(facts->vocab);
        facts->vocab = NULL;
    }
    return result;
}

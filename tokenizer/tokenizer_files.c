/* Reads pieces and settings of a tokenizer. Pieces are those of tokenizer.json, or else of vocab.txt. The settings are
 * chosen as transformers' AutoTokenizer does (tokenizer_rules.h). Settings that the profiles do not implement are
 * refused by name, because silently different pieces would be the worst outcome. */
#include "tokenizer/tokenizer_files.h"

#include "tokenizer/added_files.h"
#include "tokenizer/bpe_files.h"
#include "tokenizer/tokenizer_rules.h"

#include "base/file.h"
#include "base/json.h"

#define TOKENIZER_BYTES_MAX (64u << 20) /* enough for three million pieces */

/* The value as text, or "" where it is missing. */
static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static int check_rules(const char *path, const json_t *root, enum profile profile, struct error *err)
{
    const json_t *model = json_object_get(root, "model"), *normalizer = json_object_get(root, "normalizer");
    char what[128];
    const char *type = text_of(model, "type");
    if (*type ? strcmp(type, "WordPiece") != 0 : !json_is_object(json_object_get(model, "vocab"))) {
        snprintf(what, sizeof what, "a model of type %.60s", *type ? type : "Unigram");
        return rules_refuse(path, what, err);
    }
    if (strcmp(text_of(normalizer, "type"), "BertNormalizer") != 0)
        return rules_refuse(path, "a normalizer other than BertNormalizer", err);
    if (strcmp(text_of(json_object_get(root, "pre_tokenizer"), "type"), "BertPreTokenizer") != 0)
        return rules_refuse(path, "a pre_tokenizer other than BertPreTokenizer", err);
    if (!rules_flag(normalizer, "clean_text", true))
        return rules_refuse(path, "clean_text false", err);
    if (profile == PROFILE_GOOGLE && !rules_flag(normalizer, "handle_chinese_chars", true))
        return rules_refuse(path, "handle_chinese_chars false with --profile google", err);
    const json_t *prefix = json_object_get(model, "continuing_subword_prefix");
    if (prefix && strcmp(text_of(model, "continuing_subword_prefix"), "##") != 0)
        return rules_refuse(path, "a continuing_subword_prefix other than ##", err);
    if (json_object_get(model, "unk_token") && strcmp(text_of(model, "unk_token"), "[UNK]") != 0)
        return rules_refuse(path, "an unk_token other than [UNK]", err);
    const json_t *letters = json_object_get(model, "max_input_chars_per_word");
    if (profile == PROFILE_HF && letters && json_integer_value(letters) != 100)
        return rules_refuse(path, "a max_input_chars_per_word other than 100", err);
    return 0;
}

/* Puts a piece at its id. */
static int place(const char *path, struct str *pieces, size_t count, const char *piece, json_int_t at,
                 struct error *err)
{
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
static int take_pieces(const struct added_reading *added, struct vocab **vocab, struct error *err)
{
    const char *const path = added->path;
    const size_t count = json_object_size(added->pieces) + added->outside;
    if (count > VOCAB_PIECES_MAX)
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "more than %u pieces", VOCAB_PIECES_MAX);
    struct str *pieces = mem_clear(count, sizeof *pieces);
    int result = 0;
    const char *piece;
    json_t *id;
    json_object_foreach((json_t *)added->pieces, piece, id)
    {
        result = place(path, pieces, count, piece, json_is_integer(id) ? json_integer_value(id) : -1, err);
        if (result < 0)
            break;
    }
    for (size_t i = 0; result == 0 && i < added->tokens.count; i++)
        if (added->tokens.items[i].outside)
            result = place(path, pieces, count, added->tokens.items[i].content.data, added->tokens.items[i].id, err);
    if (result == 0)
        result = vocab_from_pieces(vocab, pieces, count, err);
    mem_free(pieces);
    return result;
}

static int read_wordpiece(const char *path, const json_t *root, const char *directory, enum profile profile,
                          struct tokenizer_facts *facts, struct error *err)
{
    const json_t *normalizer = json_object_get(root, "normalizer");
    TRY(check_rules(path, root, profile, err));
    SCOPED(added_release)
    struct added_reading added = {.path = path,
                                  .pieces = json_object_get(json_object_get(root, "model"), "vocab"),
                                  .list = json_object_get(root, "added_tokens")};
    if (!json_is_object(added.pieces) || json_object_size(added.pieces) == 0)
        return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "the model has no vocabulary");
    const bool lower = rules_flag(normalizer, "lowercase", true);
    facts->said = true;
    facts->words.cased = !lower;
    facts->words.strip_accents = rules_flag(normalizer, "strip_accents", lower);
    facts->words.joined = !rules_flag(normalizer, "handle_chinese_chars", true);
    TRY(added_open(&added, directory, err));
    if (added.class != RULES_CLASS_BERT) /* the others are of byte-level BPE */
        added.class = RULES_CLASS_OTHER;
    TRY(added_read(&added, err));
    TRY(take_pieces(&added, &facts->vocab, err));
    if (profile == PROFILE_HF) /* Google's program knows none */
        added_give(&added, facts->vocab);
    if (added.class == RULES_CLASS_BERT)
        rules_settle(directory, added.config, &facts->words);
    return 0;
}

/* ---- a vocab.txt ---- */

/* The added tokens of the settings beside it, where a piece's last line has its id. */
static int add_tokens(struct vocab **vocab, struct added_reading *added, struct error *err)
{
    const struct vocab *const read = *vocab;
    json_auto_t *pieces = json_object();
    added->pieces = pieces;
    for (uint32_t id = 0; id < read->count; id++)
        json_object_setn_new(pieces, read->pieces[id].data, read->pieces[id].size, json_integer(id));
    TRY(added_read(added, err));
    if (added->outside > 0) {
        const size_t count = read->count + added->outside;
        SCOPED(mem_free_at) struct str *all = mem_clear(count, sizeof *all);
        memcpy(all, read->pieces, read->count * sizeof *all);
        for (size_t i = 0; i < added->tokens.count; i++)
            if (added->tokens.items[i].outside)
                TRY(place(added->path, all, count, added->tokens.items[i].content.data, added->tokens.items[i].id,
                          err));
        struct vocab *grown;
        TRY(vocab_from_pieces(&grown, all, count, err));
        vocab_close(*vocab);
        *vocab = grown;
    }
    added_give(added, *vocab);
    return 0;
}

/* Without settings beside it, or by Google's rules, no text is searched for tokens. */
static int read_text(const char *path, const char *directory, enum profile profile, struct tokenizer_facts *facts,
                     struct error *err)
{
    SCOPED(added_release) struct added_reading added = {.path = directory};
    TRY(added_open(&added, directory, err));
    facts->said = added.config != NULL;
    const bool searched = profile == PROFILE_HF && (facts->said || added.class == RULES_CLASS_BERT);
    added.class = RULES_CLASS_BERT;
    TRY(rules_read(directory, added.config, &facts->words, err));
    TRY(vocab_read(&facts->vocab, path, (enum vocab_rules)profile, err));
    return searched ? add_tokens(&facts->vocab, &added, err) : 0;
}

/* ---- by the names of the files ---- */

static bool is_bpe(const json_t *model)
{
    const char *type = text_of(model, "type");
    return *type ? strcmp(type, "BPE") == 0 : json_object_get(model, "merges") != NULL;
}

/* Nothing of BERT's rules holds for a byte-level BPE. `root` NULL: vocab.json and merges.txt of the directory. */
static int read_bpe(const char *path, const json_t *root, const char *directory, enum profile profile,
                    struct tokenizer_facts *facts, struct error *err)
{
    if (profile == PROFILE_GOOGLE)
        return rules_refuse(path, "a byte-level BPE with --profile google", err);
    facts->said = true;
    facts->words.cased = true;
    facts->words.strip_accents = false;
    return root ? bpe_read_json(&facts->vocab, path, root, directory, err)
                : bpe_read_merges(&facts->vocab, directory, err);
}

/* Reads a tokenizer.json. Inside a directory the settings of the files beside it may hold instead of its own. */
static int read_tokenizer(const char *path, const char *directory, enum profile profile, struct tokenizer_facts *facts,
                          struct error *err)
{
    json_t *root;
    TRY(json_read_foreign(path, TOKENIZER_BYTES_MAX, ERR_INPUT, &root, err));
    const json_t *model = json_object_get(root, "model");
    int result;
    if (!json_is_object(model))
        result = fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "has no \"model\": not a tokenizer.json");
    else if (is_bpe(model))
        result = read_bpe(path, root, directory, profile, facts, err);
    else
        result = read_wordpiece(path, root, directory, profile, facts, err);
    json_decref(root);
    return result;
}

/* A directory without the files that are read. */
static int refuse_none(const char *directory, struct error *err)
{
    static const char *const models[] = {"tokenizer.model", "spiece.model", "spm.model", "sentencepiece.bpe.model"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char *path = path_join(directory, models[i]);
        const int result = path_exists(path) ? rules_refuse(path, "SentencePiece", err) : 0;
        mem_free(path);
        if (result < 0)
            return result;
    }
    return fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET,
                   "has neither tokenizer.json nor vocab.txt, and no merges.txt");
}

static int read_directory(const char *directory, enum profile profile, struct tokenizer_facts *facts, struct error *err)
{
    char *json = path_join(directory, "tokenizer.json"), *text = path_join(directory, "vocab.txt");
    char *merges = path_join(directory, "merges.txt");
    int result;
    if (path_exists(json)) {
        result = read_tokenizer(json, directory, profile, facts, err);
    } else if (path_exists(text)) {
        result = read_text(text, directory, profile, facts, err);
    } else if (path_exists(merges)) {
        result = read_bpe(merges, NULL, directory, profile, facts, err);
    } else {
        result = refuse_none(directory, err);
    }
    if (result == 0 && profile == PROFILE_GOOGLE && facts->words.joined)
        result = rules_refuse(directory, "tokenize_chinese_chars false with --profile google", err);
    mem_free(json);
    mem_free(text);
    mem_free(merges);
    return result;
}

int tokenizer_read(struct tokenizer_facts *facts, const char *path, enum profile profile, struct error *err)
{
    int result;
    *facts = (struct tokenizer_facts){.words = {.strip_accents = true, .profile = profile}};
    if (path_is_directory(path)) {
        result = read_directory(path, profile, facts, err);
    } else if (str_ends(str_of(path), STR("vocab.json"))) {
        char *directory = path_parent(path);
        result = read_bpe(path, NULL, directory, profile, facts, err);
        mem_free(directory);
    } else if (str_ends(str_of(path), STR(".json")))
        result = read_tokenizer(path, NULL, profile, facts, err);
    else
        result = vocab_read(&facts->vocab, path, (enum vocab_rules)profile, err);
    if (result < 0) {
        vocab_close(facts->vocab);
        facts->vocab = NULL;
    }
    return result;
}

bool tokenizer_present(const char *directory)
{
    static const char *const names[] = {"tokenizer.json", "vocab.txt", "merges.txt"};
    bool present = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = path_join(directory, names[i]);
        present = present || path_exists(path);
        mem_free(path);
    }
    return present;
}

json_t *tokenizer_added(const char *directory)
{
    struct error ignored = {0};
    json_t *root = NULL, *names;
    char *path = path_join(directory, "tokenizer.json");
    if (path_exists(path) && json_read_foreign(path, TOKENIZER_BYTES_MAX, ERR_INPUT, &root, &ignored) == 0)
        names = rules_added(json_object_get(root, "added_tokens"));
    else
        names = rules_added_beside(directory);
    json_decref(root);
    mem_free(path);
    return names;
}

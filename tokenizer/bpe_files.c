/* Reading a byte-level BPE. What the program would not do exactly as tokenizers does is refused by name. */
#include "tokenizer/bpe_files.h"

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "tokenizer/added_files.h"
#include "tokenizer/bpe.h"
#include "tokenizer/tokenizer_rules.h"

#define JSON_BYTES_MAX (64u << 20)

/* Files being read. */
struct reading {
    const char *path; /* of messages */
    json_t *vocab;    /* the model's pieces */
    struct added_reading added;
    struct bpe_rules *rules;
    struct str *pieces; /* by id */
    json_t *spelled;    /* those that are not spelled as in the file */
    size_t count;
    uint32_t roles[ROLES];
    struct vocab_frame before, after, between;
    bool second_type;
};

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static int refuse(const struct reading *reading, const char *what, const char *which, struct error *err)
{
    char text[512];
    snprintf(text, sizeof text, "%s%s%.400s", what, *which ? " " : "", which);
    return rules_refuse(reading->path, text, err);
}

static bool is_missing(const json_t *value)
{
    return !value || json_is_null(value);
}

/* ---- how text is cut ---- */

static int read_normalizer(struct reading *reading, const json_t *normalizer, struct error *err)
{
    const char *type = text_of(normalizer, "type");
    if (is_missing(normalizer))
        return 0;
    if (strcmp(type, "Sequence") == 0) {
        const json_t *each;
        size_t i;
        json_array_foreach(json_object_get(normalizer, "normalizers"), i, each)
            TRY(read_normalizer(reading, each, err));
        return 0;
    }
    if (strcmp(type, "NFC") != 0)
        return refuse(reading, "the normalizer", type, err);
    reading->rules->nfc = true;
    return 0;
}

static int read_byte_level(struct reading *reading, const json_t *step, bool split, struct error *err)
{
    if (strcmp(text_of(step, "type"), "ByteLevel") != 0)
        return refuse(reading, "the pre_tokenizer", text_of(step, "type"), err);
    reading->rules->prefix_space = rules_flag(step, "add_prefix_space", true);
    if (rules_flag(step, "use_regex", true) == split)
        return refuse(reading, split ? "ByteLevel with its own pattern after Split" : "ByteLevel without a pattern", "",
                      err);
    if (split && reading->rules->prefix_space)
        return refuse(reading, "add_prefix_space after Split", "", err);
    return 0;
}

static int read_pre_tokenizer(struct reading *reading, const json_t *pre, struct error *err)
{
    const json_t *steps = json_object_get(pre, "pretokenizers"), *split = json_array_get(steps, 0);
    reading->rules->pattern = split_pattern_find(NULL);
    if (is_missing(pre))
        return refuse(reading, "a BPE without a pre_tokenizer", "", err);
    if (strcmp(text_of(pre, "type"), "Sequence") != 0)
        return read_byte_level(reading, pre, false, err);
    if (json_array_size(steps) == 1)
        return read_byte_level(reading, split, false, err);
    if (strcmp(text_of(split, "type"), "Split") != 0)
        return refuse(reading, "the pre_tokenizer", text_of(split, "type"), err);
    const char *regex = text_of(json_object_get(split, "pattern"), "Regex");
    reading->rules->pattern = split_pattern_find(regex);
    if (!reading->rules->pattern)
        return refuse(reading, "the pattern", regex, err);
    /* Every byte is in a match, so that these say the same. */
    const bool removed = strcmp(text_of(split, "behavior"), "Removed") == 0;
    if (!(removed ? rules_flag(split, "invert", false) : strcmp(text_of(split, "behavior"), "Isolated") == 0))
        return refuse(reading, "the Split behavior", text_of(split, "behavior"), err);
    if (json_array_size(steps) != 2)
        return refuse(reading, "the pre_tokenizer", text_of(json_array_get(steps, 2), "type"), err);
    return read_byte_level(reading, json_array_get(steps, 1), true, err);
}

/* ---- pieces and merges ---- */

static bool id_of(const json_t *pieces, const char *piece, uint32_t *id)
{
    const json_t *number = json_object_get(pieces, piece);
    *id = number ? (uint32_t)json_integer_value(number) : VOCAB_NONE;
    return number != NULL;
}

/* A piece as it is listed, kept until the reading ends. */
static struct str spell(struct reading *reading, const char *piece)
{
    struct buf scratch = {0};
    struct str spelled = vocab_spell(str_of(piece), &scratch);
    if (spelled.data != piece) {
        json_t *text = json_stringn(spelled.data, spelled.size);
        json_array_append_new(reading->spelled, text);
        spelled.data = json_string_value(text);
    }
    buf_release(&scratch);
    return spelled;
}

static int place(struct reading *reading, const char *piece, const json_t *id, struct error *err)
{
    const json_int_t at = json_is_integer(id) ? json_integer_value(id) : -1;
    if (at < 0 || (uint64_t)at >= reading->count)
        return fail_at(err, ERR_INPUT, reading->path, ERROR_NO_OFFSET,
                       "piece \"%.60s\" has no id from 0 to %zu: ids must follow each other", piece,
                       reading->count - 1);
    if (strlen(piece) > VOCAB_PIECE_BYTES_MAX)
        return fail_at(err, ERR_UNSAFE, reading->path, ERROR_NO_OFFSET, "piece %lld is too long", (long long)at);
    if (reading->pieces[at].data)
        return fail_at(err, ERR_INPUT, reading->path, ERROR_NO_OFFSET, "two pieces have the id %lld", (long long)at);
    reading->pieces[at] = spell(reading, piece);
    return 0;
}

static int read_pieces(struct reading *reading, struct error *err)
{
    const char *piece;
    json_t *id;
    if (reading->count == 0)
        return fail_at(err, ERR_INPUT, reading->path, ERROR_NO_OFFSET, "the model has no vocabulary");
    if (reading->count > VOCAB_PIECES_MAX)
        return fail_at(err, ERR_UNSAFE, reading->path, ERROR_NO_OFFSET, "more than %u pieces", VOCAB_PIECES_MAX);
    reading->pieces = mem_clear(reading->count, sizeof *reading->pieces);
    json_object_foreach(reading->vocab, piece, id) TRY(place(reading, piece, id, err));
    for (size_t i = 0; i < reading->added.tokens.count; i++) {
        const struct added_token *token = &reading->added.tokens.items[i];
        if (token->outside) {
            json_t *number = json_integer(token->id);
            const int result = place(reading, token->content.data, number, err);
            json_decref(number);
            if (result < 0)
                return result;
        }
    }
    for (unsigned byte = 0; byte < 256; byte++) {
        char letter[5] = {0};
        utf8_write(bpe_letter((unsigned char)byte), letter);
        id_of(reading->vocab, letter, &reading->rules->of_byte[byte]);
    }
    return 0;
}

static int add_merge(struct reading *reading, size_t number, struct str left, struct str right, struct error *err)
{
    struct buf text = {0};
    struct bpe_merge *merge = &reading->rules->merges[reading->rules->merge_count];
    const struct str parts[] = {left, right, {0}};
    uint32_t *const ids[] = {&merge->left, &merge->right, &merge->both};
    int result = 0;
    for (size_t i = 0; i < 3 && result == 0; i++) {
        buf_reset(&text);
        if (i < 2)
            buf_add_str(&text, parts[i]);
        else {
            buf_add_str(&text, left);
            buf_add_str(&text, right);
        }
        if (!id_of(reading->vocab, buf_text(&text), ids[i]))
            result = fail_at(err, ERR_INPUT, reading->path, ERROR_NO_OFFSET,
                             "merge %zu names \"%.60s\", which is no piece", number, buf_text(&text));
    }
    buf_release(&text);
    reading->rules->merge_count += result == 0;
    return result;
}

/* "left right" */
static int add_merge_line(struct reading *reading, size_t number, struct str line, struct error *err)
{
    const size_t blank = str_find(line, STR(" "));
    if (blank == SIZE_MAX || memchr(line.data + blank + 1, ' ', line.size - blank - 1))
        return fail_at(err, ERR_INPUT, reading->path, ERROR_NO_OFFSET, "merge %zu is not two pieces: \"%.*s\"", number,
                       (int)(line.size < 60 ? line.size : 60), line.data);
    return add_merge(reading, number, (struct str){line.data, blank},
                     (struct str){line.data + blank + 1, line.size - blank - 1}, err);
}

static int reserve_merges(struct reading *reading, size_t count, struct error *err)
{
    if (count > VOCAB_PIECES_MAX)
        return fail_at(err, ERR_UNSAFE, reading->path, ERROR_NO_OFFSET, "%zu merges, more than %u", count,
                       VOCAB_PIECES_MAX);
    reading->rules->merges = mem_array(count, sizeof *reading->rules->merges);
    return 0;
}

static int read_merges(struct reading *reading, const json_t *merges, struct error *err)
{
    const json_t *merge;
    size_t i;
    TRY(reserve_merges(reading, json_array_size(merges), err));
    json_array_foreach(merges, i, merge)
    {
        const char *line = json_string_value(merge), *left = json_string_value(json_array_get(merge, 0));
        const char *right = json_string_value(json_array_get(merge, 1));
        if (line)
            TRY(add_merge_line(reading, i + 1, str_of(line), err));
        else if (left && right && json_array_size(merge) == 2)
            TRY(add_merge(reading, i + 1, str_of(left), str_of(right), err));
        else
            return fail_at(err, ERR_INPUT, reading->path, ERROR_NO_OFFSET, "merge %zu is not two pieces", i + 1);
    }
    return 0;
}

/* ---- roles, and what surrounds a text ---- */

/* A role is what tokenizer_config.json, or else special_tokens_map.json, calls it; else the piece with a usual name. */
static void read_roles(struct reading *reading)
{
    static const char *const keys[ROLES] = {[ROLE_PAD] = "pad_token",
                                            [ROLE_UNK] = "unk_token",
                                            [ROLE_CLS] = "cls_token",
                                            [ROLE_SEP] = "sep_token",
                                            [ROLE_MASK] = "mask_token"};
    static const char *const names[ROLES][2] = {[ROLE_PAD] = {"[PAD]", "<pad>"},
                                                [ROLE_UNK] = {"[UNK]", "<unk>"},
                                                [ROLE_CLS] = {"[CLS]", "<s>"},
                                                [ROLE_SEP] = {"[SEP]", "</s>"},
                                                [ROLE_MASK] = {"[MASK]", "<mask>"}};
    for (size_t role = 0; role < ROLES; role++) {
        const json_t *said = added_said(&reading->added, keys[role]);
        const char *name = json_is_object(said) ? text_of(said, "content") : json_string_value(said);
        reading->roles[role] = name ? added_find(&reading->added, name) : VOCAB_NONE;
        for (size_t i = 0; i < 2 && !name && reading->roles[role] == VOCAB_NONE; i++)
            reading->roles[role] = added_find(&reading->added, names[role][i]);
    }
}

static int add_to_frame(struct reading *reading, struct vocab_frame *frame, const char *name, struct error *err)
{
    const uint32_t id = added_find(&reading->added, name);
    if (id == VOCAB_NONE)
        return fail_at(err, ERR_INPUT, reading->path, ERROR_NO_OFFSET, "the post_processor's \"%.60s\" is no piece",
                       name);
    if (frame->count == VOCAB_FRAME_MAX)
        return refuse(reading, "a post_processor that adds so many tokens", "", err);
    frame->ids[frame->count++] = id;
    return 0;
}

/* Adds the tokens of a part of a template to a frame. */
static int add_part(struct reading *reading, struct vocab_frame *frame, const json_t *post, const json_t *part,
                    struct error *err)
{
    const char *id = text_of(json_object_get(part, "SpecialToken"), "id");
    const json_t *tokens = json_object_get(json_object_get(json_object_get(post, "special_tokens"), id), "tokens"),
                 *name;
    size_t i;
    json_array_foreach(tokens, i, name) TRY(add_to_frame(reading, frame, json_string_value(name), err));
    return 0;
}

static bool frames_equal(const struct vocab_frame *a, const struct vocab_frame *b)
{
    return a->count == b->count && memcmp(a->ids, b->ids, a->count * sizeof *a->ids) == 0;
}

/* What a template puts between the texts of a pair, if it puts the same around them as around one. */
static int read_pair(struct reading *reading, const json_t *post, struct error *err)
{
    struct vocab_frame frames[3] = {0};
    const json_t *part;
    json_int_t type = 0;
    size_t i, at = 0;
    json_array_foreach(json_object_get(post, "pair"), i, part)
    {
        const json_t *sequence = json_object_get(part, "Sequence");
        if (!sequence) {
            TRY(add_part(reading, &frames[at], post, part, err));
            continue;
        }
        if (at == 2 || strcmp(text_of(sequence, "id"), at == 0 ? "A" : "B") != 0)
            return 0;
        type = json_integer_value(json_object_get(sequence, "type_id"));
        at++;
    }
    if (at == 2 && frames_equal(&frames[0], &reading->before) && frames_equal(&frames[2], &reading->after)) {
        reading->between = frames[1];
        reading->second_type = type == 1;
    }
    return 0;
}

static int read_template(struct reading *reading, const json_t *post, struct error *err)
{
    const json_t *part;
    bool passed = false;
    size_t i;
    json_array_foreach(json_object_get(post, "single"), i, part)
    {
        if (json_object_get(part, "Sequence")) {
            if (passed)
                return refuse(reading, "a post_processor that repeats the text", "", err);
            passed = true;
            continue;
        }
        TRY(add_part(reading, passed ? &reading->after : &reading->before, post, part, err));
    }
    return read_pair(reading, post, err);
}

static int read_post_processor(struct reading *reading, const json_t *post, struct error *err)
{
    const char *type = text_of(post, "type");
    if (is_missing(post) || strcmp(type, "ByteLevel") == 0)
        return 0;
    if (strcmp(type, "Sequence") == 0) {
        const json_t *each;
        size_t i;
        json_array_foreach(json_object_get(post, "processors"), i, each) TRY(read_post_processor(reading, each, err));
        return 0;
    }
    if (reading->before.count + reading->after.count > 0)
        return refuse(reading, "two post_processors that add tokens", "", err);
    if (strcmp(type, "TemplateProcessing") == 0)
        return read_template(reading, post, err);
    if (strcmp(type, "RobertaProcessing") != 0)
        return refuse(reading, "the post_processor", type, err);
    const char *cls = json_string_value(json_array_get(json_object_get(post, "cls"), 0));
    const char *sep = json_string_value(json_array_get(json_object_get(post, "sep"), 0));
    TRY(add_to_frame(reading, &reading->before, cls ? cls : "", err));
    TRY(add_to_frame(reading, &reading->between, sep ? sep : "", err));
    TRY(add_to_frame(reading, &reading->between, sep ? sep : "", err));
    return add_to_frame(reading, &reading->after, sep ? sep : "", err);
}

/* Models get token types where tokenizer_config.json lists them among the inputs. */
static bool has_types(const struct reading *reading)
{
    const json_t *name;
    size_t i;
    json_array_foreach(json_object_get(reading->added.config, "model_input_names"), i,
                       name) if (json_is_string(name) &&
                                 strcmp(json_string_value(name), "token_type_ids") == 0) return true;
    return false;
}

/* ---- the whole ---- */

static int read_model(struct reading *reading, const json_t *model, struct error *err)
{
    static const char *const empty[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    const json_t *dropout = json_object_get(model, "dropout");
    for (size_t i = 0; i < 2; i++)
        if (*text_of(model, empty[i]))
            return refuse(reading, "a BPE with", empty[i], err);
    if (!is_missing(dropout) && json_number_value(dropout) != 0)
        return refuse(reading, "a BPE with dropout", "", err);
    if (rules_flag(model, "byte_fallback", false))
        return refuse(reading, "a BPE with byte_fallback (SentencePiece)", "", err);
    reading->rules->ignore_merges = rules_flag(model, "ignore_merges", false);
    reading->rules->fuse_unknown = rules_flag(model, "fuse_unk", false);
    reading->rules->unknown = VOCAB_NONE;
    const char *unknown = text_of(model, "unk_token");
    if (*unknown && !id_of(reading->vocab, unknown, &reading->rules->unknown))
        for (unsigned byte = 0; byte < 256; byte++)
            if (reading->rules->of_byte[byte] == VOCAB_NONE)
                return fail_at(err, ERR_INPUT, reading->path, ERROR_NO_OFFSET, "unk_token \"%.60s\" is no piece",
                               unknown);
    return read_merges(reading, json_object_get(model, "merges"), err);
}

/* What AutoTokenizer takes from the directory where the class makes the tokenizer anew from pieces and merges. */
static int settle(struct reading *reading, struct error *err)
{
    if (reading->added.class == RULES_CLASS_OTHER)
        return 0;
    reading->rules->pattern = split_pattern_find(NULL);
    reading->rules->prefix_space = rules_flag(reading->added.config, "add_prefix_space", false);
    reading->rules->nfc = reading->rules->ignore_merges = reading->rules->fuse_unknown = false;
    reading->rules->unknown = VOCAB_NONE;
    if (reading->added.class != RULES_CLASS_ROBERTA)
        return 0;
    if (reading->roles[ROLE_CLS] == VOCAB_NONE || reading->roles[ROLE_SEP] == VOCAB_NONE)
        return fail_at(err, ERR_UNSAFE, reading->path, ERROR_NO_OFFSET, "a RobertaTokenizer without <s> and </s>");
    reading->before = (struct vocab_frame){{reading->roles[ROLE_CLS]}, 1};
    reading->after = (struct vocab_frame){{reading->roles[ROLE_SEP]}, 1};
    reading->between = (struct vocab_frame){{reading->roles[ROLE_SEP], reading->roles[ROLE_SEP]}, 2};
    reading->second_type = false;
    return 0;
}

static int read_all(struct reading *reading, const json_t *root, const char *directory, struct error *err)
{
    const json_t *model = json_object_get(root, "model");
    reading->vocab = json_object_get(model, "vocab");
    reading->rules = mem_clear(1, sizeof *reading->rules);
    reading->added.path = reading->path;
    reading->added.pieces = reading->vocab;
    reading->added.list = json_object_get(root, "added_tokens");
    TRY(added_open(&reading->added, directory, err));
    if (reading->added.class == RULES_CLASS_BERT) /* it reads WordPiece only */
        reading->added.class = RULES_CLASS_OTHER;
    TRY(read_normalizer(reading, json_object_get(root, "normalizer"), err));
    TRY(read_pre_tokenizer(reading, json_object_get(root, "pre_tokenizer"), err));
    TRY(added_read(&reading->added, err));
    reading->count = json_object_size(reading->vocab) + reading->added.outside;
    TRY(read_pieces(reading, err));
    TRY(read_model(reading, model, err));
    read_roles(reading);
    TRY(read_post_processor(reading, json_object_get(root, "post_processor"), err));
    return settle(reading, err);
}

static struct vocab *finish(struct reading *reading)
{
    struct vocab *vocab = vocab_make(VOCAB_BPE_BYTES, reading->pieces, reading->count, reading->roles);
    added_give(&reading->added, vocab);
    vocab->before = reading->before;
    vocab->after = reading->after;
    vocab->between = reading->between;
    vocab->second_type = reading->second_type && has_types(reading);
    vocab->bpe = reading->rules;
    reading->rules = NULL;
    return vocab;
}

int bpe_read_json(struct vocab **vocab, const char *path, const json_t *root, const char *directory, struct error *err)
{
    struct reading reading = {.path = path, .spelled = json_array()};
    const int result = read_all(&reading, root, directory, err);
    if (result == 0)
        *vocab = finish(&reading);
    bpe_rules_close(reading.rules);
    mem_free(reading.pieces);
    added_release(&reading.added);
    json_decref(reading.spelled);
    return result;
}

/* The lines of merges.txt as an array. */
static int read_lines(const char *path, json_t *merges, struct error *err)
{
    struct buf file = {0};
    TRY(file_read_all(path, JSON_BYTES_MAX, &file, err));
    int result = 0;
    for (const char *at = file.data, *end = at + file.size; at < end && result == 0;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        struct str line = str_range(at, newline ? newline : end);
        if (line.size > 0 && line.data[line.size - 1] == '\r')
            line.size--;
        if (line.size > 0 && !str_starts(line, STR("#version")) &&
            json_array_append_new(merges, json_stringn(line.data, line.size)) < 0)
            result = fail_at(err, ERR_INPUT, path, (uint64_t)(at - file.data), "the merges are not UTF-8");
        at = newline ? newline + 1 : end;
    }
    buf_release(&file);
    return result;
}

int bpe_read_merges(struct vocab **vocab, const char *directory, struct error *err)
{
    SCOPED(mem_free_at) char *pieces_path = path_join(directory, "vocab.json");
    SCOPED(mem_free_at) char *merges_path = path_join(directory, "merges.txt");
    json_auto_t *pieces = NULL, *merges = json_array();
    TRY(json_read_foreign(pieces_path, JSON_BYTES_MAX, ERR_INPUT, &pieces, err));
    TRY(read_lines(merges_path, merges, err));
    json_auto_t *root = json_pack("{s:{s:O, s:O}, s:{s:s, s:b}}", "model", "vocab", pieces, "merges", merges,
                                  "pre_tokenizer", "type", "ByteLevel", "add_prefix_space", 0);
    return bpe_read_json(vocab, pieces_path, root, directory, err);
}

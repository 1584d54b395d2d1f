/* The rules are those of from_pretrained in transformers 5.24. A class that makes the tokenizer anew takes the tokens
 * of tokenizer_config.json's added_tokens_decoder, or where there is none those of added_tokens.json and
 * tokenizer.json; another class has those of tokenizer.json and adds the others. Tokens that have a role come last. */
#include "tokenizer/added_files.h"

#include <stdlib.h>

#define ADDED_MAX         65536u
#define CONTENT_BYTES_MAX 256u /* a search costs its length at every place */

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static bool is_missing(const json_t *value)
{
    return !value || json_is_null(value);
}

int added_open(struct added_reading *reading, const char *directory, struct error *err)
{
    if (!directory)
        return 0;
    TRY(rules_read_beside(directory, "tokenizer_config.json", &reading->config, err));
    TRY(rules_read_beside(directory, "special_tokens_map.json", &reading->map, err));
    TRY(rules_read_beside(directory, "added_tokens.json", &reading->beside, err));
    reading->class = rules_class_of(directory, reading->config);
    return 0;
}

void added_release(struct added_reading *reading)
{
    json_decref(reading->config);
    json_decref(reading->map);
    json_decref(reading->beside);
    json_decref(reading->places);
    mem_free(reading->tokens.items);
}

static const json_t *decoder_of(const struct added_reading *reading)
{
    return json_object_get(reading->config, "added_tokens_decoder");
}

const json_t *added_said(const struct added_reading *reading, const char *key)
{
    const json_t *config = json_object_get(reading->config, key), *map = json_object_get(reading->map, key);
    const bool first = json_is_object(map) && !decoder_of(reading); /* it has flags, and is read */
    const json_t *said = first || is_missing(config) ? map : config;
    return is_missing(said) ? NULL : said;
}

uint32_t added_find(const struct added_reading *reading, const char *piece)
{
    const json_t *number = json_object_get(reading->pieces, piece), *place = json_object_get(reading->places, piece);
    if (number)
        return (uint32_t)json_integer_value(number);
    return place ? reading->tokens.items[json_integer_value(place)].id : VOCAB_NONE;
}

/* Replaces the token of the same content, or appends it. */
static int add_token(struct added_reading *reading, const char *content, const json_t *token, json_int_t number,
                     struct error *err)
{
    const json_t *piece = json_object_get(reading->pieces, content);
    if (!*content)
        return 0;
    if (strlen(content) > CONTENT_BYTES_MAX)
        return fail_at(err, ERR_UNSAFE, reading->path, ERROR_NO_OFFSET, "an added token has more than %u bytes",
                       CONTENT_BYTES_MAX);
    if (number < 0 || number >= VOCAB_PIECES_MAX || (piece && json_integer_value(piece) != number))
        return fail_at(err, ERR_INPUT, reading->path, ERROR_NO_OFFSET,
                       "the added token \"%.60s\" has not the id of its piece", content);
    const bool special = rules_flag(token, "special", false);
    const struct added_token made = {.content = str_of(content),
                                     .id = (uint32_t)number,
                                     .special = special,
                                     .single_word = rules_flag(token, "single_word", false),
                                     .lstrip = rules_flag(token, "lstrip", false),
                                     .rstrip = rules_flag(token, "rstrip", false),
                                     .normalized = rules_flag(token, "normalized", !special),
                                     .outside = !piece};
    const json_t *known = json_object_get(reading->places, content);
    if (known) {
        struct added_token *before = &reading->tokens.items[json_integer_value(known)];
        if (before->id != made.id)
            return fail_at(err, ERR_INPUT, reading->path, ERROR_NO_OFFSET, "two added tokens are \"%.60s\"", content);
        *before = made;
        return 0;
    }
    json_object_set_new(reading->places, content, json_integer((json_int_t)reading->tokens.count));
    reading->tokens.items[reading->tokens.count++] = made;
    reading->outside += made.outside;
    return 0;
}

static json_int_t number_of(const json_t *id)
{
    return json_is_integer(id) ? json_integer_value(id) : -1;
}

/* A token that the settings name: special. A name alone says nothing about its flags. `usual`: the class names it. */
static int add_named(struct added_reading *reading, const json_t *said, const char *usual, struct error *err)
{
    const char *content = json_is_object(said) ? text_of(said, "content") : json_string_value(said);
    const bool by_class = !content;
    content = content ? content : usual;
    if (!content || !*content)
        return 0;
    const json_t *known = json_object_get(reading->places, content);
    if (known) {
        if (reading->class != RULES_CLASS_OTHER)
            reading->tokens.items[json_integer_value(known)].special = true;
        return 0;
    }
    const json_t *piece = json_object_get(reading->pieces, content);
    if (!piece && by_class)
        return 0;
    if (!piece) {
        fail_at(err, ERR_UNSAFE, reading->path, ERROR_NO_OFFSET, "has no piece \"%.60s\", which its settings name",
                content);
        return hint(err, "save the tokenizer with transformers' save_pretrained, which adds it to tokenizer.json");
    }
    json_t *token =
        json_pack("{s:b, s:b, s:b, s:b, s:b}", "special", 1, "single_word", rules_flag(said, "single_word", false),
                  "lstrip", rules_flag(said, "lstrip", false), "rstrip", rules_flag(said, "rstrip", false),
                  "normalized", rules_flag(said, "normalized", false));
    const int result = add_token(reading, content, token, number_of(piece), err);
    json_decref(token);
    return result;
}

/* ---- all of them ---- */

static const struct {
    const char *key, *usual[RULES_CLASSES];
} named[] = {
    {"bos_token", {[RULES_CLASS_GPT2] = "<|endoftext|>", [RULES_CLASS_ROBERTA] = "<s>"}},
    {"eos_token", {[RULES_CLASS_GPT2] = "<|endoftext|>", [RULES_CLASS_ROBERTA] = "</s>"}},
    {"unk_token",
     {[RULES_CLASS_GPT2] = "<|endoftext|>", [RULES_CLASS_ROBERTA] = "<unk>", [RULES_CLASS_BERT] = "[UNK]"}},
    {"sep_token", {[RULES_CLASS_ROBERTA] = "</s>", [RULES_CLASS_BERT] = "[SEP]"}},
    {"pad_token", {[RULES_CLASS_ROBERTA] = "<pad>", [RULES_CLASS_BERT] = "[PAD]"}},
    {"cls_token", {[RULES_CLASS_ROBERTA] = "<s>", [RULES_CLASS_BERT] = "[CLS]"}},
    {"mask_token", {[RULES_CLASS_ROBERTA] = "<mask>", [RULES_CLASS_BERT] = "[MASK]"}},
};
#define NAMED (sizeof named / sizeof *named)

static const char *const lists[] = {"extra_special_tokens", "additional_special_tokens"};
#define LISTS (sizeof lists / sizeof *lists)

/* Whether the settings name it. */
static bool is_named(const struct added_reading *reading, const char *content)
{
    for (size_t i = 0; i < NAMED; i++) {
        const json_t *said = added_said(reading, named[i].key);
        const char *name = json_is_object(said) ? text_of(said, "content") : json_string_value(said);
        name = name ? name : named[i].usual[reading->class];
        if (name && strcmp(name, content) == 0)
            return true;
    }
    return false;
}

/* added_tokens.json, of older versions of transformers: a token's flags follow from whether it is special. */
static int read_beside(struct added_reading *reading, struct error *err)
{
    const char *content;
    json_t *number;
    json_object_foreach(reading->beside, content, number)
    {
        json_t *token = json_pack("{s:b}", "special", is_named(reading, content));
        const int result = add_token(reading, content, token, number_of(number), err);
        json_decref(token);
        if (result < 0)
            return result;
    }
    return 0;
}

/* A token of tokenizer.json or of added_tokens_decoder. */
static int read_token(struct added_reading *reading, const json_t *token, json_int_t number, struct error *err)
{
    const char *content = json_string_value(json_object_get(token, "content"));
    if (!content)
        return fail_at(err, ERR_INPUT, reading->path, ERROR_NO_OFFSET, "an added token has no content");
    return add_token(reading, content, token, number, err);
}

static int read_decoder(struct added_reading *reading, struct error *err)
{
    const char *key;
    json_t *token;
    json_object_foreach((json_t *)decoder_of(reading), key, token) TRY(read_token(reading, token, atoll(key), err));
    return 0;
}

static size_t most_of(const struct added_reading *reading)
{
    size_t most = json_array_size(reading->list) + json_object_size(decoder_of(reading)) +
                  json_object_size(reading->beside) + NAMED;
    for (size_t i = 0; i < LISTS; i++)
        most += json_array_size(added_said(reading, lists[i]));
    return most;
}

int added_read(struct added_reading *reading, struct error *err)
{
    const bool anew = reading->class != RULES_CLASS_OTHER, decoded = json_is_object(decoder_of(reading));
    const size_t most = most_of(reading);
    const json_t *token;
    size_t i;
    if (most > ADDED_MAX)
        return fail_at(err, ERR_UNSAFE, reading->path, ERROR_NO_OFFSET, "more than %u added tokens", ADDED_MAX);
    reading->places = json_object();
    reading->tokens.items = mem_array(most, sizeof *reading->tokens.items);
    if (!decoded)
        TRY(read_beside(reading, err));
    if (!anew || !decoded)
        json_array_foreach(reading->list, i, token)
            TRY(read_token(reading, token, number_of(json_object_get(token, "id")), err));
    TRY(read_decoder(reading, err));
    for (i = 0; i < NAMED; i++)
        TRY(add_named(reading, added_said(reading, named[i].key), named[i].usual[reading->class], err));
    for (size_t k = 0; k < LISTS; k++)
        json_array_foreach(added_said(reading, lists[k]), i, token) TRY(add_named(reading, token, NULL, err));
    return 0;
}

void added_give(struct added_reading *reading, struct vocab *vocab)
{
    struct buf text = {0};
    vocab->added = reading->tokens;
    for (size_t i = 0; i < vocab->added.count; i++)
        buf_add_str(&text, vocab->added.items[i].content);
    vocab->added_text = text.data;
    for (size_t i = 0, at = 0; i < vocab->added.count; at += vocab->added.items[i++].content.size)
        vocab->added.items[i].content.data = vocab->added_text + at;
    reading->tokens = (struct added_tokens){0};
}

/* Which pieces text is searched for: the added tokens of a tokenizer.json, and what the settings beside it change or
 * add, as transformers' AutoTokenizer does it. For tokenizer_files.c and bpe_files.c. */
#pragma once

#include "base/error.h"
#include "tokenizer/added.h"
#include "tokenizer/tokenizer_rules.h"

#include <jansson.h>
#include <stdint.h>

struct added_reading {
    const char *path;           /* of messages */
    const json_t *pieces;       /* the model's: piece -> id */
    const json_t *list;         /* added_tokens of tokenizer.json, or NULL */
    json_t *config, *map;       /* tokenizer_config.json and special_tokens_map.json, or NULL */
    json_t *beside;             /* added_tokens.json, or NULL */
    enum rules_class class;     /* who reads the directory */
    json_t *places;             /* content -> place in `tokens` */
    struct added_tokens tokens; /* contents are views into JSON */
    size_t outside;             /* how many of them the model does not have */
};

/* Reads the small files of the directory, or none where it is NULL; `path`, `pieces` and `list` are set. ERR_INPUT:
 * damaged. */
int added_open(struct added_reading *reading, const char *directory, struct error *err);
/* Reads the tokens. ERR_INPUT: an id is not that of the piece; ERR_UNSAFE: too many, too long, or the settings name one
 * that is no piece. */
int added_read(struct added_reading *reading, struct error *err);
/* The id of a piece of the model, or of an added token; VOCAB_NONE (vocab.h): there is none. */
uint32_t added_find(const struct added_reading *reading, const char *piece);
/* What the settings say for a key such as "mask_token"; NULL: nothing. */
const json_t *added_said(const struct added_reading *reading, const char *key);
/* Moves the tokens to a vocabulary, with copies of their contents. */
struct vocab;
void added_give(struct added_reading *reading, struct vocab *vocab);
void added_release(struct added_reading *reading);

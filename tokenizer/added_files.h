/* The added tokens that text is searched for: those of a tokenizer.json, as the settings beside it change and extend
 * them, by the rules of transformers' AutoTokenizer. For tokenizer_files.c and bpe_files.c. */
#pragma once

#include "base/error.h"
#include "tokenizer/added.h"
#include "tokenizer/tokenizer_rules.h"

#include <jansson.h>
#include <stdint.h>

struct added_reading {
    const char *path;           /* of messages */
    const json_t *pieces;       /* the model's vocabulary: piece -> id */
    const json_t *list;         /* added_tokens of tokenizer.json, or NULL */
    json_t *config, *map;       /* tokenizer_config.json and special_tokens_map.json, or NULL */
    json_t *beside;             /* added_tokens.json, or NULL */
    enum rules_class class;     /* the transformers class that reads the directory */
    json_t *places;             /* content -> index in `tokens` */
    struct added_tokens tokens; /* contents are views into JSON */
    size_t outside;             /* number of tokens that are not pieces of the model */
};

/* Reads the settings files in the directory, or none if it is NULL. The caller sets `path`, `pieces` and `list` before.
 * ERR_INPUT: damaged. */
int added_open(struct added_reading *reading, const char *directory, struct error *err);
/* Reads the tokens. ERR_INPUT: an id differs from its piece's; ERR_UNSAFE: too many, too long, or the settings name one
 * that is no piece. */
int added_read(struct added_reading *reading, struct error *err);
/* The id of a piece of the model, or of an added token; VOCAB_NONE (vocab.h): there is none. */
uint32_t added_find(const struct added_reading *reading, const char *piece);
/* The settings' value for a key such as "mask_token"; NULL: none. */
const json_t *added_said(const struct added_reading *reading, const char *key);
/* Moves the tokens to a vocabulary, with copies of their contents. */
struct vocab;
void added_give(struct added_reading *reading, struct vocab *vocab);
void added_release(struct added_reading *reading);

/* The settings of a tokenizer's directory, chosen as transformers 5's AutoTokenizer does. For tokenizer_files.c.
 *
 * The class decides: tokenizer_class of tokenizer_config.json, or of config.json, or else the one of config.json's
 * model_type. A class of BERT's kind takes case, accents and ideographs from tokenizer_config.json, absent keys by
 * BERT's defaults, whatever tokenizer.json says; any other class, or none, from tokenizer.json. */
#pragma once

#include "base/error.h"
#include "tokenizer/tokenizer.h"

#include <jansson.h>
#include <stdbool.h>

/* ERR_UNSAFE: `what` is not supported, with the hint what is. Returns -1. */
int rules_refuse(const char *path, const char *what, struct error *err);
/* A boolean that may be missing or null. */
bool rules_flag(const json_t *object, const char *name, bool otherwise);

/* Reads an object of the directory, which the caller json_decref's; *json is NULL if there is no such file. ERR_INPUT:
 * it is damaged. */
int rules_read_beside(const char *directory, const char *name, json_t **json, struct error *err);

/* Which class reads a directory: one that makes the tokenizer anew from its pieces (and merges), or another, which
 * takes tokenizer.json as it is. `config`: its tokenizer_config.json, or NULL. */
enum rules_class { RULES_CLASS_OTHER, RULES_CLASS_GPT2, RULES_CLASS_ROBERTA, RULES_CLASS_BERT, RULES_CLASSES };
enum rules_class rules_class_of(const char *directory, const json_t *config);

/* Settings beside a tokenizer.json of a directory that RULES_CLASS_BERT reads: *words has those of tokenizer.json, and
 * changes to those of its tokenizer_config.json (or NULL). A message names both files if they differ. */
void rules_settle(const char *directory, const json_t *config, struct tokenizer_options *words);
/* The settings of a directory with a vocab.txt alone. `config`: its tokenizer_config.json, or NULL. ERR_UNSAFE: it says
 * do_basic_tokenize false. */
int rules_read(const char *directory, const json_t *config, struct tokenizer_options *words, struct error *err);

/* The texts of added tokens but BERT's special ones, in an array that the caller json_decref's: of an array of objects
 * with "content", an object of such, or an object with the tokens as keys. */
json_t *rules_added(const json_t *added);
json_t *rules_added_beside(const char *directory); /* of a vocab.txt; files that cannot be read have none */

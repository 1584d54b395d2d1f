/* The recipe of a build: every setting that changes a byte of the dataset, resolved and checked. Builds with equal
 * recipes, inputs and vocabularies give equal bytes (Law 3). A resumed build must have the recipe that it began
 * with. */
#pragma once

#include "base/error.h"
#include "pipeline/parts/counts.h"
#include "pipeline/input/inputs.h"
#include "pipeline/input/split.h"
#include "pipeline/parts/dsdata_settings.h"
#include "shards/masking.h"
#include "shards/sample.h"
#include "tokenizer/learn.h"
#include "tokenizer/tokenizer.h"

#include <jansson.h>

/* Incremented whenever equal input gives other samples (text, sentences, pieces, pairs or masks changed). */
#define TEXT_VERSION 6

struct dataset_recipe {
    size_t length_count;
    uint32_t seq[OPT_NUMBERS_MAX];         /* ascending */
    uint32_t predictions[OPT_NUMBERS_MAX]; /* of each length */
    uint32_t mask_prob, short_seq_prob, valid;
    enum valid_by valid_by;
    uint32_t copies; /* of training documents */
    enum pair_kind pairs;
    bool packed; /* over the ends of documents */
    enum mask_kind masking;
    enum compat compat;
    uint64_t seed, limit, shard_bytes;
    uint32_t keep, drop;
    bool drop_duplicates;
    uint32_t near_duplicates;      /* millionths; 0: they are kept */
    const struct filters *filters; /* of the inputs; NULL: none */
    const char *lang;              /* the code of --lang; NULL or "": none */
    const char *languages;         /* as in struct inputs, or NULL */
    const char *forms;             /* the same */
    const char *encoding;          /* of the inputs; NULL: UTF-8 */
    const char *iconv;             /* the library that converts it; NULL: our own tables */
    const char *variant;           /* of the wiki's spellings; NULL: none */
    const char *namespaces;        /* of wikis; NULL: articles */
    const char *text_key, *id_key;
    char templates[17];       /* hash of the file of --templates, or of the dump's; "" */
    uint64_t templates_bytes; /* of the dump's, which are kept in the dataset; else 0 */
    bool cased, strip_accents;
    enum profile profile;
    bool joined; /* ideographs are letters of words */
    bool special_in_text;
    bool salvage; /* damage of the inputs is skipped */
    bool learned; /* the vocabulary comes from the inputs: */
    enum vocab_kind kind;
    enum special_names names;
    uint32_t vocab_size; /* 0: by the number of words (vocabulary_size_for) */
    uint32_t unused;
    uint64_t min_frequency;
    uint32_t limit_alphabet;
    enum learn_algorithm algo;
};

/* Checks what the option table cannot: lengths, predictions, packing. `english`: the inputs are in English,
 * for --accents auto. */
int dataset_recipe_make(const struct dsdata_settings *settings, bool english, struct dataset_recipe *recipe,
                        struct error *err);

/* For `dsdata vocab` and `extract`: only what affects documents, words and vocabulary. */
void dataset_recipe_make_words(const struct dsdata_settings *settings, bool english, struct dataset_recipe *recipe);

/* ERR_USAGE: options of one kind of learned vocabulary beside another kind. `option` names the kind. */
int dataset_recipe_check_kind(const struct dsdata_settings *settings, const char *option, struct error *err);

/* ERR_USAGE: a --near-duplicates that is too low. */
int dataset_recipe_check(const struct dataset_recipe *recipe, struct error *err);

/* What is known from the inputs: languages, forms, encoding, filters. */
void dataset_recipe_take_inputs(struct dataset_recipe *recipe, const struct inputs *inputs);

/* How the recipe cuts text into words. */
struct tokenizer_options dataset_recipe_words(const struct dataset_recipe *recipe);

/* The recipe as an object of names and values, in the spelling of the options; the caller owns the reference. */
json_t *dataset_recipe_json(const struct dataset_recipe *recipe);
#define KEEP_NAMES 5
#define DROP_NAMES 3
extern const char *const keep_names[KEEP_NAMES]; /* of the bits of recipe.keep, in their order */
extern const char *const drop_names[DROP_NAMES]; /* of recipe.drop */

/* A value of that object, or of a manifest's options, as users type it, with names for bits. NULL: "none". */
void dataset_recipe_value_text(const char *name, const json_t *value, struct buf *out);

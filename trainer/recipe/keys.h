/* The configuration under DeepSpeed's names: --config FILE, a JSON object, and --set key.path=value, which overrides
 * it. Its values go into a recipe. A key is used, or ignored with a note because it has no meaning here, or refused. */
#pragma once

#include "trainer/recipe/recipe.h"

struct keys {
    const char *file; /* NULL: no --config; defaults are then ours, else DeepSpeed's */
    json_t *values;   /* file and --set merged, in one form for each meaning; a value that says "auto" is absent */
    json_t *set;      /* --set alone, so that errors can name the origin of a key */
    struct buf notes; /* ignored keys */

    /* The command's settings, with the key's value where an option was not given and has a key. */
    struct settings settings;

    /* Keys that decide what others mean, or that are valid only together. 0, NULL and false: absent. */
    uint64_t batch, micro_batch, accumulation, batch_from;
    uint64_t zero;                     /* zero_optimization.stage */
    const char *optimizer, *scheduler; /* types; "not a string" if they are none */
    bool fp16, bf16, bfloat16, layer_drop;
};

/* A configuration for --recipe: a file of samples/configs that is built into the program. */
struct named_recipe {
    const char *name;
    const char *model; /* the model that it is for; "": any with ModernBERT's layers */
    const char *json;  /* the file's text, as --config takes it */
};
const struct named_recipe *recipe_at(size_t i); /* from 0; NULL: no more */

#define RECIPE_FAST 1 /* for settings.recipe, which counts from 1 */
/* The one that the settings name; NULL: none. */
const struct named_recipe *recipe_of(const struct settings *settings);

/* ERR_USAGE: not JSON, a duplicate key, too deep, --set without the form key.path=value, or a value that is not of its
 * key's type. The caller releases *keys, on errors too. */
int keys_read(struct keys *keys, const struct settings *settings, struct error *err);
void keys_release(struct keys *keys);

/* Sets only the batch, which --epochs needs to compute the steps. *warmup becomes the number of steps over which
 * batches grow from recipe->batches.first, below 1 a fraction of all steps; 0: all batches have the same size. */
int keys_batch(const struct keys *keys, struct recipe *recipe, double *warmup, struct error *err);

/* Sets optimizer, schedule, clipping, precision, loss scaling and the rest in the recipe, whose schedule.steps must be
 * set. Command-line options take precedence. Logs the ignored keys. ERR_USAGE names the key and its origin. */
int keys_apply(struct keys *keys, struct recipe *recipe, struct error *err);

/* Adds to the identity what the recipe has for the keys whose paths begin with `prefix`. */
void keys_identity(const struct recipe *recipe, const char *prefix, json_t *identity);

/* The value at "a.b.c", or NULL. */
const json_t *keys_get(const json_t *object, const char *path);
/* Whether the option was given, or else its key. The name must be that of an option with a key. */
bool keys_told(const struct keys *keys, const char *option);
/* ERR_USAGE "FILE: KEY: TEXT" or "--set KEY: TEXT", depending on where the key is from. */
int keys_complain(const struct keys *keys, const char *path, const char *text, struct error *err);
/* Sets the fields of struct keys from the values. */
int keys_take(struct keys *keys, struct error *err);
/* Chooses optimizer, schedule, precision and whatever else the other keys depend on. */
int keys_choose(const struct keys *keys, struct recipe *recipe, struct error *err);

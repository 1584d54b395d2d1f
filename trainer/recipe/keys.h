/* The configuration under DeepSpeed's names: --config FILE, a JSON object, and --set key.path=value, which overrides
 * it. Its values go into a recipe. A key is used, or ignored with a note because it has no meaning here, or refused. */
#ifndef TRAINER_RECIPE_KEYS_H
#define TRAINER_RECIPE_KEYS_H

#include "base/error.h"
#include "base/str.h"
#include "trainer/recipe/recipe.h"
#include "trainer/recipe/settings.h"

#include <jansson.h>

struct keys {
    const char *file; /* NULL: no --config; defaults are then ours, else DeepSpeed's */
    json_t *values;   /* file and --set merged, without values that are "auto" */
    json_t *set;      /* --set alone, so that errors can name the origin of a key */
    struct buf notes; /* ignored keys */
};

/* ERR_USAGE: not JSON, a duplicate key, too deep, or --set without the form key.path=value. The caller releases *keys,
 * on errors too. */
int keys_read(struct keys *keys, const struct settings *settings, struct error *err);
void keys_release(struct keys *keys);

/* Sets optimizer, schedule, clipping, precision, loss scaling and the rest in the recipe, whose schedule.steps must be
 * set. Command-line options take precedence. Logs the ignored keys. ERR_USAGE names the key and its origin. */
int keys_apply(struct keys *keys, const struct settings *settings, struct recipe *recipe, struct error *err);

/* Sets only the batch, which --epochs needs to compute the steps. *warmup becomes the number of steps over which
 * batches grow from recipe->batches.first, below 1 a fraction of all steps; 0: all batches have the same size. */
int keys_batch(const struct keys *keys, const struct settings *settings, struct recipe *recipe, double *warmup,
               struct error *err);

/* ---- between the files of this folder ---- */

/* The value at "a.b.c", or NULL. */
const json_t *keys_get(const json_t *object, const char *path);
const char *keys_text(const struct keys *keys, const char *path); /* NULL: absent, or not a string */
bool keys_enabled(const struct keys *keys, const char *block);    /* BLOCK.enabled is true */
/* keys_real: sets *out if the key is present; it must be a number within the range. keys_count: *out becomes the key's
 * value, a count of at least 1, or 0 if it is absent. */
int keys_real(const struct keys *keys, const char *path, double min, double max, double *out, struct error *err);
int keys_count(const struct keys *keys, const char *path, uint64_t *out, struct error *err);
/* ERR_USAGE "FILE: KEY: TEXT" or "--set KEY: TEXT", depending on where the key is from. */
int keys_complain(const struct keys *keys, const char *path, const char *text, struct error *err);
/* Chooses optimizer, schedule, precision and whatever else the other keys depend on. */
int keys_choose(const struct keys *keys, const struct settings *settings, struct recipe *recipe, struct error *err);

#endif

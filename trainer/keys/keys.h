/* The configuration under DeepSpeed's names: --config FILE, a JSON object, and --set key.path=value over it. What it
 * says goes into a recipe; every key is known: it counts, or has no meaning here (a note), or is refused. */
#ifndef TRAINER_KEYS_KEYS_H
#define TRAINER_KEYS_KEYS_H

#include "base/error.h"
#include "base/str.h"
#include "trainer/recipe.h"
#include "trainer/settings.h"

#include <jansson.h>

struct keys {
    const char *file; /* NULL: no --config; defaults are ours then, else DeepSpeed's */
    json_t *values;   /* file and --set together, without what is "auto" */
    json_t *set;      /* --set alone: who said it */
    struct buf notes; /* keys without meaning here */
};

/* ERR_USAGE: not JSON, a key twice, too deep, --set that is no key.path=value. On error too the caller releases. */
int keys_read(struct keys *keys, const struct settings *settings, struct error *err);
void keys_release(struct keys *keys);

/* Optimizer, schedule, batch, clipping, precision and loss scaling into the recipe, whose schedule.steps is set.
 * Command-line options win. Says which keys have no meaning here. ERR_USAGE names the key and who said it. */
int keys_apply(struct keys *keys, const struct settings *settings, struct recipe *recipe, struct error *err);

/* The batch alone, which --epochs needs before it knows the steps. *warmup: over how many steps batches grow from
 * recipe->batches.first, below 1 a share of them; 0: all have one size. */
int keys_batch(const struct keys *keys, const struct settings *settings, struct recipe *recipe, double *warmup,
               struct error *err);

/* ---- between the files of this folder ---- */

/* The value at "a.b.c", or NULL. */
const json_t *keys_get(const json_t *object, const char *path);
const char *keys_text(const struct keys *keys, const char *path); /* NULL: absent, or no text */
bool keys_enabled(const struct keys *keys, const char *block);    /* BLOCK.enabled is true */
/* Into *out where the key stands: a number within the range; a count from 1 on, else 0. */
int keys_real(const struct keys *keys, const char *path, double min, double max, double *out, struct error *err);
int keys_count(const struct keys *keys, const char *path, uint64_t *out, struct error *err);
/* ERR_USAGE "FILE: KEY: TEXT" or "--set KEY: TEXT", as it was said. */
int keys_complain(const struct keys *keys, const char *path, const char *text, struct error *err);
/* Optimizer, schedule and precision: what the other keys depend on. */
int keys_choose(const struct keys *keys, const struct settings *settings, struct recipe *recipe, struct error *err);

#endif

/* The mathematics of a run in force: what the options, --set, the model and the dataset come to. Two commands
 * whose recipes are equal are the same run; its identity is that as a flat JSON object, of which a hash names the
 * directory. */
#ifndef TRAINER_RECIPE_H
#define TRAINER_RECIPE_H

#include "base/error.h"
#include "shards/dataset.h"
#include "trainer/data/loader.h"
#include "trainer/model/params.h"
#include "trainer/optim/adam.h"
#include "trainer/optim/schedule.h"
#include "trainer/settings.h"

#include <jansson.h>
#include <stdint.h>

struct recipe {
    uint64_t dataset; /* root hash */
    uint32_t seq;
    struct model_config config;
    char initial[64]; /* "random", or hashes of the files that --init gave */
    struct adam adam;
    double clipping;          /* gradient_clipping; 0: none */
    struct schedule schedule; /* its `steps` are the run's */
    uint32_t batch;
    uint32_t seed;
    bool shuffled;
    enum mask_policy masks;
    bool precision_given; /* else "default": whatever the machine of the first start has */
    enum precision precision;
};

/* Fills everything but `initial`, from settings and a config whose vocabulary is the dataset's already. ERR_USAGE:
 * options that do not go together; ERR_MISMATCH: the dataset's length is above the model's positions. */
int recipe_make(const struct settings *settings, const struct dataset *dataset, const struct model_config *config,
                struct recipe *recipe, struct error *err);

/* The caller json_decref's it. Values are text, numbers, booleans: no nesting. */
json_t *recipe_identity(const struct recipe *recipe);

/* The budget of a micro-batch, in full sequences (design 4): the largest N <= batch with N·S <= 4096, at least 1. */
uint32_t recipe_micro_batch(uint64_t asked, uint32_t batch, uint32_t seq);
/* The same as limits of live rows. */
struct pack_limits recipe_limits(uint32_t micro_batch, uint32_t batch, const struct shard_layout *layout);

#endif

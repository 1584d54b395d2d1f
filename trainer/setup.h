/* What stands for the whole run: the recipe, and the files it is made of. Nothing changes it once it is open. */
#ifndef TRAINER_SETUP_H
#define TRAINER_SETUP_H

#include "base/error.h"
#include "shards/dataset.h"
#include "trainer/keep/tokenizer.h"
#include "trainer/origin.h"
#include "trainer/pretraining.h"
#include "trainer/recipe.h"
#include "trainer/settings.h"

#include <jansson.h>

struct setup {
    const struct settings *settings; /* borrowed: the command line */
    struct recipe recipe;            /* the mathematics */
    struct dataset data, valid;      /* to train on, and to evaluate on (may have no samples) */
    struct pretraining pretraining;  /* what the task reads */
    struct task task;
    struct tokenizer_files tokenizer;
    json_t *identity; /* of the run: recipe_identity */
};

/* What can be known before a device is opened and before anything is written; *origin is what the model begins with. On
 * error too the caller calls setup_close and origin_release. */
int setup_open(struct setup *setup, const struct settings *settings, struct origin *origin, struct error *err);
/* The same of a process beside the one that has the run, with the recipe of that one: it needs the dataset alone. */
int setup_follow(struct setup *setup, const struct settings *settings, const struct recipe *recipe, struct error *err);
void setup_close(struct setup *setup); /* safe on a zeroed one */

#endif

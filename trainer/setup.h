/* What stands for the whole run: the recipe, and the files it is made of. Nothing changes it once it is open. */
#ifndef TRAINER_SETUP_H
#define TRAINER_SETUP_H

#include "base/error.h"
#include "trainer/datasets.h"
#include "trainer/keep/tokenizer_write.h"
#include "trainer/origin.h"
#include "trainer/pretraining.h"
#include "trainer/recipe.h"
#include "trainer/settings.h"

#include <jansson.h>

/* What a verb other than train trains on: samples that it makes from texts, with the vocabulary of the model that it
 * begins with. It brings one more head. */
struct tuning {
    void *context;
    /* Reads the texts. Puts the head on *config, which is the origin's, and says what there is to train on. */
    int (*open)(void *context, const struct settings *settings, const struct origin *origin,
                struct model_config *config, struct material *material, struct error *err);
    const struct text *(*text)(void *context); /* the tokenizer that it opened */
    struct task (*task)(void *context, const struct recipe *recipe);
};

struct setup {
    const struct settings *settings; /* borrowed: the command line */
    struct recipe recipe;            /* the mathematics */
    struct material material;        /* what is trained on: */
    struct datasets datasets;        /* shards, with those to evaluate on; not of a tuning */
    uint32_t pad_id;
    struct pretraining pretraining; /* what the task reads */
    struct task task;
    struct tokenizer_files tokenizer;
    json_t *identity; /* of the run: recipe_identity */
};

/* What can be known before a device is opened and before anything is written; *origin is what the model begins with. On
 * error too the caller calls setup_close and origin_release. */
int setup_open(struct setup *setup, const struct settings *settings, struct origin *origin, struct error *err);
/* The same of a process beside the one that has the run, with the recipe of that one: it needs the samples alone. */
int setup_follow(struct setup *setup, const struct settings *settings, const struct recipe *recipe, struct error *err);
/* How often the whole run reads its samples; of several datasets those of the one that it reads most often. */
double setup_epochs(const struct setup *setup);
void setup_close(struct setup *setup); /* safe on a zeroed one */

#endif

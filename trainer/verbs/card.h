/* A model card: the README.md of a published model, as model hubs show it. */
#pragma once

#include "base/opts.h"
#include "trainer/verbs/about.h"
#include "trainer/verbs/use.h"

#define CARD_NAME "README.md"

struct card_facts {
    const struct about *about;
    const char *files;                    /* directory of the model's files */
    const struct checkpoint_state *state; /* of a run or checkpoint */
    const json_t *identity;               /* of a run or checkpoint; else NULL */
    const struct model_config *config;
    const struct use *use;
    /* Results to show besides the run's own: files with JSON objects, or directories with a scores.json. For a run's
     * directory the card says whether that run started from this model. */
    const struct opt_paths *scores;
    const char *out;          /* the directory that the card describes */
    const json_t *provenance; /* proof.h; NULL: none */
};

/* Appends the card. Facts whose files no longer exist, of the run or its dataset, are left out. Errors are those of
 * reading `scores`. */
int card_make(const struct card_facts *facts, struct buf *card, struct error *err);

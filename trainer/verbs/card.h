/* A model card: the README.md beside a model that is given away, as model hubs show it. */
#ifndef TRAINER_VERBS_CARD_H
#define TRAINER_VERBS_CARD_H

#include "base/error.h"
#include "base/opts.h"
#include "base/str.h"
#include "trainer/keep/checkpoint.h"
#include "trainer/model/params.h"

#include <jansson.h>

#define CARD_NAME "README.md"

struct card_facts {
    const char *from;                     /* the run, checkpoint or directory, as the user named it */
    enum model_source source;             /* its kind */
    const char *files;                    /* where its files lie */
    const struct checkpoint_state *state; /* of a run or checkpoint */
    const json_t *identity;               /* the same; else NULL */
    const struct model_config *config;
    bool foreign; /* transformers has no such model */
    /* Results to show beside the run's own: files of JSON objects, or directories with a scores.json; of a run is said
     * whether it began with this model. */
    const struct opt_paths *scores;
    const char *out; /* the directory that the card describes */
};

/* Appends the card. What a run's files or its dataset no longer say is left out. Errors are those of reading
 * `scores`. */
int card_make(const struct card_facts *facts, struct buf *card, struct error *err);

#endif

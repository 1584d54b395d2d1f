/* What a model starts from with --init or --resume: the files of a Hugging Face directory, a run or a checkpoint. */
#pragma once

#include "trainer/keep/checkpoint.h"
#include "trainer/recipe/settings.h"

struct origin {
    const char *name; /* as the user gave it; NULL: none, weights are initialized from the seed */
    char *files;      /* their directory; NULL: none */
    char *weights;    /* path of model.safetensors or its index */
    enum model_source source;
    bool moments;  /* moments are taken too */
    bool goes_on;  /* --resume: step, schedule and data position are taken too */
    char hash[64]; /* of the weights (and moments), for the run's identity: origin_hash; "random" if there are none */
    struct checkpoint_state state; /* of a run or checkpoint */
    json_t *identity;              /* of the run that the files belong to, or NULL */
};

/* Finds the files of --init or --resume and checks those of our own against their hashes. ERR_USAGE: missing, or
 * contradictory options; ERR_UNSAFE: another format, with the command that converts it; ERR_VERIFY: damaged. */
int origin_find(struct origin *origin, const struct settings *settings, struct error *err);
/* Hashes the weights (and moments). It reads whole files, with tensors that no model uses, so only a training does. */
int origin_hash(struct origin *origin, struct error *err);
/* Reads the config.json beside the weights, and checks that the weights are of that shape (names_check): nothing is
 * allocated by what it claims alone. Its vocabulary is that of the weights, which may differ from a dataset's. */
int origin_config(const struct origin *origin, struct model_config *config, struct error *err);
void origin_release(struct origin *origin);
